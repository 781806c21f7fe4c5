"""Which column of a table is the picture, the text, the label, the split and the id: guessed, or as the user says."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from diptych.errors import ConfigError, DataError

NO_COLUMN = "-"
"""What a user writes for a column that the table does not have."""

_NAMES: dict[str, tuple[str, ...]] = {
    "image": (
        *("image", "images", "picture", "photo", "img", "image_path", "image_file", "image_name", "image_filename"),
        *("file", "path", "filename", "file_name", "filepath", "file_path", "media"),
    ),
    "text": (
        *("text", "texts", "caption", "captions", "description", "descriptions", "sentence", "sentences"),
        *("title", "body", "content", "tags", "keywords", "comment", "article"),
    ),
    "label": (
        "label",
        "labels",
        "class",
        "classes",
        "category",
        "categories",
        "class_name",
        "target",
        "topic",
        "genre",
    ),
    "split": ("split", "splits", "set", "subset", "partition", "fold"),
    "id": ("id", "ids", "item_id", "key", "uid", "uuid"),
}
_WANTED = ("image", "text")


@dataclass(frozen=True)
class Columns:
    """The column that holds each part of an item; None where there is none."""

    image: str | None = None
    text: str | None = None
    label: str | None = None
    split: str | None = None
    id: str | None = None

    def to_json(self) -> dict[str, str | None]:
        """The columns by the part they hold."""
        return asdict(self)


def choose_columns(columns: Sequence[str], named: Mapping[str, str], origin: str) -> Columns:
    """Take the columns a user named and guess the others by their names.

    Args:
        columns: the columns there are.
        named: by part ("image", "text", "label", "split", "id"); "-" says that there is none.
        origin: the file, for errors.

    Raises:
        DataError: when neither a picture's nor a text's column is found, or one is missing that was not waived.
    """
    for part, column in named.items():
        if column != NO_COLUMN and column not in columns:
            raise ConfigError(f"{origin} has no column '{column}' for the {part}; it has {_listing(columns)}.")
    taken = set(named.values())
    chosen: dict[str, str | None] = {}
    for part in _NAMES:
        if part in named:
            chosen[part] = None if named[part] == NO_COLUMN else named[part]
        else:
            chosen[part] = _guess(part, [column for column in columns if column not in taken])
            taken |= {chosen[part] or ""}
    for part in _WANTED:
        if chosen[part] is None and named.get(part) != NO_COLUMN:
            raise DataError(
                f"{origin}: no column looks like the {part} ({_listing(columns)}); name it with --{part}-column, or "
                f"write --{part}-column {NO_COLUMN} if there is none."
            )
    if chosen["image"] is None and chosen["text"] is None:
        raise ConfigError(f"{origin}: items need a picture or a text; name the column of at least one.")
    return Columns(**chosen)


def _guess(part: str, columns: Sequence[str]) -> str | None:
    """The first column whose name, apart from case and punctuation, is one of the usual ones; the usual come first."""
    plain = {column: column.strip().lower().replace(" ", "_").replace("-", "_") for column in columns}
    for name in _NAMES[part]:
        fitting = [column for column in columns if plain[column] == name]
        if fitting:
            return fitting[0]
    return None


def _listing(columns: Sequence[str]) -> str:
    return ", ".join(columns[:12]) + (f" and {len(columns) - 12} more" if len(columns) > 12 else "")
