"""Binary codes in the local engine: stored beside or in place of the vectors, searched by Hamming distance.

Codes are candidates only: what they find is scored by the vectors as stored. These are the vectors themselves, mapped
from disk and read for the candidates alone, or, in an index that keeps no floats, the vectors that codes stand for.
"""

import sqlite3
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from diptych._core.arrays import Booleans, Integers, Singles
from diptych._core.errors import ConfigError
from diptych.index.identity import Identity
from diptych.index.local.graph import Settings, faiss
from diptych.methods.binary_codes import BinaryCodes, Codes, learn_codes

CODES_FILE, PROJECTION_FILE = "codes.u8", "projection.f32"
CODES_TABLE = (
    "CREATE TABLE binary_codes (name TEXT PRIMARY KEY, columns INTEGER NOT NULL, numbers BLOB NOT NULL,"
    " checksum INTEGER NOT NULL) WITHOUT ROWID"
)
"""How vectors become codes, in an index that was told so when it was created."""
_PARTS = ("centre", "rotation", "decoder")
_LEARNED_FROM = 10_000
_MOST_GROWTH = 2
_AT_ONCE = 65_536


class CodedVectors:
    """Codes that behave as the vectors they stand for; these are computed for the rows that are looked at."""

    def __init__(self, codes: Codes, how: BinaryCodes) -> None:
        self.codes, self.how = codes, how

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the vectors."""
        return len(self.codes), len(self.how.centre)

    def __getitem__(self, rows: slice | Integers | Booleans) -> "CodedVectors":
        """Some of the rows, as codes still."""
        return CodedVectors(self.codes[rows], self.how)

    def take(self, rows: Integers, axis: int = 0) -> Singles:
        """The vectors of some rows."""
        return self.how.decode(self.codes.take(rows, axis=axis))


Vectors = Singles | CodedVectors


def as_singles(vectors: Vectors) -> Singles:
    """The vectors as numbers."""
    return vectors.how.decode(vectors.codes) if isinstance(vectors, CodedVectors) else vectors


@overload
def concatenated(parts: Sequence[Singles]) -> Singles: ...
@overload
def concatenated(parts: Sequence[Vectors]) -> Vectors: ...
def concatenated(parts: Sequence[Vectors]) -> Vectors:
    """Vectors one after another."""
    first = parts[0]
    if isinstance(first, CodedVectors):
        return CodedVectors(np.concatenate([p.codes for p in parts if isinstance(p, CodedVectors)]), first.how)
    return np.concatenate([p for p in parts if not isinstance(p, CodedVectors)])


@dataclass(frozen=True)
class VectorForm:
    """How an index keeps its vectors.

    Attributes:
        dimension: numbers in a vector.
        how: turns vectors into codes and back; None where the index was not told.
        keep_float: whether vectors are kept as they are; otherwise only their codes are.
    """

    dimension: int
    how: BinaryCodes | None = None
    keep_float: bool = True

    @property
    def file(self) -> str:
        """The derived file with the vectors of a modality."""
        return "vectors.f32" if self.keep_float else CODES_FILE

    @property
    def dtype(self) -> str:
        """The numbers in it."""
        return "<f4" if self.keep_float else "|u1"

    @property
    def columns(self) -> int:
        """How many of them a vector has."""
        return self.dimension if self.keep_float else self._told.bits // 8

    @property
    def size(self) -> int:
        """Bytes of a vector in the database."""
        return self.columns * np.dtype(self.dtype).itemsize

    def pack(self, vectors: Vectors) -> NDArray[Any]:
        """What is written of vectors: one row each."""
        if isinstance(vectors, CodedVectors):
            return vectors.codes
        kept = vectors if self.keep_float else self._told.encode(vectors)
        return np.ascontiguousarray(kept, dtype=self.dtype)

    def unpack(self, numbers: NDArray[Any]) -> Vectors:
        """The vectors of what was written."""
        return numbers if self.keep_float else CodedVectors(numbers, self._told)

    def read(self, blob: bytes) -> Singles:
        """One vector as the database has it."""
        vectors = self.unpack(np.frombuffer(blob, dtype=self.dtype).reshape(1, -1))
        return np.asarray(as_singles(vectors)[0], dtype=np.float32).copy()

    @property
    def _told(self) -> BinaryCodes:
        assert self.how is not None  # `check_codes_given` saw to it
        return self.how


def check_codes_given(settings: Settings, identity: Identity, codes: BinaryCodes | None) -> None:
    """Refuse codes that do not fit the settings of an index that is created.

    Raises:
        ConfigError: naming the setting.
    """
    if codes is None:
        if not settings.keep_float:
            raise ConfigError(
                "an index without floats must be told how vectors become codes; give codes=learn_codes(…), or build it "
                "with `diptych index --bits`."
            )
        return
    if codes.bits != settings.bits or len(codes.centre) != identity.dimension:
        raise ConfigError(
            f"the codes given have {codes.bits} bits of {len(codes.centre)} columns, and the index has {settings.bits} "
            f"bits of {identity.dimension}; give codes of its own vectors."
        )


def write_codes(connection: sqlite3.Connection, codes: BinaryCodes | None) -> None:
    """Keep how vectors become codes in the database, if that is given."""
    if codes is None:
        return
    connection.execute(CODES_TABLE)
    for name in _PARTS:
        table = np.ascontiguousarray(np.atleast_2d(getattr(codes, name)), dtype="<f4")
        numbers = table.tobytes()
        connection.execute(
            "INSERT INTO binary_codes VALUES (?, ?, ?, ?)", (name, table.shape[1], numbers, zlib.crc32(numbers))
        )


def stored_form(connection: sqlite3.Connection, identity: Identity, settings: Settings) -> VectorForm:
    """How the index keeps its vectors.

    Raises:
        ValueError: when what the database has is not what was written.
    """
    known = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'binary_codes'").fetchone()
    parts = {}
    if known is not None:
        for name, columns, numbers, checksum in connection.execute("SELECT * FROM binary_codes"):
            if zlib.crc32(numbers) != checksum:
                raise ValueError("how its vectors become codes is not as it was written")
            parts[name] = np.frombuffer(numbers, dtype="<f4").reshape(-1, columns)
    if set(parts) != set(_PARTS if parts or not settings.keep_float else ()):
        raise ValueError("how its vectors become codes is missing")
    how = BinaryCodes(parts["centre"][0], parts["rotation"], parts["decoder"]) if parts else None
    return VectorForm(identity.dimension, how, settings.keep_float)


class HammingCodes:
    """The codes of a segment's vectors, compared with a query's one by one.

    Attributes:
        codes: one row of bytes each.
        how: makes codes of vectors.
        trained_on: how many vectors there were when it was learned how to make codes.
    """

    def __init__(self, codes: Codes, how: BinaryCodes, trained_on: int, settings: Settings) -> None:
        self.codes, self.how, self.trained_on = codes, how, trained_on
        self._shortlist = settings.shortlist

    def search(self, queries: Singles, k: int, allowed: Booleans | None) -> Integers:
        """Positions of candidates for the k nearest to each query, of those allowed; -1 fills rows up."""
        count = len(self.codes) if allowed is None else int(np.count_nonzero(allowed))
        wanted = min(count, max(self._shortlist, _TIMES * k))
        asked = self.how.encode(queries)
        if allowed is None:
            return _nearest_codes(asked, self.codes, wanted)
        fetched = min(len(self.codes), int(1.2 * wanted * len(self.codes) / max(1, count)) + 16)
        found = _nearest_codes(asked, self.codes, fetched)
        fit = allowed[found]
        if fit.sum(axis=1).min() < wanted and fetched < len(self.codes):
            places = np.flatnonzero(allowed)
            return np.asarray(places[_nearest_codes(asked, self.codes[places], wanted)])
        order = np.argsort(~fit, axis=1, kind="stable")[:, :wanted]  # those allowed first, each part in its order
        kept = np.take_along_axis(fit, order, axis=1)
        return np.where(kept, np.take_along_axis(found, order, axis=1), -1)


_TIMES = 8
"""So many candidates for every result, at least."""


def _nearest_codes(asked: Codes, codes: Codes, count: int) -> Integers:
    return np.asarray(faiss().knn_hamming(asked, np.ascontiguousarray(codes), count)[1])


def write_code_files(
    folder: Path,
    vectors: Singles,
    known: HammingCodes | None,
    kept: Integers | None,
    form: VectorForm,
    settings: Settings,
) -> int:
    """Write the codes of a modality's vectors, and how they are made unless the database says it.

    Codes of before are taken over. They are made anew where vectors have become so many that it should be learned
    again how to make them.

    Args:
        folder: of the modality.
        vectors: all of them, those of before first.
        known: the codes of before.
        kept: which of those are left; None for all.
        form: how the index keeps vectors.
        settings: of the index.

    Returns:
        How many vectors there were when it was learned how to make codes.
    """
    if known is None or (form.how is None and len(vectors) > _MOST_GROWTH * known.trained_on):
        step = max(1, len(vectors) // _LEARNED_FROM)  # rows spread over all of them
        how = form.how or learn_codes(vectors[::step][:_LEARNED_FROM], settings.bits)
        known, kept = HammingCodes(np.empty((0, settings.bits // 8), np.uint8), how, len(vectors), settings), None
    before = known.codes if kept is None else known.codes[kept]
    with (folder / CODES_FILE).open("wb") as file:
        file.write(before.tobytes())
        for start in range(len(before), len(vectors), _AT_ONCE):
            file.write(known.how.encode(vectors[start : start + _AT_ONCE]).tobytes())
    if form.how is None:
        np.vstack([known.how.centre, known.how.rotation.T]).astype("<f4").tofile(folder / PROJECTION_FILE)
    return known.trained_on


def read_projection(folder: Path, form: VectorForm, settings: Settings) -> BinaryCodes:
    """How codes in derived files are made; nothing is decoded, for the vectors are there."""
    numbers = np.fromfile(folder / PROJECTION_FILE, "<f4").reshape(1 + settings.bits, form.dimension)
    nothing = np.empty((settings.bits, 0), np.float32)
    return BinaryCodes(numbers[0], np.ascontiguousarray(numbers[1:].T), nothing)
