"""What goes into an index and what comes out, and the checks of what comes from outside."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from diptych._core.arrays import Singles
from diptych._core.errors import ConfigError, DataError
from diptych.index.filters import COLUMNS
from diptych.index.terms import EntryWords, entry_words

Metadata = dict[str, Any]
"""A JSON object: labels, split, text, where the image lies."""


@dataclass(frozen=True)
class Item:
    """One item of an index.

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
class Hits:
    """The answer to one query, best first; equal scores are in the order of the ids.

    Attributes:
        ids: the items found.
        scores: their cosines with the query, or how well their words fit it (BM25); float32.
        modalities: what each one is.
        metadata: what is known of each one, if it was asked for; copy it before you change it, others may have it.
    """

    ids: tuple[str, ...]
    scores: Singles
    modalities: tuple[str, ...]
    metadata: tuple[Metadata, ...] | None = None

    def __len__(self) -> int:
        return len(self.ids)


LONGEST_NAME = 1_024
"""Bytes of an id or of a modality's name."""
DEEPEST = 100
"""Objects and lists within each other in metadata."""
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True)
class ItemLimits:
    """What an operator allows; what is stored already stays.

    Attributes:
        metadata_bytes: largest metadata of one item, as JSON.
        items: in the index; None for any number.
    """

    metadata_bytes: int = 2**20
    items: int | None = None

    def check(self) -> None:
        """Refuse limits that no index can have."""
        for name in ("metadata_bytes", "items"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < 1):
                raise ConfigError(f"{name} is {value!r}; it must be a whole number of at least 1.")


def checked_batch(
    ids: Sequence[str],
    vectors: ArrayLike,
    modality: str | Sequence[str],
    metadata: Sequence[Mapping[str, Any]] | None,
    dimension: int,
    texts: Sequence[str | None] | None = None,
    limits: ItemLimits | None = None,
) -> Batch:
    """Return items ready to be stored, or raise an error that names the first wrong one."""
    limits = limits or ItemLimits()
    ids = checked_ids(ids)
    for id in ids:
        _refuse_control(id, "id")
    count = len(ids)
    modalities = [modality] * count if isinstance(modality, str) else list(modality)
    known: Sequence[Mapping[str, Any]] = [{}] * count if metadata is None else list(metadata)
    for name, column in (("modalities", modalities), ("metadata", known), ("texts", texts)):
        if column is not None and len(column) != count:
            raise DataError(f"there are {count} ids but {len(column)} {name}; give one for each id.")
    for name in set(modalities):
        _check_name(name, "modality")
        _refuse_control(name, "modality")
    rows = unit_rows(vectors, dimension, ids)
    if len(rows) != count:
        raise DataError(f"there are {count} ids but {len(rows)} vectors; give one for each id.")
    written = [_as_json(id, value, limits.metadata_bytes) for id, value in zip(ids, known, strict=True)]
    return Batch(ids, modalities, rows, written, None if texts is None else _words(ids, texts))


def checked_ids(ids: Iterable[str]) -> list[str]:
    """A list of ids, each a plain text and none twice."""
    if isinstance(ids, str):
        raise DataError(f"ids is the text {ids!r}; give a list of ids.")
    listed = list(ids)
    for id in listed:
        _check_name(id, "id")
    if len(set(listed)) != len(listed):
        twice = next(id for id, times in Counter(listed).items() if times > 1)
        raise DataError(f"id {twice!r} comes twice in one batch; give every id once.")
    return listed


def unit_rows(vectors: ArrayLike, dimension: int, names: Sequence[str] | None = None) -> Singles:
    """Vectors as rows of length 1 (float32); one vector becomes one row."""
    rows = _as_rows(vectors, dimension)
    if not len(rows):
        return np.zeros((0, dimension), np.float32)
    wide = rows.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.sqrt(np.vecdot(wide, wide))
    wrong = ~np.isfinite(lengths) | (lengths == 0)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        _refuse(rows[row], repr(names[row]) if names is not None and row < len(names) else str(row))
    return np.asarray(wide / lengths[:, None], np.float32)


def unit_queries(vectors: ArrayLike, dimension: int) -> Singles:
    """Like `unit_rows`, to the last digit, and quicker for the one vector that a search usually has."""
    if (
        isinstance(vectors, np.ndarray)
        and vectors.dtype == np.float32
        and vectors.shape in ((dimension,), (1, dimension))
    ):
        one = vectors.reshape(dimension).astype(np.float64)
        length = math.sqrt(one.dot(one))
        if 0 < length < math.inf:
            return np.asarray((one / length).astype(np.float32).reshape(1, dimension))
    return unit_rows(vectors, dimension)


