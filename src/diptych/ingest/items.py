"""From rows of a table to items: one for each picture, with all its captions, however the table lays them out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from diptych.ingest.columns import Columns
from diptych.ingest.report import Problem
from diptych.ingest.tables import Row, Table

Captions = Literal["join", "first", "each"]


@dataclass(frozen=True)
class Item:
    """One item before its features.

    Attributes:
        id: unique in the dataset.
        document: items of one document are partners of each other.
        where: the line it came from, for reports.
        picture: the picture's path below the root or its name in the archive, as written.
        texts: its captions; one at most once `caption_items` has been through.
        label: the label's cell as it stood in the table.
        split: the split as it stood in the table.
    """

    id: str
    document: str
    where: str
    picture: str | None = None
    texts: tuple[str, ...] = ()
    label: Any = None
    split: str | None = None


@dataclass
class Gathering:
    """Items by id, while rows are read."""

    items: dict[str, Item] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def gather_items(table: Table, columns: Columns) -> Gathering:
    """Make items of rows; rows of one id, or without an id column of one picture, are one item with several captions.

    Where such rows disagree about label or split, the first one counts and the report says so.
    """
    gathered = Gathering()
    for row in table.rows:
        item = _item(row, columns, f"{table.origin}, line {row.number}")
        if item.picture is None and not item.texts:
            gathered.problems.append(Problem("row", item.where, "has neither a picture nor a text"))
        elif item.id not in gathered.items:
            gathered.items[item.id] = item
        else:
            _merge(gathered, item)
    return gathered


def caption_items(items: Iterable[Item], captions: Captions, separator: str = "\n") -> list[Item]:
    """Turn items with several captions into items with one text at most.

    Args:
        items: as gathered.
        captions: "join" makes one text of them, "first" drops the others, "each" makes an item of each, the first of
            which has the picture; all are of one document.
        separator: what stands between joined captions.
    """
    result: list[Item] = []
    for item in items:
        if captions == "each" and len(item.texts) > 1:
            result.append(replace(item, id=f"{item.id}#1", texts=item.texts[:1]))
            for number, text in enumerate(item.texts[1:], start=2):
                result.append(replace(item, id=f"{item.id}#{number}", texts=(text,), picture=None))
        elif captions == "first":
            result.append(replace(item, texts=item.texts[:1]))
        else:
            result.append(replace(item, texts=(separator.join(item.texts),) if item.texts else ()))
    return result


def _item(row: Row, columns: Columns, where: str) -> Item:
    picture = _text(row.cells.get(columns.image or ""))
    given = _text(row.cells.get(columns.id or ""))
    name = given or picture or f"row-{row.number}"
    return Item(
        id=name,
        document=name,
        where=where,
        picture=picture,
        texts=_texts(row.cells.get(columns.text or "")),
        label=row.cells.get(columns.label or ""),
        split=_text(row.cells.get(columns.split or "")),
    )


def _merge(gathered: Gathering, item: Item) -> None:
    """Add a row's captions to the item that is there."""
    first = gathered.items[item.id]
    if item.picture is not None and first.picture is not None and item.picture != first.picture:
        reason = f"has the id '{item.id}' of {first.where} but another picture"
        gathered.problems.append(Problem("row", item.where, reason))
        return
    for part in ("label", "split"):
        if getattr(item, part) not in (None, getattr(first, part)) and getattr(first, part) is not None:
            reason = f"gives '{item.id}' the {part} '{getattr(item, part)}'; that of {first.where} is kept"
            gathered.problems.append(Problem("note", item.where, reason))
    gathered.items[item.id] = replace(
        first,
        picture=first.picture or item.picture,
        texts=(*first.texts, *(text for text in item.texts if text not in first.texts)),
        label=item.label if first.label is None else first.label,
        split=first.split or item.split,
    )


def _texts(cell: Any) -> tuple[str, ...]:  # noqa: ANN401 - whatever a cell holds
    cells: Sequence[Any] = cell if isinstance(cell, list | tuple) else [cell]
    found = (_text(each.get("raw") if isinstance(each, dict) else each) for each in cells)
    return tuple(text for text in found if text is not None)


def _text(cell: Any) -> str | None:  # noqa: ANN401
    """A cell as text, None when there is none; surrogates that JSON may smuggle in are replaced."""
    if cell is None or (isinstance(cell, float) and cell != cell):
        return None
    return str(cell).strip().encode("utf-8", errors="replace").decode("utf-8") or None
