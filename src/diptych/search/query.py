"""A query: its parts and options, checked, and turned into one vector with those that arrive together."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from diptych._core.arrays import Singles
from diptych._core.errors import ConfigError, DataError, DiptychError
from diptych.index import Index, Item
from diptych.media import KINDS
from diptych.methods.purposes import PURPOSES, Purpose
from diptych.search.entries import document_of
from diptych.search.raw_embedder import RawEmbedder
from diptych.search.spaces import IndexSpaces
from diptych.search.texts import TextsPlan

PART_KINDS = ("text", *KINDS, "item")
LARGEST_WEIGHT = 1e6

Mode = Literal["hybrid", "vector", "lexical"]
MODES: tuple[Mode, ...] = ("hybrid", "vector", "lexical")
Sort = Literal["score", "name", "date"]
SORTS: tuple[Sort, ...] = ("score", "name", "date")
MediaValue = str | bytes | Path | NDArray[Any]
"""An image or a sound: a path, the bytes of a file, or what it is decoded to."""

EvidenceSide = Literal["words", "image", "audio", "text"]


@dataclass(frozen=True, eq=False)
class QueryPart:
    """One part of a query.

    Attributes:
        kind: what `value` is: "text", a kind of media such as "image" or "audio", or "item".
        value: a text; a file as its bytes, as a path or decoded; the id of an item of the index.
        weight: a negative one moves results away from it.
    """

    kind: str
    value: MediaValue
    weight: float = 1.0


def query_parts(
    parts: Sequence[QueryPart] = (), *, text: str | None = None, **files: MediaValue | None
) -> list[QueryPart]:
    """The parts of a query: those given, then a text, and files by their kind of media (`image=…`, `audio=…`).

    Raises:
        ConfigError: for a bare string, which could be a text or the path of an image.
    """
    if isinstance(parts, str):
        raise ConfigError(f"the query is the string {parts!r:.60}; say what it is: search(text=…) or search(image=…).")
    found = list(parts)
    if text is not None:
        found.append(QueryPart("text", text))
    for kind, value in files.items():
        if value is not None:
            found.append(QueryPart(kind, Path(value) if isinstance(value, str) else value))
    return found


@dataclass(frozen=True)
class Query:
    """One question, whole.

    Attributes:
        parts: what to look for; items named here are left out of the answer.
        into: the modality whose entries are the hits; by default hits are whole items.
        k: how many results.
        offset: skip this many of the best hits.
        where: only items that meet this condition.
        min_probability: only items that belong with at least this probability.
        purpose: what the query looks for, where the index has several spaces: things of its kind ("class"), the very
            item it describes ("partner"), or anything alike ("both"); "auto" takes
            "partner" for words that ask for items, and "both" otherwise.
        mode: by which evidence typed words are ranked: embeddings and matching words ("hybrid"), embeddings alone
            ("vector"), matching words alone ("lexical").
        correct: whether misspelled words are corrected where the query as typed finds nothing close, or all are.
        sort: "score", or "name" or "date" (newest first) to sort the best 1,000 results.
    """

    parts: tuple[QueryPart, ...]
    into: str | None = None
    k: int = 10
    offset: int = 0
    where: str | None = None
    min_probability: float = 0.0
    purpose: Purpose = "auto"
    mode: Mode = "hybrid"
    correct: bool = True
    sort: Sort = "score"

    def check(self) -> None:
        """Refuse what no query can be; texts, images and ids are looked at when they are embedded."""
        if not self.parts:
            raise ConfigError("the query is empty; give a text, an image, a sound or an item.")
        for part in self.parts:
            if part.kind not in PART_KINDS:
                raise ConfigError(f"a query's part is of kind {part.kind!r}; choose one of {', '.join(PART_KINDS)}.")
            if not abs(part.weight) <= LARGEST_WEIGHT:
                raise ConfigError(
                    f"a weight is {part.weight}; it must lie between -{LARGEST_WEIGHT:g} and its opposite."
                )
        if self.k < 1:
            raise ConfigError(f"k is {self.k}; ask for at least one result.")
        if self.offset < 0:
            raise ConfigError(f"offset is {self.offset}; it must be zero or positive.")
        if not 0 <= self.min_probability <= 1:
            raise ConfigError(f"min_probability is {self.min_probability}; it must lie between 0 and 1.")
        if self.purpose not in PURPOSES:
            raise ConfigError(f"the purpose is {self.purpose!r:.60}; choose one of {', '.join(PURPOSES)}.")
        if self.mode not in MODES:
            raise ConfigError(f"the mode is {self.mode!r:.60}; choose one of {', '.join(MODES)}.")
        if self.sort not in SORTS:
            raise ConfigError(f"the results are to be sorted by {self.sort!r:.60}; choose one of {', '.join(SORTS)}.")


_NOTHING = 1e-6


@dataclass(frozen=True)
class Direction:
    """A query as the index sees it.

    Attributes:
        vector: of length 1; None where the model can make nothing of any part, as of words it does not know.
        modality: of the part with the largest weight; None if the query only leads away from things.
        by_item: whether that part is an item of the index.
        named: the entries it was made of, which are no answer.
        documents: the documents of these.
        purpose: the space the vector lies in, with zeros in the columns of the other; None where there is but one.
        words: the typed words it asks for, those of all texts with a positive weight.
        text_vector: the same texts as the pretrained text encoder sees them; None where there is none.
        alone: whether it is made of typed words alone.
    """

    vector: Singles | None
    modality: str | None
    by_item: bool
    named: frozenset[str]
    documents: frozenset[str]
    purpose: str | None = None
    words: str = ""
    text_vector: Singles | None = None
    alone: bool = False

    def narrowed(self, spaces: IndexSpaces, purpose: str | None) -> "Direction":
        """The same query for one of the purposes of an index."""
        vector = None if self.vector is None else spaces.narrowed(self.vector, purpose)
        if vector is not None and not vector.any():
            vector = None
        return replace(self, vector=vector, purpose=purpose)


@dataclass
class _Part:
    """One part on its way; without a vector where the model can make nothing of it."""

    query: int
    weight: float
    kind: str
    modality: str
    content: Any
    vector: Singles | None = None
    text_row: Singles | None = None
    document: str | None = None


def directions(
    index: Index, raw: RawEmbedder, spaces: IndexSpaces, texts: TextsPlan | None, queries: Sequence[Query]
) -> list[Direction | DiptychError]:
    """The direction of each query, or what is wrong with it; a bad query spoils no other."""
    failed: dict[int, DiptychError] = {}
    parts: list[list[_Part]] = [[] for _ in queries]
    items = _items(index, queries)
    for number, query in enumerate(queries):
        try:
            query.check()
            parts[number] = [_read(number, part, items, raw) for part in query.parts]
        except DiptychError as error:
            failed[number] = error
    waiting = [part for number, of in enumerate(parts) if number not in failed for part in of if part.kind != "item"]
    _embed(raw, texts, waiting, failed)
    results: list[Direction | DiptychError] = []
    for number, query in enumerate(queries):
        try:
            results.append(failed[number] if number in failed else _direction(query, parts[number], spaces))
        except DiptychError as error:
            results.append(error)
    return results


def mixed(rows: Sequence[Singles], weights: Sequence[float]) -> Singles:
    """The direction Σ w_i · x_i / ‖x_i‖, of length 1.

    Args:
        rows: one vector a part.
        weights: one number a part.

    Raises:
        ConfigError: when the parts cancel each other, or nothing has a weight.
    """
    if not any(weights):
        raise ConfigError("every weight of the query is 0; give at least one part another weight.")
    # The lengths by a product with itself: `norm` takes longer to decide what it is asked than to do it.
    if len(rows) == 1:  # as most queries have
        one = rows[0].astype(np.float64)
        return (one * (math.copysign(1.0, weights[0]) / math.sqrt(one @ one))).astype(np.float32)
    wide = np.array(rows, np.float64)
    total = (np.asarray(weights) / np.sqrt(np.vecdot(wide, wide))) @ wide
    length = math.sqrt(total @ total)
    if length <= _NOTHING * sum(map(abs, weights)):
        raise ConfigError("the parts of the query cancel each other, so it has no direction; change a weight.")
    return np.asarray(total / length, dtype=np.float32)


def _read(number: int, part: QueryPart, items: dict[str, Item | None], raw: RawEmbedder) -> _Part:
    if part.kind == "item":
        found = items.get(part.value) if isinstance(part.value, str) else None
        if found is None:
            raise DataError(f"there is no item {part.value!r:.200} in the index.")
        document = document_of(found.id, found.metadata)
        return _Part(number, part.weight, "item", found.modality, found.id, found.vector, document=document)
    content = raw.read(part.kind, part.value)
    return _Part(number, part.weight, part.kind, raw.modality_of(part.kind), content)


def _embed(
    raw: RawEmbedder, texts: TextsPlan | None, waiting: Sequence[_Part], failed: dict[int, DiptychError]
) -> None:
    """Embed all parts of a modality in one go; words the model does not know stay without a vector."""
    for modality in dict.fromkeys(part.modality for part in waiting):
        alike = [part for part in waiting if part.modality == modality]
        try:
            embedded = raw.embed(modality, [part.content for part in alike])
        except DiptychError as error:
            failed.update(dict.fromkeys((part.query for part in alike), error))
            continue
        encoded = texts is not None and texts.encoded and texts.modality == modality
        rows = texts.rows(embedded.features) if encoded and texts is not None else None
        for place, part in enumerate(alike):
            problem = embedded.problems[place]
            if problem is None:
                part.vector = embedded.vectors[place]
                part.text_row = None if rows is None else rows[place]
            elif part.kind != "text":
                failed[part.query] = problem


def _direction(query: Query, parts: Sequence[_Part], spaces: IndexSpaces) -> Direction:
    texts = [part for part in parts if part.kind == "text"]
    wanted = [part for part in texts if part.weight > 0]
    alone = len(texts) == len(parts) and bool(wanted)
    purpose = spaces.settle(query.purpose)
    present = [part for part in parts if part.vector is not None]
    vector = _mixture(present, spaces, purpose) if present else None
    leading = max(parts, key=lambda part: part.weight)
    return Direction(
        vector,
        leading.modality if leading.weight > 0 else None,
        leading.kind == "item",
        frozenset(part.content for part in parts if part.kind == "item"),
        frozenset(part.document for part in parts if part.document is not None),
        purpose,
        " ".join(str(part.content).strip() for part in wanted),
        _text_mixture(texts) if wanted else None,
        alone,
    )


def _mixture(present: Sequence[_Part], spaces: IndexSpaces, purpose: Purpose | None) -> Singles:
    rows = [spaces.narrowed(part.vector, purpose) for part in present if part.vector is not None]
    if not all(row.any() for row in rows):
        raise DataError(f"a part of the query has no content in the {purpose} space; try another purpose.")
    return mixed(rows, [part.weight for part in present])


def _text_mixture(texts: Sequence[_Part]) -> Singles | None:
    """The texts of a query, mixed as the text encoder sees them; None where it sees none of those asked for."""
    seen = [part for part in texts if part.text_row is not None]
    if not any(part.weight > 0 for part in seen):
        return None
    try:
        return mixed([part.text_row for part in seen if part.text_row is not None], [part.weight for part in seen])
    except ConfigError:
        return None


def _items(index: Index, queries: Sequence[Query]) -> dict[str, Item | None]:
    """All items that queries name, read at once."""
    parts = (part for query in queries for part in query.parts if part.kind == "item")
    ids = list({part.value for part in parts if isinstance(part.value, str)})
    return dict(zip(ids, index.get(ids), strict=True)) if ids else {}
