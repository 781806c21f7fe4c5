"""Compare an index with its checksums: all of it, or each row when it is first used.

Every row has a checksum of its vector (with id and modality), one of its metadata (with row and id) and, in an index
with words, one of its words; so has every word of the vocabulary, and what was fixed at creation. SQLite itself checks
that its trees are whole and that its indexes fit the tables, and FTS5 that the postings fit the texts. Derived files
have checksums of their own and are made again when they are damaged.
"""

import os
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

from diptych._core.errors import DataError, DiptychError
from diptych._core.files import atomic_file, atomic_folder, read_json, refuse_existing, write_json
from diptych._core.locks import file_lock
from diptych.index.local.database import (
    FILE,
    FORMAT,
    damaged,
    explained,
    metadata_sum,
    open_database,
    read_head,
    read_state,
    term_sum,
    vector_sum,
    words_sum,
)
from diptych.index.local.derived import FOLDER, LOCK, locked_too_long
from diptych.index.local.rows import check_metadata
from diptych.index.local.view import View
from diptych.index.terms import AGAIN

SMALL = 16 * 2**20
"""Bytes of a file that is compared as a whole whenever it is opened."""
LARGE = 256 * 2**20
"""Bytes of a file beyond which rows are compared when they are first used; between the two, a file is compared as a
whole if it has changed since it was last compared. Up to this size it is copied into memory for that, so that nobody
waits."""
NOTE = "verified.json"
"""Says which file was last found intact."""
_WAIT_S = 5.0
_AT_ONCE = 4_096


def is_due(folder: Path) -> bool:
    """Whether an index is compared as a whole now that it is opened."""
    size = (folder / FILE).stat().st_size
    return size <= SMALL or (size <= LARGE and not is_noted(folder))


def require_intact(folder: Path) -> None:
    """Raise an error if anything in the database is not as it was written."""
    before = _signature(folder)
    problem = next(_problems(folder), None)
    if problem is not None:
        raise damaged(problem)
    if before == _signature(folder):
        note_intact(folder)


def note_intact(folder: Path) -> None:
    """Remember that the database, as it is now, is as it was written."""
    with suppress(OSError):  # a folder that cannot be written, or is gone
        if (folder / FILE).stat().st_size > SMALL:
            write_json(folder / NOTE, _signature(folder))


def is_noted(folder: Path) -> bool:
    """Whether the database is the one that was last found intact."""
    try:
        return bool(read_json(folder / NOTE) == _signature(folder))
    except DataError:
        return False