def checked_page(k: int, offset: int) -> None:
    """How many results, and from where."""
    if k < 1:
        raise ConfigError(f"k is {k}; ask for at least one result.")
    if offset < 0:
        raise ConfigError(f"offset is {offset}; it must be zero or positive.")


_NOT_PLAIN = re.compile("[\0\ud800-\udfff]")


def is_plain(name: object) -> bool:
    """Whether something is a text that every engine can be asked for."""
    return isinstance(name, str) and _NOT_PLAIN.search(name) is None


def _as_rows(vectors: ArrayLike, dimension: int) -> "np.ndarray[Any, np.dtype[Any]]":
    try:
        rows = np.asarray(vectors)
    except ValueError:
        raise DataError(
            f"the vectors are of unequal lengths; this index holds vectors of {dimension} numbers."
        ) from None
    if rows.dtype.kind not in "fiu" and rows.size:
        raise DataError(f"the vectors hold {rows.dtype} values; they must be real numbers.")
    if rows.size == 0 and rows.ndim == 1:
        return np.zeros((0, dimension), np.float32)
    if rows.ndim not in (1, 2) or rows.shape[-1] != dimension:
        shape = " × ".join(map(str, rows.shape))
        raise DataError(f"the vectors have shape {shape}; this index holds vectors of {dimension} numbers.")
    return rows.reshape(-1, dimension)


def _refuse(row: "np.ndarray[Any, np.dtype[Any]]", name: str) -> None:
    if not np.isfinite(row).all():
        raise DataError(f"vector {name} holds a NaN or an infinity; vectors must be finite.")
    if not row.any():
        raise DataError(f"vector {name} is zero; it has no direction and cannot be compared by cosine.")
    raise DataError(f"vector {name} is too long or too short to be normalised; scale it to a usual length.")


def _check_name(name: object, what: str) -> None:
    if not isinstance(name, str) or not name:
        raise DataError(f"{what} is {name!r}; it must be a text that is not empty.")
    if not is_plain(name):
        raise DataError(f"{what} {name[:40]!r} holds a zero byte or half a character; write it in plain Unicode text.")
    if len(name.encode()) > LONGEST_NAME:
        raise DataError(f"{what} {name[:40]!r}… is longer than {LONGEST_NAME} bytes; choose a shorter one.")


def _refuse_control(name: str, what: str) -> None:
    if _CONTROL.search(name):
        raise DataError(
            f"{what} {name[:40]!r} holds a line break or another control character, which cannot stand in an address;"
            " leave it out."
        )


def _as_json(id: str, metadata: Mapping[str, Any], most: int) -> str:
    if not isinstance(metadata, Mapping):
        raise DataError(f"the metadata of {id!r} is {type(metadata).__name__}; it must be a JSON object.")
    taken = [key for key in COLUMNS if key in metadata]
    if taken:
        raise DataError(f"the metadata of {id!r} has the key {taken[0]!r}, which every item has already; rename it.")
    _check_keys(id, metadata, 0)
    try:
        text = json.dumps(dict(metadata), ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except (TypeError, ValueError) as error:
        raise DataError(f"the metadata of {id!r} cannot be written as JSON ({error}).") from None
    if size > most:
        raise DataError(f"the metadata of {id!r} has {size} bytes; this index takes {most}, so shorten it.")
    return text


def _words(ids: Sequence[str], texts: Sequence[str | None]) -> list[EntryWords | None]:
    for id, text in zip(ids, texts, strict=True):
        if text is not None and not isinstance(text, str):
            raise DataError(f"the words of {id!r} are {type(text).__name__}; give a text, or None for an item without.")
    return [entry_words(text) for text in texts]


def _check_keys(id: str, value: object, depth: int) -> None:
    if depth > DEEPEST:
        raise DataError(f"the metadata of {id!r} is nested deeper than {DEEPEST}; flatten it.")
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise DataError(f"the metadata of {id!r} has the key {key!r}; keys must be texts.")
            _check_keys(id, inner, depth + 1)
    elif isinstance(value, list | tuple):
        for inner in value:
            _check_keys(id, inner, depth + 1)
