"""What the engines that speak to a server share: names, the stored head, the order of results, binary codes.

A server's graph proposes candidates by rounded scores and in any order where scores are equal. Asking for some more
than wanted, until the last one is clearly worse than the last one wanted, makes the order ours.
"""

import hashlib
import json
import re
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from diptych._core.arrays import Singles
from diptych._core.errors import ConfigError, DataError
from diptych.index.filters import And, Comparison, Condition, Key
from diptych.index.identity import EngineSettings, Identity
from diptych.index.items import Hits, Metadata
from diptych.methods.binary_codes import BinaryCodes

PREFIX = "diptych_"
_PLAIN = re.compile(r"[a-z][a-z0-9_]{0,39}")


def stored_name(place: Path | str) -> str:
    """The table or collection of an index: its own name if that is plain, else its letters and a checksum of it.

    Servers accept few characters and 63 bytes at most; two names that differ are stored under names that differ.

    >>> stored_name("photos")
    'diptych_photos'
    >>> stored_name("Grandma's Photos")
    'diptych_grandma_s_photos_d8dbefb59564'
    """
    name = str(place)
    if not name:
        raise ConfigError("the name of the index is empty; give it one, such as photos.")
    if _PLAIN.fullmatch(name) and not _looks_shortened(name):
        return PREFIX + name
    letters = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[-30:].strip("_") or "index"
    return f"{PREFIX}{letters}_{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def _looks_shortened(name: str) -> bool:
    """A plain name that could be taken for another one's shortened form gets a checksum, too."""
    return re.search(r"_[0-9a-f]{12}$", name) is not None


FORMAT = 1
"""Of head and layout; an engine whose layout changes alone will need a number of its own."""
Settings = TypeVar("Settings", bound=EngineSettings)


def write_head(identity: Identity, settings: EngineSettings) -> str:
    """Return the text that a server stores with the index."""
    return json.dumps({"diptych": FORMAT, "identity": identity.to_json(), "settings": asdict(settings)})


def parse_head(text: str | None, kind: type[Settings], name: str, server: str) -> tuple[Identity, Settings]:
    """Read a stored head; refuse a text of somebody else or of another format."""
    head: Any = {}
    with suppress(json.JSONDecodeError):  # somebody else's
        head = json.loads(text or "{}")
    if not isinstance(head, dict) or "diptych" not in head:
        raise DataError(
            f"there is no index stored as {name} in {server};"
            " run `diptych index MODEL DATASET --out INDEX` to make one."
        )
    if head["diptych"] != FORMAT:
        raise DataError(
            f"{name} is of format {head['diptych']}, this version reads {FORMAT};"
            " run `diptych index MODEL DATASET --out INDEX` to build it again."
        )
    return Identity.from_json(head["identity"]), kind(**head["settings"])


def narrowed(condition: Condition | None, modality: str | None) -> Condition | None:
    """Join a search's condition and its modality; None where neither was given."""
    if modality is None:
        return condition
    alone = Comparison(Key(("modality",)), "=", modality)
    return And((alone, condition)) if condition else alone


SPARE = 16
"""Candidates asked for beyond those wanted."""
_GROWTH = 4
_CLEARLY_WORSE = 1e-5
"""More than what single precision gets wrong about the cosine of two unit vectors."""


@dataclass(frozen=True)
class Candidates:
    """Items that a server proposes for one query.

    Attributes:
        ids: which.
        modalities: what each one is.
        vectors: the stored vectors, one a row.
        metadata: what is known of each one; empty if it was not asked for.
        all_there_are: whether no other item fits.
    """

    ids: list[str]
    modalities: list[str]
    vectors: Singles
    metadata: list[Metadata] = field(default_factory=list)
    all_there_are: bool = False

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, order: list[int]) -> "Candidates":
        """Some of them, in this order."""
        return Candidates(
            [self.ids[place] for place in order],
            [self.modalities[place] for place in order],
            self.vectors[order],
            [self.metadata[place] for place in order] if self.metadata else [],
            self.all_there_are,
        )