def _signature(folder: Path) -> list[int]:
    """What changes with every change of a file, except one that the disk makes by itself."""
    found = (folder / FILE).stat()
    return [found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def problems_of(folder: Path) -> list[str]:
    """Return what is not as it was written; empty if all is."""
    return list(_problems(folder))


def require_same_items(connection: sqlite3.Connection, view: View) -> None:
    """Refuse a view that does not have as many living items as the database: its state is damaged."""
    counted = dict(connection.execute("SELECT modality, COUNT(*) FROM items GROUP BY modality").fetchall())
    seen = {name: sum(segment.living for segment in segments) for name, segments in view.partitions.items()}
    if counted != seen and read_state(connection).change == view.change:
        raise damaged("the numbers of its items disagree")


class LazyChecks:
    """Compares the metadata of a row with its checksum when it is first returned."""

    def __init__(self) -> None:
        self._seen = bytearray()

    def require(self, connection: sqlite3.Connection, rows: Sequence[int]) -> None:
        """Refuse metadata that is not as it was written."""
        seen = self._seen
        new = [row for row in rows if row >= len(seen) or not seen[row]]
        if new:
            check_metadata(connection, new)
            seen.extend(bytes(max(0, max(new) + 1 - len(seen))))
            for row in new:
                seen[row] = 1


def _problems(folder: Path) -> Iterator[str]:
    try:
        with closing(open_database(folder / FILE, wait_s=_WAIT_S, read_only=True)) as connection:
            if (folder / FILE).stat().st_size > LARGE:
                connection.execute("BEGIN")
                yield from _checked(connection, folder, check_postings=False)
                return
            with closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
                connection.backup(copy)
                yield from _checked(copy, folder, check_postings=True)
    except sqlite3.Error as error:
        yield _sentence(explained(error, "the file"))
    except (DataError, ValueError, TypeError, KeyError, AttributeError) as error:  # a file may say anything
        yield _sentence(error)


def _checked(connection: sqlite3.Connection, folder: Path, *, check_postings: bool) -> Iterator[str]:
    (answer,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if answer != "ok":
        yield f"its trees are broken ({answer.splitlines()[-1]})"
        return
    _, settings, form = read_head(connection, folder)
    yield from _state_problems(connection)
    if form == FORMAT:
        yield from _row_problems(connection, settings.words)
    if settings.words:
        yield from _word_problems(connection, form == FORMAT)
        if check_postings:
            connection.execute("INSERT INTO postings (postings, rank) VALUES ('integrity-check', 1)")


def _state_problems(connection: sqlite3.Connection) -> Iterator[str]:
    state = read_state(connection)
    last, removed, change = connection.execute(
        "SELECT (SELECT MAX(row) FROM items), (SELECT MAX(row) FROM removed), (SELECT MAX(change) FROM removed)"
    ).fetchone()
    if max(last or 0, removed or 0) >= max(state.next_row, 1) or (change or 0) > state.change:
        yield "its state is not as it was written"
    both = connection.execute("SELECT COUNT(*) FROM removed JOIN items USING (row)").fetchone()[0]
    if both:
        yield f"{both} items are both there and removed"


def _row_problems(connection: sqlite3.Connection, words: bool) -> Iterator[str]:
    texts = "texts.terms, text_lengths.length" if words else "NULL, NULL"
    joined = " LEFT JOIN texts USING (row) LEFT JOIN text_lengths USING (row)" if words else ""
    rows = connection.execute(
        "SELECT row, id, modality, items.metadata, vectors.vector, checksums.vector, checksums.metadata,"
        f" checksums.words, {texts} FROM items LEFT JOIN vectors USING (row) LEFT JOIN checksums USING (row){joined}"
    )
    count = 0
    while block := rows.fetchmany(_AT_ONCE):
        count += len(block)
        for row, id, modality, metadata, vector, *sums, terms, length in block:
            expected = [vector_sum(id, modality, vector), metadata_sum(row, id, metadata)]
            if sums != [*expected, None if terms is None else words_sum(row, length, terms)]:
                yield f"item {id!r} is not as it was written"
    for table in ("vectors", "checksums"):
        (found,) = connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()
        if found != count:
            yield f"there are {count} items but {found} {table}"


def _word_problems(connection: sqlite3.Connection, with_sums: bool) -> Iterator[str]:
    counts: Counter[str] = Counter()
    texts = 0
    for (terms,) in connection.execute("SELECT terms FROM texts"):
        texts += 1
        counts.update(term for term in terms.split(" ") if AGAIN not in term)
    (counted,) = connection.execute("SELECT entries FROM text_count").fetchone()
    if counted != texts:
        yield f"there are {texts} texts but {counted} are counted"
    columns = "term, entries, shown, plain" + (", checksum" if with_sums else "")
    for term, entries, *rest in connection.execute(f"SELECT {columns} FROM vocabulary"):
        if counts.pop(term, 0) != entries or (with_sums and rest[2] != term_sum(term, rest[0], rest[1])):
            yield f"the word {term!r} is not as it was written"
    if counts:
        yield f"{len(counts)} words are missing"


def _sentence(error: Exception) -> str:
    text = str(error) if isinstance(error, DiptychError) else f"it cannot be read ({type(error).__name__}: {error})"
    return text.removesuffix(".")


def write_snapshot(folder: Path, connection: sqlite3.Connection, target: Path, *, wait_s: float) -> Path:
    """Copy an index as it is at one moment, with the derived files in force then."""
    with atomic_folder(target) as temporary, file_lock(folder / LOCK, timeout_s=wait_s) as mine:
        if not mine:
            raise locked_too_long(wait_s)
        connection.execute("BEGIN")
        try:
            name = read_state(connection).derived
            _copy(connection, temporary / FILE)
        finally:
            connection.execute("COMMIT")
        source = folder / FOLDER / name
        if name and source.is_dir():
            shutil.copytree(source, temporary / FOLDER / name, copy_function=_link)
    return target


def write_backup(connection: sqlite3.Connection, target: Path) -> Path:
    """Copy the database as it is at one moment into one file; derived files are left out, they can be made again."""
    refuse_existing(target, overwrite=False)
    with atomic_file(target) as temporary:
        _copy(connection, temporary)
        with closing(sqlite3.connect(temporary, isolation_level=None)) as copy:
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
            copy.execute("UPDATE state SET derived = ''")
    return target


def restore(file: Path | str, place: Path | str) -> None:
    """Make an index of a file that `write_backup` wrote; the folder appears when it is whole and was checked."""
    source = Path(file)
    if not source.is_file():
        raise DataError(f"{source} is no file; give the file of a backup.")
    with atomic_folder(Path(place)) as temporary:
        shutil.copyfile(source, temporary / FILE)
        open_database(temporary / FILE, wait_s=1).close()
        require_intact(temporary)


def _copy(connection: sqlite3.Connection, target: Path) -> None:
    with closing(sqlite3.connect(target)) as copy:
        connection.backup(copy)


def _link(source: str, target: str) -> None:
    """Derived files never change once written, so a second name for one is as good as a copy."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
