"""Which columns of a table are the media, the text, the label, the split and the id; the others are metadata."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from diptych._core.errors import ConfigError, DataError
from diptych.data.dataset_files import RESERVED_COLUMNS
from diptych.data.tables import Problem, Table
from diptych.ingest.column_content import describe_column, reader_of
from diptych.ingest.column_guesses import Guess, guess_id, guess_label, guess_media, guess_split, guess_texts
from diptych.ingest.file_finder import FileFinder
from diptych.media import KINDS, media_column

NO_COLUMN = "-"
"""What a user writes for a column that the table does not have."""

PARTS = (*KINDS, "text", "label", "split", "id")
_NAMED = "named by the user"

MOST_BYTES = 10_000
"""A longer cell is left out."""

_SET_BY_DIPTYCH = frozenset((*RESERVED_COLUMNS, *map(media_column, KINDS), "has_media", "text", "item", "modality"))


@dataclass(frozen=True)
class Columns:
    """The columns that hold each part of an item; None where there is none.

    Attributes:
        files: by kind of media, of the file's path, name or address.
        text: of the text, or several that are joined in this order.
        label: of the class.
        split: of the split.
        id: of the id.
        label_levels: what stands between the levels of the label's cells, of which the first is the class; None where
            the whole cell is.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    text: str | tuple[str, ...] | None = None
    label: str | None = None
    split: str | None = None
    id: str | None = None
    label_levels: str | None = None

    @property
    def image(self) -> str | None:
        """The column of the image."""
        return self.files.get("image")

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns that make the text, in order."""
        return () if self.text is None else (self.text,) if isinstance(self.text, str) else self.text

    def to_json(self) -> dict[str, Any]:
        """The columns by the part they hold."""
        texts = list(self.texts)
        shown: dict[str, Any] = {"image": None, **self.files, "text": texts[0] if len(texts) == 1 else texts or None}
        shown |= {"label": self.label, "split": self.split, "id": self.id}
        return shown if self.label_levels is None else shown | {"label_levels": self.label_levels}


@dataclass(frozen=True)
class ColumnUse:
    """What one column is used as.

    Attributes:
        column: its name.
        part: what it holds: one of `PARTS`, "metadata" or "left out".
        reason: why that was decided.
        example: one of its cells, cut.
    """

    column: str
    part: str
    reason: str
    example: str


def choose_columns(
    table: Table, named: Mapping[str, str | Sequence[str]], finder: FileFinder | None = None
) -> tuple[Columns, tuple[ColumnUse, ...]]:
    """Take the columns a user named, and guess the others from their names and cells.

    Args:
        table: the table.
        named: columns by part (a kind of media, "text", "label", "split", "id"), several for the text; "-" says that
            there is none.
        finder: looks up whether cells name files that are there.

    Returns:
        The columns, and for every column of the table what was made of it and why.

    Raises:
        ConfigError: when a named column is not there.
        DataError: when neither a media file nor a text is found.
    """
    given = {part: _checked(part, names, table) for part, names in named.items()}
    contents = {name: describe_column(name, table.column(name)) for name in table.columns}
    taken = {name for names in given.values() for name in names}
    guesses: dict[str, Guess] = {part: Guess(names, _NAMED) for part, names in given.items()}

    def free() -> list[str]:
        used = taken | {name for guess in guesses.values() for name in guess.columns}
        return [name for name in table.columns if name not in used]

    for kind in sorted(KINDS.values(), key=lambda kind: kind.name == "image"):  # images are believed most readily
        if kind.name not in guesses:
            guesses[kind.name] = guess_media(kind, table, contents, free(), finder)
    files = {name: found for name in KINDS if (found := _first(guesses[name])) is not None}
    if "split" not in guesses:
        guesses["split"] = guess_split(table, contents, free())
    if "label" not in guesses:
        guesses["label"] = guess_label(table, contents, free(), by_name=True)
    if "text" not in guesses:
        guesses["text"] = guess_texts(table, contents, free())
    if "label" not in named and not guesses["label"].columns:
        refused = guesses["label"].refused
        guesses["label"] = replace(guess_label(table, contents, free(), by_name=False), refused=refused)
    if "id" not in guesses:
        guesses["id"] = guess_id(table, contents, free(), list(files.values()))
    if not files and not guesses["text"].columns:
        raise DataError(
            f"{table.origin}: no column holds images, sounds or texts ({_listing(table.columns)}); name one with "
            "--image-column, --audio-column or --text-column."
        )
    texts = guesses["text"].columns
    columns = Columns(
        files=files,
        text=texts[0] if len(texts) == 1 else texts or None,
        label=_first(guesses["label"]),
        split=_first(guesses["split"]),
        id=_first(guesses["id"]),
        label_levels=guesses["label"].levels,
    )
    return columns, tuple(_use(name, guesses, contents[name].filled, contents[name].example) for name in table.columns)


def _checked(part: str, names: str | Sequence[str], table: Table) -> tuple[str, ...]:
    several = (names,) if isinstance(names, str) else tuple(names)
    if several == (NO_COLUMN,):
        return ()
    for name in several:
        if name not in table.columns:
            raise ConfigError(
                f"{table.origin} has no column '{name}' for the {part}; it has {_listing(table.columns)}."
            )
    if len(several) > 1 and part != "text":
        raise ConfigError(f"{len(several)} columns are named for the {part}; only texts can be joined, so name one.")
    return several


def _use(name: str, guesses: Mapping[str, Guess], filled: int, example: str) -> ColumnUse:
    for part in PARTS:
        guess = guesses[part]
        if name in guess.columns:
            return ColumnUse(name, part, guess.reason_for(name), example)
    if not filled:
        return ColumnUse(name, "left out", "is empty", example)
    noted = next((guess.refused[name] for guess in guesses.values() if name in guess.refused), None)
    return ColumnUse(name, "metadata", noted or "kept as it is", example)


def _first(guess: Guess) -> str | None:
    return guess.columns[0] if guess.columns else None


def _listing(columns: Sequence[str]) -> str:
    return ", ".join(columns[:12]) + (f" and {len(columns) - 12} more" if len(columns) > 12 else "")


def kept_name(name: str, others: Sequence[str]) -> str:
    """The name under which a column is kept: its own, or a longer one where diptych uses that name itself.

    >>> kept_name("price", []), kept_name("text", []), kept_name("has_image", [])
    ('price', 'text_column', 'image_column')
    """
    plain = " ".join(name.replace('"', "'").replace("\\", "/").split()) or "column"
    plain = plain if not plain.startswith("has_") else f"{plain[4:]}_column"
    while plain in _SET_BY_DIPTYCH or plain in others:
        plain = f"{plain}_column"
    return plain


def typed_columns(rows: Sequence[Mapping[str, Any]], origin: str) -> tuple[list[dict[str, Any]], list[Problem]]:
    """Bring the values of each column to one type: numbers, truth values, texts, or lists of texts.

    A column of texts that are all numbers becomes numbers, unless some begin with a zero that means something
    ("00123"); a comma stands before one or two decimals ("1.234,50"). So do prices in one currency ("$12.99"); dates
    that begin with the day or the month are written as "2024-03-23", which compares as it should. A column of several
    types becomes texts. Values of more than `MOST_BYTES` are left out.

    Args:
        rows: the other cells of each item, by column.
        origin: the table, for the notes.

    Returns:
        The same rows with values of one type, and what was left out.
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    problems: list[Problem] = []
    columns: dict[str, list[Any]] = {}
    for name in names:
        values = [_plain(row.get(name)) for row in rows]
        long = [number for number, value in enumerate(values) if _size(value) > MOST_BYTES]
        for number in long:
            values[number] = None
        if long:
            reason = f"has {len(long):,} values of more than {MOST_BYTES:,} bytes, which are left out"
            problems.append(Problem("note", f"{origin}, column '{name}'", reason))
        if any(value is not None for value in values):
            columns[name], read_as = _of_one_type(values)
            if read_as is not None:
                problems.append(Problem("note", f"{origin}, column '{name}'", read_as))
    return [{name: columns[name][number] for name in columns} for number in range(len(rows))], problems


