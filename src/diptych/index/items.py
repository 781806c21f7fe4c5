"""What goes into an index and what comes out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from diptych._core.arrays import Singles
from diptych.index.terms import EntryWords

Metadata = dict[str, Any]
"""A JSON object: labels, split, text, where the picture lies."""


@dataclass(frozen=True)
class Item:
    """One entry of an index.

    Attributes:
        id: unique in the index.
        modality: what it is, such as "image".
        vector: the stored vector: float32, length 1.
        metadata: a JSON object.
    """

    id: str
    modality: str
    vector: Singles
    metadata: Metadata


@dataclass(frozen=True)
class Batch:
    """Checked items on their way into an index, column by column; vectors have length 1.

    `words` holds those by which each item is found, None for one that has none; it is None as a whole if no item has.
    """

    ids: Sequence[str]
    modalities: Sequence[str]
    vectors: Singles
    metadata: Sequence[str]
    words: Sequence[EntryWords | None] | None = None

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to one query, best first; equal scores are in the order of the ids.

    Attributes:
        ids: the items found.
        scores: their cosines with the query, or how well their words fit it (BM25); float32.
        modalities: what each one is.
        metadata: what is known of each one, if it was asked for.
    """

    ids: tuple[str, ...]
    scores: Singles
    modalities: tuple[str, ...]
    metadata: tuple[Metadata, ...] | None = None

    def __len__(self) -> int:
        return len(self.ids)
