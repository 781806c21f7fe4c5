"""Which columns of a table are the image, the text, the label, the split and the id, and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from diptych._core.errors import ConfigError, DataError
from diptych.data.tables import Table
from diptych.ingest.column_content import describe_column
from diptych.ingest.column_guesses import Guess, guess_id, guess_image, guess_label, guess_split, guess_texts
from diptych.ingest.image_finder import ImageFinder

NO_COLUMN = "-"
"""What a user writes for a column that the table does not have."""

Use = Literal["image", "text", "label", "split", "id", "metadata", "left out"]
PARTS = ("image", "text", "label", "split", "id")
_NAMED = "named by the user"


@dataclass(frozen=True)
class Columns:
    """The columns that hold each part of an item; None where there is none.

    Attributes:
        image: of the image's path, name or address.
        text: of the text, or several that are joined in this order.
        label: of the class.
        split: of the split.
        id: of the id.
        label_levels: what stands between the levels of the label's cells, of which the first is the class; None where
            the whole cell is.
    """

    image: str | None = None
    text: str | tuple[str, ...] | None = None
    label: str | None = None
    split: str | None = None
    id: str | None = None
    label_levels: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns that make the text, in order."""
        return () if self.text is None else (self.text,) if isinstance(self.text, str) else self.text

    def to_json(self) -> dict[str, Any]:
        """The columns by the part they hold."""
        texts = list(self.texts)
        shown: dict[str, Any] = {"image": self.image, "text": texts[0] if len(texts) == 1 else texts or None}
        shown |= {"label": self.label, "split": self.split, "id": self.id}
        return shown if self.label_levels is None else shown | {"label_levels": self.label_levels}


@dataclass(frozen=True)
class ColumnUse:
    """What was made of one column.

    Attributes:
        column: its name.
        part: what it holds.
        reason: why that was decided.
        example: one of its cells, cut.
    """

    column: str
    part: Use
    reason: str
    example: str


def choose_columns(
    table: Table, named: Mapping[str, str | Sequence[str]], finder: ImageFinder | None = None
) -> tuple[Columns, tuple[ColumnUse, ...]]:
    """Take the columns a user named and guess the others by their names and by what their cells hold.

    Args:
        table: the table.
        named: columns by part ("image", "text", "label", "split", "id"), several for the text; "-" says that there
            is none.
        finder: looks up whether cells name images that are there.

    Returns:
        The columns, and for every column of the table what was made of it and why.

    Raises:
        ConfigError: when a named column is not there.
        DataError: when neither an image nor a text is found.
    """
    given = {part: _checked(part, names, table) for part, names in named.items()}
    contents = {name: describe_column(name, table.column(name)) for name in table.columns}
    taken = {name for names in given.values() for name in names}
    guesses: dict[str, Guess] = {part: Guess(names, _NAMED) for part, names in given.items()}

    def free() -> list[str]:
        used = taken | {name for guess in guesses.values() for name in guess.columns}
        return [name for name in table.columns if name not in used]

    if "image" not in guesses:
        guesses["image"] = guess_image(table, contents, free(), finder)
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
        guesses["id"] = guess_id(table, contents, free(), guesses["image"].columns)
    if not guesses["image"].columns and not guesses["text"].columns:
        raise DataError(
            f"{table.origin}: no column holds images or texts ({_listing(table.columns)}); name one with "
            "--image-column or --text-column."
        )
    texts = guesses["text"].columns
    columns = Columns(
        image=_first(guesses["image"]),
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
            return ColumnUse(name, part, guess.reason_for(name), example)  # type: ignore[arg-type]
    if not filled:
        return ColumnUse(name, "left out", "is empty", example)
    noted = next((guess.refused[name] for guess in guesses.values() if name in guess.refused), None)
    return ColumnUse(name, "metadata", noted or "kept as it is", example)


def _first(guess: Guess) -> str | None:
    return guess.columns[0] if guess.columns else None


def _listing(columns: Sequence[str]) -> str:
    return ", ".join(columns[:12]) + (f" and {len(columns) - 12} more" if len(columns) > 12 else "")