def _of_one_type(values: list[Any]) -> tuple[list[Any], str | None]:
    """The values of a column in one type, and what was made of them where they no longer look as written."""
    there = [value for value in values if value is not None]
    if all(isinstance(value, str) for value in there):
        read, read_as = reader_of(there)
        return [None if value is None else read(value) for value in values], read_as
    if any(isinstance(value, list) for value in there):
        return [None if value is None else _as_list(value) for value in values], None
    if all(isinstance(value, bool) for value in there) or all(type(value) is int for value in there):
        return values, None
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in there):
        return [None if value is None else float(value) for value in values], None
    return [None if value is None else _as_text(value) for value in values], None


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a cell holds
    """A value that a column can hold; None where it is empty."""
    if isinstance(value, str):
        return value.strip().encode("utf-8", errors="replace").decode("utf-8").replace("\0", "") or None
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**63 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [inner for inner in map(_plain, value) if inner is not None] or None
    return None if value is None else json.dumps(value, ensure_ascii=False, default=str, sort_keys=True)


def _size(value: Any) -> int:  # noqa: ANN401
    if isinstance(value, list):
        return sum(map(_size, value))
    return len(value.encode()) if isinstance(value, str) else 0


def _as_list(value: Any) -> list[str]:  # noqa: ANN401
    return [_as_text(inner) for inner in value] if isinstance(value, list) else [_as_text(value)]


def _as_text(value: Any) -> str:  # noqa: ANN401
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
