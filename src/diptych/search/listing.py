"""Lists of entries for queries, each ranked by one kind of evidence, and whether anything on them answers the query.

The nearness of a query is the mean of the best text's cosine and that of the best five, plus half of the best BM25
(between 0 and 1). A query whose words all stand in one text is always answered. The limit lies below what all but a few
phrases of the index's own texts reach.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diptych._core.arrays import Floats
from diptych.index import EmbedderId, Hits, Index, parse
from diptych.index.filters import matches
from diptych.index.items import Item
from diptych.media import KINDS
from diptych.search.entries import document_of, likely_entries
from diptych.search.probability import sigmoid
from diptych.search.query import Direction, EvidenceSide
from diptych.search.spaces import IndexSpaces
from diptych.search.texts import Texts

IMAGE, TEXT, WORDS = 0, 1, 2
EVIDENCE: tuple[EvidenceSide, ...] = ("image", "text", "words")
_LOOKED_AT = 5
"""Texts in which all words of a query are looked for."""
_LONGEST_NAME = 200


@dataclass(frozen=True)
class Listed:
    """The best entries for one query by one kind of evidence.

    Attributes:
        ids: of the entries, best first.
        documents: which document each belongs to.
        items: which item each is a side of.
        modalities: what each is.
        scores: cosines, or BM25 between 0 and 1.
        complete: whether there are no others.
        holds_all: whether one of the first texts holds all words of the query that tell anything.
        metadata: of the entries in the main index; None if they were found elsewhere.
        cosines: with the query in the shared space, likewise.
    """

    ids: Sequence[str]
    documents: Sequence[str]
    items: Sequence[str]
    modalities: Sequence[str]
    scores: Floats
    complete: bool
    holds_all: bool = False
    metadata: Sequence[Mapping[str, Any]] | None = None
    cosines: Floats | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def without(self, document: str) -> "Listed":
        """The list without the entries of a document."""
        kept = [place for place, of in enumerate(self.documents) if of != document]
        if len(kept) == len(self):
            return self
        ids, documents, items, modalities = (
            [column[place] for place in kept] for column in (self.ids, self.documents, self.items, self.modalities)
        )
        return Listed(ids, documents, items, modalities, self.scores[kept], self.complete)

    def headed_by(self, item: Item, document_of: Callable[[str, Mapping[str, Any]], str]) -> "Listed":
        """The list with an item before all others, as if its text held all that was typed."""
        document = document_of(item.id, item.metadata)
        rest = self.without(document)
        return Listed(
            [item.id, *rest.ids],
            [document, *rest.documents],
            [str(item.metadata.get("item") or item.id), *rest.items],
            [item.modality, *rest.modalities],
            np.concatenate([[1.0], rest.scores]),
            self.complete,
            holds_all=True,
        )

    def rescored(self, scores: Floats) -> "Listed":
        """The same entries in the same order with other scores."""
        return replace(self, scores=scores)

    @classmethod
    def nothing(cls) -> "Listed":
        """An empty list."""
        return cls((), (), (), (), np.zeros(0), True)


@dataclass(frozen=True)
class Lister:
    """Asks an index and its texts for lists.

    Attributes:
        index: the main index.
        texts: its texts; None where there are none.
        embedder: who makes the queries.
        spaces: of the main index's vectors.
        apart: whether every entry is a document of its own.
    """

    index: Index
    texts: Texts | None
    embedder: EmbedderId
    spaces: IndexSpaces
    apart: bool = False

    def document_of(self, id: str, metadata: Mapping[str, Any]) -> str:
        """The document an entry is counted to."""
        return id if self.apart else document_of(id, metadata)

    def by_vector(
        self, asked: Sequence[Direction], depth: int, modality: str, where: str | None = None
    ) -> list[Listed]:
        """The nearest entries of a modality in the shared space; all queries have the same purpose."""
        placed = [(place, one.vector) for place, one in enumerate(asked) if one.vector is not None]
        if not placed:
            return [Listed.nothing()] * len(asked)
        purpose = asked[0].purpose
        found = self.index.search(
            np.array([vector for _, vector in placed]),
            depth,
            where=where,
            modality=modality,
            with_metadata=True,
            embedder=self.embedder,
            exact=self.spaces.narrows(purpose),
        )
        results = [Listed.nothing()] * len(asked)
        for (place, _), one in zip(placed, found, strict=True):
            results[place] = self._listed(one, depth, self.spaces.share(purpose), main=True)
        return results

    def by_text(self, asked: Sequence[Direction], depth: int, where: str | None = None) -> list[Listed]:
        """The texts nearest to the typed words: by the text encoder, or in the shared space where there is none."""
        if self.texts is None:
            return [Listed.nothing()] * len(asked)
        if not self.texts.plan.encoded:
            return self.by_vector(asked, depth, self.texts.plan.modality, where)
        placed = [(place, one.text_vector) for place, one in enumerate(asked) if one.text_vector is not None]
        if not placed:
            return [Listed.nothing()] * len(asked)
        rows = np.array([vector for _, vector in placed])
        found = self.texts.index.search(rows, depth, where=where, with_metadata=True)
        results = [Listed.nothing()] * len(asked)
        for (place, _), one in zip(placed, found, strict=True):
            results[place] = self._listed(one, depth, 1.0)
        return results

    def by_words(self, asked: Sequence[Direction], depth: int, where: str | None = None) -> list[Listed]:
        """The texts that hold typed words, by BM25 divided by the most it could be; first the item called so."""
        placed = [(place, one.words) for place, one in enumerate(asked) if one.words]
        if self.texts is None or not placed:
            return [Listed.nothing()] * len(asked)
        words = [typed for _, typed in placed]
        found = self.texts.index.search_words(words, depth, where=where, with_metadata=True)
        most = self.texts.index.best_word_scores(words)
        results = [Listed.nothing()] * len(asked)
        for (place, typed), one, best in zip(placed, found, most, strict=True):
            first = [str(about.get("text", "")) for about in (one.metadata or ())[:_LOOKED_AT]]
            holds_all = self.texts.hold_all(typed, first).any() if first else False
            listed = replace(self._listed(one, depth, best), holds_all=bool(holds_all))
            called = self._called(typed, where)
            results[place] = listed if called is None else listed.headed_by(called, self.document_of)
        return results

    def _called(self, typed: str, where: str | None) -> Item | None:
        """The item whose id was typed, such as a part number; ids without a digit are words like others."""
        name = typed.strip()
        if self.texts is None or not 0 < len(name) <= _LONGEST_NAME or not any(sign.isdigit() for sign in name):
            return None
        modalities = (*KINDS, self.texts.plan.modality)
        ids = [id for each in dict.fromkeys((name, name.upper())) for id in likely_entries(each, (), modalities)]
        condition = None if where is None else parse(where)
        for item in self.index.get(ids):
            if item is not None and (condition is None or matches(condition, item.id, item.modality, item.metadata)):
                return item
        return None

    def _listed(self, found: Hits, depth: int, scale: float, *, main: bool = False) -> Listed:
        known = found.metadata or ()
        scores = np.asarray(found.scores, np.float64) / (scale if scale > 0 else 1.0)
        return Listed(
            found.ids,
            found.ids if self.apart else list(map(document_of, found.ids, known)),
            [str(about.get("item") or id) for id, about in zip(found.ids, known, strict=True)],
            found.modalities,
            scores,
            len(found) < depth,
            metadata=found.metadata if main else None,
            cosines=scores if main else None,
        )


_BEST = 5
_BM25_WEIGHT = 0.5
_OWN_QUANTILE, _OWN_MARGIN = 0.02, 0.8
"""What people type is further from texts than phrases out of them; chosen on judged queries of three collections."""
_WIDTH = 0.03


@dataclass(frozen=True)
class Presence:
    """How nearness tells whether anything answers a query.

    Attributes:
        limit: of the nearness, below which nothing is close enough.
    """

    limit: float

    def __call__(self, lists: Sequence[tuple[int, Listed]]) -> float:
        """How credible it is that a query with these lists is answered: between 0 and 1, below ½ nothing is close."""
        if any(listed.holds_all for kind, listed in lists if kind == WORDS):
            return 1.0
        return float(sigmoid(np.array((nearness(lists) - self.limit) / _WIDTH)))

    def to_json(self) -> dict[str, Any]:
        """The limit."""
        return {"limit": self.limit}

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> "Presence":
        """What `to_json` wrote."""
        return cls(float(written["limit"]))


def nearness(lists: Sequence[tuple[int, Listed]]) -> float:
    """How near the texts of an index come to a query."""
    texts = [listed.scores[:_BEST] for kind, listed in lists if kind == TEXT and len(listed)]
    words = [float(listed.scores[0]) for kind, listed in lists if kind == WORDS and len(listed)]
    near = max((0.5 * float(scores[0]) + 0.5 * float(np.mean(scores)) for scores in texts), default=0.0)
    return near + _BM25_WEIGHT * max(words, default=0.0)


def fit_presence(own: Sequence[float]) -> Presence | None:
    """Learn the limit of the nearness of queries that the index answers; None where there are none.

    Args:
        own: the nearness of phrases of the index's texts, each without the document it is from, that others may answer.
    """
    return Presence(_OWN_MARGIN * float(np.quantile(own, _OWN_QUANTILE))) if len(own) else None
