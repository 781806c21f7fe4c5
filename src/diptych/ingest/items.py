"""From rows of a table to items: one for each file, with all its captions, however the table lays them out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from diptych.data.tables import Problem, Row, Table
from diptych.features import clean_text
from diptych.ingest.column_content import file_names, is_address, values_of
from diptych.ingest.columns import Columns, kept_name, typed_columns
from diptych.ingest.file_finder import FileFinder
from diptych.ingest.options import Captions
from diptych.media import RefusedNameError, media_kind

ALL_COLUMNS = "all"
"""What a user writes to drop every column that is no part of an item."""

_MOST_KEPT_TITLE = 200


@dataclass(frozen=True)
class Item:
    """One item before its features.

    Attributes:
        id: unique in the dataset.
        document: items of one document are partners of each other.
        where: the line it came from, for reports.
        files: by kind of media, the file's path below the root or its name in the archive, as written.
        texts: its captions, cleaned; one at most once `caption_items` has been through.
        label: the label's cell: a name, a number, or several.
        split: the split as it stood in the table.
        metadata: its other columns.
    """

    id: str
    document: str
    where: str
    files: Mapping[str, str] = field(default_factory=dict)
    texts: tuple[str, ...] = ()
    label: Any = None
    split: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def image(self) -> str | None:
        """The image's path or name."""
        return self.files.get("image")


@dataclass
class GatheredItems:
    """Items by id, while rows are read."""

    items: dict[str, Item] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def gather_items(
    table: Table, columns: Columns, finder: FileFinder | None = None, dropped: Sequence[str] = ()
) -> GatheredItems:
    """Make items of rows; rows of one id, or without an id column of one file, are one item with several captions.

    Where such rows disagree about label or split, the first one counts and the report says so.

    Args:
        table: the rows.
        columns: which column holds what; all others are kept as metadata.
        finder: tells which of several files that a cell names is there.
        dropped: columns that are not kept; "all" drops every one.
    """
    gathered = GatheredItems()
    kept = _kept_columns(table, columns, dropped, gathered.problems)
    further = 0
    for row in table.rows:
        item, more = _item(row, columns, kept, finder, table.place(row))
        further += more
        if not item.files and not item.texts:
            gathered.problems.append(Problem("row", item.where, nothing_of(columns.files)))
        elif item.id not in gathered.items:
            gathered.items[item.id] = item
        else:
            _merge(gathered, item)
    if further:
        named = ", ".join(columns.files.values())
        reason = f"names {further:,} more files; the first of each row is used"
        gathered.problems.append(Problem("note", f"{table.origin}, column '{named}'", reason))
    typed, problems = typed_columns([item.metadata for item in gathered.items.values()], table.origin)
    gathered.problems += problems
    for item, metadata in zip(list(gathered.items.values()), typed, strict=True):
        gathered.items[item.id] = replace(item, metadata=metadata)
    return gathered


def caption_items(items: Iterable[Item], captions: Captions) -> list[Item]:
    """Turn items with several captions into items with one text at most.

    Args:
        items: as gathered.
        captions: "join" makes one text of them, a line each; "first" drops the others; "each" makes an item of each,
            the first of which has the files, and all are of one document.
    """
    result: list[Item] = []
    for item in items:
        if captions == "each" and len(item.texts) > 1:
            result.append(replace(item, id=f"{item.id}#1", texts=item.texts[:1]))
            for number, text in enumerate(item.texts[1:], start=2):
                result.append(replace(item, id=f"{item.id}#{number}", texts=(text,), files={}))
        elif captions == "first":
            result.append(replace(item, texts=item.texts[:1]))
        else:
            result.append(replace(item, texts=("\n".join(item.texts),) if item.texts else ()))
    return result


def with_texts(gathered: GatheredItems, texts: Mapping[str, str | None]) -> int:
    """Give items without a text the text under their id; returns how many got one."""
    silent = {id: text for id, text in texts.items() if text is not None and not gathered.items[id].texts}
    for id, text in silent.items():
        gathered.items[id] = replace(gathered.items[id], texts=(text,))
    return len(silent)


def nothing_of(kinds: Iterable[str]) -> str:
    """Say that an item has neither a file of some kinds nor a text.

    >>> nothing_of(["image"]), nothing_of(["image", "audio"])
    ('has neither an image nor a text', 'has neither an image nor a sound nor a text')
    """
    nouns = [media_kind(kind).noun for kind in kinds] or ["an image"]
    return f"has neither {' nor '.join(nouns)} nor a text"


def _kept_columns(table: Table, columns: Columns, dropped: Sequence[str], problems: list[Problem]) -> dict[str, str]:
    """The columns that are kept beside an item's parts, and the names they are kept under."""
    if ALL_COLUMNS in dropped:
        return {}
    used = {*columns.files.values(), columns.split, columns.id, *columns.texts, *dropped}
    used |= {columns.label} if columns.label_levels is None else set()
    titles = [name for name in columns.texts if len(columns.texts) > 1 and _is_short(table, name)]
    addresses = [name for name in columns.files.values() if _holds_addresses(table, name)]
    kept: dict[str, str] = {}
    for name in table.columns:
        if (name in used and name not in titles and name not in addresses) or name in dropped:
            continue
        kept[name] = kept_name(name, [*kept.values(), *(other for other in table.columns if other != name)])
        if kept[name] != name:
            reason = f"has a name that is reserved and is kept as '{kept[name]}'"
            problems.append(Problem("note", f"{table.origin}, column '{name}'", reason))
    return kept


