"""Turn the parts of many queries into one vector each, embedding what is alike together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diptych.arrays import Singles
from diptych.errors import DataError, DiptychError
from diptych.index import Index, Item
from diptych.methods.purposes import Purpose
from diptych.search.mixing import dominant, mixed
from diptych.search.queries import Query, QueryPart
from diptych.search.raw_parts import RawParts
from diptych.search.spaces import IndexSpaces


@dataclass(frozen=True)
class Direction:
    """A query as the index sees it.

    Attributes:
        vector: of length 1.
        modality: of the part with the largest weight; None if the query only leads away from things.
        by_item: whether that part is an item of the index.
        named: the items it was made of, which are no answer.
        purpose: the space the vector lies in, with zeros in the columns of the other; None where there is but one.
    """

    vector: Singles
    modality: str | None
    by_item: bool
    named: frozenset[str]
    purpose: Purpose | None = None


@dataclass
class _Part:
    """One part on its way."""

    query: int
    place: int
    modality: str
    content: Any


def directions(
    index: Index, raw: RawParts, spaces: IndexSpaces, queries: Sequence[Query]
) -> list[Direction | DiptychError]:
    """The direction of each query, or what is wrong with it; a bad query spoils no other."""
    results: list[Direction | DiptychError | None] = [None] * len(queries)
    rows: list[list[tuple[str, Singles] | None]] = [[None] * len(query.parts) for query in queries]
    waiting: list[_Part] = []
    items = _items(index, queries)
    for number, query in enumerate(queries):
        try:
            query.check()
            for place, part in enumerate(query.parts):
                if part.kind == "item":
                    rows[number][place] = _of_item(items, part)
                else:
                    modality = raw.modality_of(part.kind)
                    waiting.append(_Part(number, place, modality, raw.read(part.kind, part.value)))
        except DiptychError as error:
            results[number] = error
    _embed(raw, [part for part in waiting if results[part.query] is None], rows, results)
    for number, query in enumerate(queries):
        if results[number] is None:
            results[number] = _direction(query, rows[number], spaces)
    return [result for result in results if result is not None]


def _embed(
    raw: RawParts,
    waiting: Sequence[_Part],
    rows: list[list[tuple[str, Singles] | None]],
    results: list[Direction | DiptychError | None],
) -> None:
    """Embed all parts of a modality in one go."""
    for modality in dict.fromkeys(part.modality for part in waiting):
        alike = [part for part in waiting if part.modality == modality]
        try:
            codes, problems = raw.embed(modality, [part.content for part in alike])
        except DiptychError as error:
            for part in alike:
                results[part.query] = error
            continue
        for part, code, problem in zip(alike, codes, problems, strict=True):
            rows[part.query][part.place] = modality, code
            if problem is not None:
                results[part.query] = problem


def _direction(
    query: Query, rows: Sequence[tuple[str, Singles] | None], spaces: IndexSpaces
) -> Direction | DiptychError:
    present = [row for row in rows if row is not None]
    weights = [part.weight for part in query.parts]
    try:
        purpose = spaces.settle(query.purpose)
        codes = np.array([spaces.narrowed(code, purpose) for _, code in present])
        if not codes.any(axis=1).all():
            raise DataError(f"a part of the query says nothing in the {purpose} space; try another purpose.")
        vector = mixed(codes, weights)
    except DiptychError as error:
        return error
    leading = dominant(weights)
    named = frozenset(str(part.value) for part in query.parts if part.kind == "item")
    if leading is None:
        return Direction(vector, None, False, named, purpose)
    return Direction(vector, present[leading][0], query.parts[leading].kind == "item", named, purpose)


def _items(index: Index, queries: Sequence[Query]) -> dict[str, Item | None]:
    """All items that queries name, read at once."""
    parts = (part for query in queries for part in query.parts if part.kind == "item")
    ids = list({part.value for part in parts if isinstance(part.value, str)})
    return dict(zip(ids, index.get(ids), strict=True)) if ids else {}


def _of_item(items: dict[str, Item | None], part: QueryPart) -> tuple[str, Singles]:
    found = items.get(part.value) if isinstance(part.value, str) else None
    if found is None:
        raise DataError(f"there is no item {part.value!r:.200} in the index.")
    return found.modality, found.vector
