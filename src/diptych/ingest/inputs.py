"""Read a path that is a table, a folder or an archive into items."""

import tarfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from diptych._core.errors import ConfigError, DataError
from diptych.data.splits import split_named
from diptych.data.table_files import SPREADSHEETS, is_table_name, parse_table, read_table
from diptych.data.tables import Problem, Row, Table
from diptych.ingest.column_content import file_names, is_empty, names_file, sample_evenly
from diptych.ingest.columns import NO_COLUMN, Columns, ColumnUse, choose_columns
from diptych.ingest.file_finder import FileFinder
from diptych.ingest.file_tree import read_file_tree
from diptych.ingest.items import GatheredItems, gather_items, with_texts
from diptych.ingest.names import name_strength, texts_of_names
from diptych.ingest.options import IngestOptions
from diptych.media import KINDS, MediaSource, kind_of_name, media_kind, open_source

_ARCHIVES = (".tar", ".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
_MOST_ARCHIVES, _MOST_TABLES = 6, 20
_TRIED = 20


@dataclass
class Input:
    """What a path gives, before any file is read.

    Attributes:
        kind: "table", or "files" for a folder or an archive without one.
        gathered: the items.
        finder: finds their files; its source is open.
        columns: which column holds what.
        uses: what every column, or folders and file names, were read as, and why.
        table: the table's name, None without one.
        rows: how many rows it has.
    """

    kind: Literal["table", "files"]
    gathered: GatheredItems
    finder: FileFinder
    columns: Columns = field(default_factory=Columns)
    uses: Sequence[ColumnUse] = ()
    table: str | None = None
    rows: int = 0


def read_input(options: IngestOptions) -> Input:
    """Read the items of a path, which its name and content show to be a table, a folder or an archive.

    Raises:
        DataError: when nothing in it can be used.
    """
    path = options.pairs
    if not path.exists():
        raise DataError(f"there is no {path}; give a table, a folder or an archive.")
    if path.is_file() and is_table_name(path.name):
        table = read_table(path, options.encoding)
        return _from_table(table, options, _finder_for(table, path.parent, options.images))
    if path.is_file() and (kind := kind_of_name(path.name)) is not None:
        noun = media_kind(kind).noun.partition(" ")[2]
        raise DataError(f"{path} is one {noun}; give the folder it lies in.")
    if path.is_file() and (path.suffix.lower() in SPREADSHEETS or not _is_archive(path)):
        read_table(path)  # whose error says what can be read
    source = open_source(path)
    try:
        return _from_table_inside(source, options) or _from_files(source, options)
    except BaseException:
        source.close()
        raise


def _is_archive(path: Path) -> bool:
    try:
        return tarfile.is_tarfile(path) or zipfile.is_zipfile(path)
    except OSError:
        return True  # opening it says why it cannot be read


def _from_table(table: Table, options: IngestOptions, finder: FileFinder) -> Input:
    columns, uses = choose_columns(table, options.columns, finder)
    gathered = gather_items(table, columns, finder, options.drop_columns)
    gathered.problems[:0] = table.problems
    if not columns.texts and not _is_waived(options.columns.get("text")):
        uses = (*uses, *_name_items(gathered))
    return Input("table", gathered, finder, columns, uses, table.origin, len(table.rows))


def _name_items(gathered: GatheredItems) -> list[ColumnUse]:
    """Give items of a table without texts the words of their files' names."""
    named = [next(iter(item.files.values()), "") for item in gathered.items.values()]
    texts = texts_of_names(named, [()] * len(named))
    count = with_texts(gathered, dict(zip(gathered.items, texts, strict=True)))
    if not count:
        return []
    example = next(text for text in texts if text is not None)
    return [ColumnUse("file names", "text", f"no column holds texts; {count:,} names say something", example)]


def _from_files(source: MediaSource, options: IngestOptions) -> Input:
    named = [str(name) for name in options.columns.values() if not _is_waived(name)]
    if named:
        raise ConfigError(
            f"{source.path} holds no table with a column '{named[0]}'; name no columns, or give the table."
        )
    wants = {part: not _is_waived(options.columns.get(part)) for part in ("text", "label", *KINDS)}
    kinds = [kind for kind in KINDS if wants[kind]]
    tree = read_file_tree(source, options.encoding, kinds, with_texts=wants["text"], with_labels=wants["label"])
    return Input("files", tree.gathered, FileFinder(source), uses=tuple(tree.uses))


def _is_waived(named: str | Sequence[str] | None) -> bool:
    """Whether the user said that there is no such column."""
    return named in (NO_COLUMN, [NO_COLUMN], (NO_COLUMN,))


def _from_table_inside(source: MediaSource, options: IngestOptions) -> Input | None:
    """The table in a folder or an archive that names its files; None where there is none."""
    names = source.names()
    stems = {PurePosixPath(name).with_suffix("").as_posix() for name in names if kind_of_name(name)}
    candidates = [name for name in names if is_table_name(name) and _stem(name) not in stems and name not in stems]
    candidates.sort(key=lambda name: (name.count("/"), name))
    tables: dict[str, Table] = {}
    for name in candidates[:_MOST_TABLES]:
        try:
            tables[name] = parse_table(name, source.read(source.locate(name)), options.encoding)
        except (DataError, OSError):
            continue  # a JSON file of settings, or one of another kind
    tables = _joined_splits(tables)
    best: tuple[float, Input] | None = None
    for name, table in tables.items():
        finder = _finder_inside(table, name, source, options)
        try:
            found = _from_table(table, options, finder)
        except DataError:
            if options.columns:
                raise
            continue
        share = _share(found)
        if best is None or share > best[0]:
            best = (share, found)
    if best is None or (best[0] == 0.0 and stems):
        return None
    chosen = best[1]
    for name in tables:
        if name != chosen.table:
            chosen.gathered.problems.append(Problem("note", name, f"is a table too; {chosen.table} is used"))
    return chosen


def _share(found: Input) -> float:
    """The share of items whose files are there."""
    named = [list(item.files.values()) for item in found.gathered.items.values() if item.files]
    return found.finder.share_found(sample_evenly(named, _TRIED))


def _stem(name: str) -> str:
    return PurePosixPath(name).with_suffix("").as_posix()


def _joined_splits(tables: dict[str, Table]) -> dict[str, Table]:
    """Tables that are named by splits and have the same columns, as one table with a column that says which."""
    splits = {name: split_named(PurePosixPath(name).name.partition(".")[0]) for name in tables}
    parts = [name for name in tables if splits[name] is not None]
    if len(parts) < 2 or len({tables[name].columns for name in parts}) > 1:
        return tables
    joined = Table(" + ".join(parts), tables[parts[0]].columns, [], unit="row")
    column = "split" if "split" not in joined.columns else None
    for name in parts:
        joined.problems.extend(tables[name].problems)
        for row in tables[name].rows:
            cells = row.cells if column is None else row.cells | {column: splits[name]}
            joined.rows.append(Row(len(joined.rows) + 1, cells))
    columns = joined.columns if column is None else (*joined.columns, column)
    whole = Table(joined.origin, columns, joined.rows, joined.problems, "row")
    return {joined.origin: whole} | {name: table for name, table in tables.items() if name not in parts}


def _finder_inside(table: Table, name: str, source: MediaSource, options: IngestOptions) -> FileFinder:
    base = PurePosixPath(name.partition(" + ")[0]).parent.as_posix()
    inside = FileFinder(source, "" if base == "." else base)
    if options.images is not None:
        return FileFinder(open_source(options.images))
    return inside if source.kind != "folder" else _best_finder(table, inside, source.path / base)


def _finder_for(table: Table, folder: Path, images: Path | None) -> FileFinder:
    """Where a table's files are: as the user says, else in its own folder or an archive beside it."""
    if images is not None:
        return FileFinder(open_source(images))
    return _best_finder(table, FileFinder(open_source(folder)), folder)


def _best_finder(table: Table, own: FileFinder, folder: Path) -> FileFinder:
    """A finder in the table's folder, or in the archive beside it that holds more of its files."""
    wanted = _likely_names(table)
    share = own.share_found(wanted)
    if not wanted or share >= 0.5:
        return own
    best = own
    archives = [path for path in sorted(folder.iterdir()) if path.name.lower().endswith(_ARCHIVES) and path.is_file()]
    for path in sorted(archives, key=lambda path: name_strength("image", path.name.partition(".")[0]), reverse=True)[
        :_MOST_ARCHIVES
    ]:
        try:
            other = FileFinder(open_source(path))
            found = other.share_found(wanted)
        except DataError:
            continue
        if found > share:
            best.source.close()
            best, share = other, found
        else:
            other.source.close()
    return best


def _likely_names(table: Table) -> list[list[str]]:
    """Some names of files, from columns that look or are called like media."""
    names: list[list[str]] = []
    for column in table.columns:
        cells: list[Any] = sample_evenly([cell for cell in table.column(column) if not is_empty(cell)], _TRIED)
        named = [file_names(cell) for cell in cells]
        looking = sum(any(map(names_file, each)) for each in named)
        if looking * 2 > len(named) or any(name_strength(kind, column) == 3 for kind in KINDS):
            names += named
    return names