def _is_short(table: Table, name: str) -> bool:
    """Whether a column's texts are titles, which are worth showing by themselves."""
    return all(len(str(row.cells.get(name) or "")) <= _MOST_KEPT_TITLE for row in table.rows[:1000])


def _holds_addresses(table: Table, name: str) -> bool:
    return any(is_address(image) for row in table.rows[:1000] for image in file_names(row.cells.get(name)))


def _item(
    row: Row, columns: Columns, kept: Mapping[str, str], finder: FileFinder | None, where: str
) -> tuple[Item, int]:
    """The item of a row, and how many more files the row names."""
    named = {kind: file_names(row.cells.get(column)) for kind, column in columns.files.items()}
    first = {kind: _text(_first_there(names, kind, finder)) for kind, names in named.items()}
    files = {kind: name for kind, name in first.items() if name is not None}
    given = _text(row.cells.get(columns.id or ""))
    name = given or next(iter(files.values()), None) or f"row-{row.number}"
    item = Item(
        id=name,
        document=name,
        where=where,
        files=files,
        texts=_texts([row.cells.get(column) for column in columns.texts]),
        label=_label(row.cells.get(columns.label or ""), columns.label_levels),
        split=_text(row.cells.get(columns.split or "")),
        metadata={to: _kept(row.cells.get(column)) for column, to in kept.items()},
    )
    return item, sum(max(0, len(names) - 1) for names in named.values())


def _first_there(names: Sequence[str], kind: str, finder: FileFinder | None) -> str | None:
    if finder is not None and len(names) > 1:
        for name in names:
            try:
                finder.find(name, kind)
            except RefusedNameError:
                continue
            return name
    return names[0] if names else None


def _merge(gathered: GatheredItems, item: Item) -> None:
    """Add a row's captions to the item that is there."""
    first = gathered.items[item.id]
    for kind, name in item.files.items():
        if first.files.get(kind, name) != name:
            noun = media_kind(kind).noun.partition(" ")[2]
            reason = f"has the id '{item.id}' of {first.where} but another {noun}"
            gathered.problems.append(Problem("row", item.where, reason))
            return
    for part in ("label", "split"):
        if getattr(item, part) not in (None, getattr(first, part)) and getattr(first, part) is not None:
            reason = f"gives '{item.id}' the {part} '{getattr(item, part)}'; that of {first.where} is kept"
            gathered.problems.append(Problem("note", item.where, reason))
    gathered.items[item.id] = replace(
        first,
        files={**item.files, **first.files},
        texts=(*first.texts, *(text for text in item.texts if text not in first.texts)),
        label=item.label if first.label is None else first.label,
        split=first.split or item.split,
        metadata={name: item.metadata.get(name) if value is None else value for name, value in first.metadata.items()},
    )


def _texts(cells: Sequence[Any]) -> tuple[str, ...]:
    """The captions of a row: those of its one column, or one text of several columns, one below the other."""
    texts = [[text for each in values_of(cell) if (text := _caption(each)) is not None] for cell in cells]
    if len(texts) == 1:
        return tuple(texts[0])
    parts = list(dict.fromkeys(text for each in texts for text in each))
    joined = [part for part in parts if not any(part != other and other.startswith(part) for other in parts)]
    return ("\n".join(joined),) if joined else ()


def _caption(cell: Any) -> str | None:  # noqa: ANN401 - whatever a cell holds
    text = _text(cell.get("raw") or cell.get("text") if isinstance(cell, dict) else cell)
    return (clean_text(text) or None) if text is not None else None


def _label(cell: Any, levels: str | None) -> Any:  # noqa: ANN401
    """The class names in a label's cell, cleaned as texts are; lists of zeros and ones stay as they are."""
    values = values_of(cell)
    if not isinstance(cell, list | tuple) and values == [cell]:
        return _class_name(cell, levels)
    return [_class_name(value, levels) for value in values] or None


def _class_name(value: Any, levels: str | None) -> Any:  # noqa: ANN401
    if not isinstance(value, str):
        return value
    first = clean_text(value if levels is None else value.partition(levels)[0])
    return first or None


def _kept(cell: Any) -> Any:  # noqa: ANN401
    """A cell as metadata: texts cleaned, and the list that a text writes out as a list."""
    if isinstance(cell, list | tuple):
        return [_kept(value) for value in cell]
    if not isinstance(cell, str):
        return cell
    values = values_of(cell)
    if cell.startswith("[") and values != [cell]:
        return [_kept(value) for value in values]
    return clean_text(cell) if ("&" in cell or "<" in cell) and not is_address(cell) else cell


def _text(cell: Any) -> str | None:  # noqa: ANN401
    """A cell as text, None when it is empty; surrogates, which JSON may contain, are replaced."""
    if cell is None or (isinstance(cell, float) and cell != cell):
        return None
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    return str(cell).strip().encode("utf-8", errors="replace").decode("utf-8") or None
