"""Score how well an item's own partner is found: recall@k, median rank and mean reciprocal rank.

An item may have several partners, as an image with five captions has; the best-ranked one counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from diptych._core.arrays import Integers
from diptych._core.errors import ConfigError, DataError
from diptych.data.labels import Labels
from diptych.evaluation.measures import best_rank_distribution, expected_reciprocal_rank
from diptych.evaluation.ranking import MEMORY_BUDGET, hit_positions
from diptych.evaluation.similarity import Rows, Similarity

INSTANCE_RANKS = (1, 5, 10)


@dataclass(frozen=True)
class InstanceScores:
    """The rank of every query's best partner.

    Attributes:
        ranks: the best partner's rank, counted from 1, for each query that has a partner.
        recall_ranks: the k of recall@k.
        chance: what a random ranking scores, by the names used in the result.
        query_rows: which of the rows handed in have a partner.
        gallery_size: how many items were ranked.
        queries_without_partner: queries left out because the gallery holds no partner of theirs.
        query_ids: the names of the queries that have a partner, where they were given.
    """

    ranks: Integers
    recall_ranks: tuple[int, ...]
    chance: Mapping[str, float]
    query_rows: Integers
    gallery_size: int
    queries_without_partner: int
    query_ids: tuple[str, ...] | None = None

    def recall(self, k: int) -> float:
        """Return the share of queries with a partner among the first k."""
        return float(np.mean(self.ranks <= k))

    @property
    def median_rank(self) -> float:
        """The median over queries of the best partner's rank."""
        return float(np.median(self.ranks))

    @property
    def mean_reciprocal_rank(self) -> float:
        """The mean over queries of 1 / rank of the best partner."""
        return float(np.mean(1.0 / self.ranks))


def evaluate_instances(
    queries: Rows,
    gallery: Rows,
    query_documents: Sequence[str],
    gallery_documents: Sequence[str],
    *,
    query_ids: Sequence[str] | None = None,
    ranks: Sequence[int] = INSTANCE_RANKS,
    similarity: Similarity = "cosine",
    memory_budget: int = MEMORY_BUDGET,
) -> InstanceScores:
    """Rank the gallery for every query and look for the items of the query's own document.

    Args:
        queries: one row a query.
        gallery: one row an item, in the same space.
        query_documents: the document each query belongs to.
        gallery_documents: the document each item belongs to; the same document means partner.
        query_ids: names of the queries, to tell later which of them belong together.
        ranks: the k of recall@k.
        similarity: "cosine" or "dot".
        memory_budget: bytes for the ranking beside its inputs.
    """
    if any(k < 1 for k in ranks):
        raise ConfigError(f"ranks are {list(ranks)}; each must be at least 1.")
    both = Labels.from_identity([*query_documents, *gallery_documents])  # one list of classes for both sides
    asked = both.take(np.arange(len(query_documents)))
    listed = both.take(np.arange(len(query_documents), len(both)))
    best, partners = np.zeros(len(queries), dtype=np.int64), np.zeros(len(queries), dtype=np.int64)
    chunks = hit_positions(queries, gallery, asked, listed, similarity=similarity, memory_budget=memory_budget)
    for chunk, hits in chunks:
        best[chunk] = hits.positions.min(axis=1, initial=len(gallery)) + 1
        partners[chunk] = hits.counts
    found = np.flatnonzero(partners > 0)
    if not len(found):
        raise DataError("no query has a partner in the gallery; check that both sides name documents alike.")
    return InstanceScores(
        ranks=best[found],
        recall_ranks=tuple(ranks),
        chance=_chance(partners[found], len(gallery), ranks),
        query_rows=found,
        gallery_size=len(gallery),
        queries_without_partner=len(queries) - len(found),
        query_ids=None if query_ids is None else tuple(query_ids[row] for row in found.tolist()),
    )


def _chance(partners: Integers, gallery_size: int, ranks: Sequence[int]) -> dict[str, float]:
    within = best_rank_distribution(partners, gallery_size)
    return {f"recall@{k}": float(within[min(k, gallery_size) - 1]) for k in ranks} | {
        "mean_reciprocal_rank": expected_reciprocal_rank(partners, gallery_size),
        "median_rank": float(np.searchsorted(within, 0.5 - 1e-12) + 1),
    }