Fetch = Callable[[int, bool], Candidates]
"""Ask for so many candidates; the second argument demands exact search, which must know when there are no more."""


def settled(query: Singles, wanted: int, fetch: Fetch, first: Candidates | None = None) -> tuple[Candidates, Singles]:
    """The best candidates in their order with their scores: at least as many as wanted if so many exist."""
    limit, exact = wanted + SPARE, False
    proposed = first if first is not None else fetch(limit, exact)
    while True:
        if len(proposed) >= limit or proposed.all_there_are:
            ordered, scores = in_order(proposed, query)
            if proposed.all_there_are or scores[wanted - 1] - scores[-1] > _CLEARLY_WORSE:
                return ordered, scores
            limit *= _GROWTH
        elif exact:
            return in_order(proposed, query)
        else:
            exact = True  # a graph may give fewer than there are
        proposed = fetch(limit, exact)


def in_order(candidates: Candidates, query: Singles) -> tuple[Candidates, Singles]:
    """Candidates by exact cosine, equal ones by id.

    Every product is summed by itself in double precision: equal vectors get equal scores.
    """
    scores = np.asarray(np.vecdot(candidates.vectors.astype(np.float64), query.astype(np.float64)), np.float32)
    ranks = scores.tolist()
    order = sorted(range(len(candidates)), key=lambda place: (-ranks[place], candidates.ids[place]))
    return candidates.take(order), scores[order]


def page(candidates: Candidates, scores: Singles, k: int, offset: int, with_metadata: bool) -> Hits:
    """The part of the order that was asked for."""
    part = slice(offset, offset + k)
    return Hits(
        tuple(candidates.ids[part]),
        scores[part],
        tuple(candidates.modalities[part]),
        tuple(candidates.metadata[part]) if with_metadata else None,
    )


_PARTS = ("centre", "rotation", "decoder")


def check_codes(codes: BinaryCodes | None, bits: int, identity: Identity) -> None:
    """Refuse codes that an index cannot have, or that are missing.

    Raises:
        ConfigError: saying what to give.
    """
    if bits and codes is None:
        raise ConfigError(
            "an index with bits on a server must be told how vectors become codes; give codes=learn_codes(…), or "
            "build it with `diptych index --bits`."
        )
    if codes is not None and (codes.bits != bits or len(codes.centre) != identity.dimension):
        raise ConfigError(
            f"the codes given have {codes.bits} bits of {len(codes.centre)} columns, and the index has {bits} bits of "
            f"{identity.dimension}; give codes of its own vectors."
        )


def codes_to_rows(codes: BinaryCodes) -> list[tuple[str, int, bytes, int]]:
    """How vectors become codes, as rows of a table: what, its columns, its numbers and their checksum."""
    tables = {part: np.ascontiguousarray(np.atleast_2d(getattr(codes, part)), dtype="<f4") for part in _PARTS}
    return [(part, rows.shape[1], rows.tobytes(), zlib.crc32(rows.tobytes())) for part, rows in tables.items()]


def codes_from_rows(rows: Sequence[tuple[str, int, bytes, int]], bits: int, name: str) -> BinaryCodes:
    """Read what `codes_to_rows` wrote.

    Raises:
        DataError: when it is not there as it was written.
    """
    parts = {
        part: np.frombuffer(numbers, "<f4").reshape(-1, columns)
        for part, columns, numbers, checksum in rows
        if zlib.crc32(numbers) == checksum
    }
    if set(parts) != set(_PARTS) or parts["rotation"].shape[1] != bits:
        raise DataError(
            f"how the vectors of {name} become codes is not as it was written;"
            " run `diptych index MODEL DATASET --out INDEX` to build the index again."
        )
    return BinaryCodes(parts["centre"][0], parts["rotation"], parts["decoder"])
