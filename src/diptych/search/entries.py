"""What an index keeps of a dataset's items beside their vectors."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from diptych.arrays import Integers
from diptych.data import Dataset

RESERVED = ("media", "has_media")
"""Keys that say which picture is shown, and are never taken from outside."""
_TAKEN = ("id", "modality", "item", "document", "split", "label", *RESERVED)
_LONGEST_TEXT = 20_000


def describe_items(dataset: Dataset, index: Integers) -> Iterator[dict[str, Any]]:
    """The metadata of some items: id, document, split, label and free columns; empty values are left out."""
    rows = dataset.items.take(index)
    free = [name for name in dataset.metadata_columns if name not in _TAKEN]
    columns = {name: rows.column(name).to_pylist() for name in ("id", "document", "split", "label", *free)}
    for number in range(len(index)):
        known = {name: _plain(values[number]) for name, values in columns.items()}
        known["item"] = known.pop("id")
        yield {name: value for name, value in known.items() if value is not None and value != []}


def media_names(dataset: Dataset, index: Integers) -> Sequence[str | None]:
    """The name of each item's picture in the source, None where there is none."""
    if "media" not in dataset.metadata_columns:
        return [None] * len(index)
    names: list[str | None] = dataset.items.take(index).column("media").to_pylist()
    return names


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a column holds
    """A value that JSON can hold, or None."""
    if isinstance(value, str):
        return value[:_LONGEST_TEXT].replace("\0", "")
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [inner for inner in map(_plain, value) if inner is not None]
    return value if isinstance(value, bool | int) else None
