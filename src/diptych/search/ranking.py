"""Rank documents by the lists that their entries are on.

A pool of the best by each kind of evidence is ranked by the fused score. Its depth is the same for every page, so that
pages never repeat or skip a document. What comes after the pool is ranked by the best of its lists.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from diptych._core.arrays import Booleans, Floats
from diptych.search.fusion import EVIDENCE, WORDS, Fusion, filled, word_evidence
from diptych.search.listing import Listed

POOL = 200
"""How many entries of each list are ranked together."""


@dataclass
class Ranked:
    """One document in a ranking.

    Attributes:
        document: which one.
        score: what it is ranked by.
        entries: its entries that were listed, the best of each modality.
        items: the items that these are sides of.
        evidence: what is known of it: the cosines with image and text, and BM25; NaN where nothing is.
        side: the kind of evidence that counts most.
    """

    document: str
    score: float
    entries: dict[str, str] = field(default_factory=dict)
    items: dict[str, str] = field(default_factory=dict)
    evidence: list[float] = field(default_factory=lambda: [np.nan] * len(EVIDENCE))
    side: int = 0


Line = Callable[[Floats], Floats]
"""From a list's scores to values that are comparable between lists; never falls."""


def gathered(lists: Sequence[tuple[int, Listed]]) -> list[Ranked]:
    """The documents of several lists, each with its best evidence of each kind; not in order."""
    found: dict[str, Ranked] = {}
    for kind, listed in lists:
        columns = zip(
            listed.documents, listed.ids, listed.items, listed.modalities, listed.scores.tolist(), strict=True
        )
        for document, id, item, modality, score in columns:
            one = found.get(document)
            if one is None:
                one = found[document] = Ranked(document, 0.0)
            if not one.evidence[kind] >= score:  # a list is best first, but there may be several of a kind
                one.evidence[kind] = score
                if kind != WORDS or modality not in one.entries:
                    one.entries[modality], one.items[modality] = id, item
    return list(found.values())


def fused(
    lists: Sequence[tuple[int, Listed]],
    fusion: Fusion,
    used: Booleans,
    excluded: Collection[str] = (),
    *,
    names: bool = False,
) -> tuple[list[Ranked], Floats]:
    """The documents of the pool, best first, and the evidence that stands in for what an item lacks.

    Args:
        lists: each with its kind of evidence.
        fusion: makes one score of the evidence.
        used: which kinds of evidence count.
        excluded: documents that are no answer.
        names: whether the query holds a number or a part number.
    """
    documents = [one for one in gathered(lists) if one.document not in excluded]
    evidence, floors = fusable(lists, documents, fusion.typical, names=names)
    if not documents:
        return [], floors
    scores = fusion.scores(evidence, used)
    sides = np.argmax(np.where(used, fusion.contributions(evidence, floors), -np.inf), axis=1)
    for one, score, side in zip(documents, scores.tolist(), sides.tolist(), strict=True):
        one.score, one.side = score, side
    documents.sort(key=lambda one: (-one.score, one.document))
    return documents, floors


def fusable(
    lists: Sequence[tuple[int, Listed]], documents: Sequence[Ranked], typical: Sequence[float], *, names: bool
) -> tuple[Floats, Floats]:
    """The evidence of documents without gaps, as the fusion takes it, and what stands in for gaps."""
    floors = floors_of(lists, typical)
    evidence = filled(np.array([one.evidence for one in documents]).reshape(-1, len(EVIDENCE)), floors)
    for values in (evidence.T, floors):
        values[WORDS] = word_evidence(values[WORDS], names=names)
    return evidence, floors


def floors_of(lists: Sequence[tuple[int, Listed]], typical: Sequence[float]) -> Floats:
    """For each kind of evidence the score of the last entry listed, or what is typical where nothing is listed.

    Words that not all entries hold have 0 there.
    """
    floors = np.array(typical, dtype=np.float64)
    floors[WORDS] = 0.0
    for kind in range(len(EVIDENCE)):
        scores = [listed.scores for of, listed in lists if of == kind and len(listed)]
        partial = any(of == kind and not listed.complete for of, listed in lists)
        if scores and (EVIDENCE[kind] != "words" or partial):
            floors[kind] = min(float(each[-1]) for each in scores)
    return floors


def merged(
    lists: Sequence[tuple[int, Listed, Line]], wanted: int, excluded: Collection[str] = ()
) -> list[Ranked] | None:
    """The best documents by the best of their sides; None where the lists do not reach deep enough to tell.

    Args:
        lists: each with its kind of evidence and the line that makes its scores comparable with those of others.
        wanted: how many documents, fewer if there are no more.
        excluded: documents that are no answer.
    """
    best: dict[str, Ranked] = {}
    certain = -np.inf
    for kind, listed, line in lists:
        values = line(listed.scores).tolist()
        if values and not listed.complete:
            certain = max(certain, values[-1])  # an entry further down may be as good as this, and none better
        columns = zip(
            listed.documents, listed.ids, listed.items, listed.modalities, listed.scores.tolist(), values, strict=True
        )
        for document, id, item, modality, score, value in columns:
            if document in excluded:
                continue
            one = best.get(document)
            if one is None:
                one = best[document] = Ranked(document, -np.inf)
            if not one.evidence[kind] >= score:
                one.evidence[kind] = score
                one.entries[modality], one.items[modality] = id, item
            if value > one.score:
                one.score, one.side = value, kind
    complete = all(listed.complete for _, listed, _ in lists)
    known = [one for one in best.values() if complete or one.score > certain]
    if len(known) < wanted and not complete:
        return None
    known.sort(key=lambda one: (-one.score, one.document))
    return known[:wanted]
