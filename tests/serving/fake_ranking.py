"""How the fake searcher ranks: by vectors, by words or by both, so simply that the right answer can be worked out."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

from diptych.search import Hit, Query, Why

_WORD = re.compile(r"\w+")


def words_of(text: str) -> list[str]:
    return _WORD.findall(text.lower())


@dataclass
class Side:
    """One entry of an item, and how near the query it is."""

    id: str
    modality: str
    cosine: float
    metadata: dict[str, Any]


@dataclass
class Found:
    """One item with the sides that were looked at."""

    item: str
    sides: dict[str, Side] = field(default_factory=dict)

    @property
    def main(self) -> Side:
        return self.sides.get("image") or next(iter(self.sides.values()))


def ranked(query: Query, sides: Sequence[Side], entries: Mapping[str, dict[str, str]]) -> list[Hit]:
    """The hits of a query, best first: items, or the entries of the modality it names."""
    typed = words_of(" ".join(str(part.value) for part in query.parts if part.kind == "text"))
    found: dict[str, Found] = {}
    for side in sides:
        key = side.id if query.into else side.metadata["item"]
        found.setdefault(key, Found(side.metadata["item"])).sides[side.modality] = side
    mode = query.mode if typed else "vector"
    hits = [_hit(one, typed, mode, entries.get(one.item, {})) for one in found.values()]
    if mode == "lexical":
        hits = [hit for hit in hits if hit.why.words]
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))


def _hit(found: Found, typed: list[str], mode: str, entries: dict[str, str]) -> Hit:
    cosines = {name: side.cosine for name, side in found.sides.items()}
    main = found.main
    there = set(words_of(main.metadata.get("text", "")))
    matched = tuple(word for word in dict.fromkeys(typed) if word in there) if mode != "vector" else ()
    share = len(matched) / len(set(typed)) if typed else 0.0
    near = max(cosines.values())
    score = {"vector": near, "lexical": share, "hybrid": 0.8 * near + 0.2 * share}[mode]
    nearest = max(cosines, key=lambda name: cosines[name])
    side = "words" if matched and share >= near else nearest
    why = Why(matched, image=cosines.get("image"), text=cosines.get("text"), bm25=share or None, side=side)
    if mode == "lexical":
        why = replace(why, image=None, text=None)
    metadata = dict(main.metadata)
    chance = 1 / (1 + math.exp(-14 * (near - 0.75)))
    return Hit(main.id, main.modality, score, chance, metadata, found.item, dict(entries), why)


def corrected(typed: str, known: Sequence[str]) -> tuple[tuple[str, ...], str | None]:
    """The typed words nobody knows, and the query with near ones in their place."""
    tokens = words_of(typed)
    unknown = tuple(dict.fromkeys(word for word in tokens if word not in known))
    near = {word: get_close_matches(word, known, 1, 0.6) for word in unknown}
    if not any(near.values()):
        return unknown, None
    return unknown, " ".join((near.get(word) or [word])[0] for word in tokens)
