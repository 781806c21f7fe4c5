"""Learn from simulated queries how an index ranks documents, what its scores mean, and when nothing is close."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from diptych._core.arrays import Booleans, Floats
from diptych._core.progress import Progress, silent
from diptych._core.seeding import generator
from diptych.data import Dataset, Partition
from diptych.search.documents import USED, DocumentPages, holds_name
from diptych.search.listing import EVIDENCE, IMAGE, TEXT, WORDS, Lister, fit_presence, nearness
from diptych.search.probability import Pairs, ProbabilityMap, fit_map
from diptych.search.probability.calibration import Calibration, DocumentCalibration
from diptych.search.probability.reliability import TOP, reliability
from diptych.search.probability.simulation import (
    DocumentLabels,
    Lists,
    Simulated,
    answerable,
    judge,
    labels_to_learn_from,
    simulate,
)
from diptych.search.query import MODES, Direction
from diptych.search.ranking import POOL, Fusion, fusable, gathered, learn_fusion
from diptych.search.raw_embedder import RawEmbedder

_QUERIES = 300
_LEAST_QUERIES = 10
_LEAST_PAIRS = 30
_LEAST_RANGE = 0.2
_AT_ONCE = 32
PRIOR_CURVES = {
    "hybrid": ProbabilityMap(np.array([0.0, 1.0]), np.array([0.0, 1.0])),
    "vector": ProbabilityMap(np.array([0.0, 1.0]), np.array([0.0, 1.0])),
    "lexical": ProbabilityMap(np.array([0.0, 0.1, 0.25, 0.45, 0.6, 1.0]), np.array([0.1, 0.35, 0.65, 0.92, 0.97, 1.0])),
}
"""What scores mean where an index has no labels to learn it from: as judged queries of three collections found it."""


@dataclass
class Evidence:
    """Pairs of simulated queries and documents.

    Attributes:
        rows: the evidence as the fusion takes it.
        bm25: between 0 and 1.
        relevant: whether a document belongs to the query.
        queries: the number of the query.
    """

    rows: list[Floats] = field(default_factory=list)
    bm25: list[Floats] = field(default_factory=list)
    relevant: list[Booleans] = field(default_factory=list)
    queries: list[Floats] = field(default_factory=list)

    def joined(self) -> tuple[Floats, Floats, Booleans, Floats]:
        """All pairs."""
        rows = np.concatenate([np.zeros((0, len(EVIDENCE))), *self.rows])
        bm25, queries = (np.concatenate([np.zeros(0), *column]) for column in (self.bm25, self.queries))
        relevant = np.concatenate([np.zeros(0, np.bool_), *self.relevant])
        return rows.astype(np.float64), bm25.astype(np.float64), relevant, queries.astype(np.float64)


@dataclass(frozen=True)
class DocumentLearner:
    """Learns from one index.

    Attributes:
        lister: asks the index.
        raw: reads texts.
        dataset: what the index was built of.
        modalities: of the index.
        seed: of what is drawn.
    """

    lister: Lister
    raw: RawEmbedder
    dataset: Dataset
    modalities: tuple[str, ...]
    seed: int = 0

    def learn(self, calibration: Calibration, progress: Progress = silent) -> Calibration:
        """The calibration with all that typed words need, for each purpose of the index."""
        texts = self.lister.texts
        if texts is None or not texts.index.count():
            return calibration
        validation, train = self.dataset.split("val"), self.dataset.split("train")
        seen = self.dataset.everything.take(self.dataset.splits != "test")
        labels = labels_to_learn_from(seen, validation, self.lister.index, texts)
        part = validation if len(validation) >= _LEAST_QUERIES else train
        labelled = part.take(np.array([labels.has(document) for document in part.documents.tolist()], np.bool_))
        asked = self._simulated(labelled if len(labelled) >= _LEAST_QUERIES else part, "validation")
        held_out = self._simulated(self.dataset.split("test"), "test")
        true_labels = DocumentLabels.of(self.dataset.everything)
        known = calibration.each()
        learned = []
        for number, each in enumerate(known):
            documents = self._learned(each, asked, held_out, labels, true_labels)
            learned.append(replace(each, documents=documents))
            progress("learning to rank", number + 1, len(known))
        return replace(learned[0], others={each.purpose or "": each for each in learned[1:]})

    def _simulated(self, part: Partition, name: str) -> Simulated:
        random = generator(self.seed, "simulated queries", name)
        return simulate(self.dataset, part, self.lister, self.raw, _QUERIES, random)

    def _learned(
        self,
        calibration: Calibration,
        asked: Simulated,
        held_out: Simulated,
        labels: DocumentLabels,
        true_labels: DocumentLabels,
    ) -> DocumentCalibration:
        """What is learned for one purpose."""
        texts = self.lister.texts
        assert texts is not None
        lists = self._lists(calibration, asked.directions)
        pairs = zip(asked.documents, lists, strict=True)
        own = [[(kind, listed.without(name)) for kind, listed in each] for name, each in pairs]
        prior = self._prior(own, texts.plan.encoded)
        evidence = self._evidence(asked, lists, labels, prior)
        rows, bm25, relevant, _ = evidence.joined()
        fusion, typed, facts = prior, dict(PRIOR_CURVES), {"queries": len(asked), "pairs": len(relevant)}
        enough = min(int(relevant.sum()), int((~relevant).sum())) >= _LEAST_PAIRS
        if labels.source != "nothing" and enough:
            fusion = learn_fusion(rows, relevant, prior, labels.source)
            typed |= _curves(fusion, rows, bm25, relevant)
        near = np.array([nearness(each) for each in own])
        others = answerable(asked, texts, Counter(self.dataset.everything.documents.tolist()))
        presence = fit_presence((near[others] if others.sum() >= _LEAST_QUERIES else near).tolist())
        facts |= self._judged(calibration, fusion, typed, held_out, true_labels)
        return replace(calibration.documents, fusion=fusion, typed=typed, presence=presence, facts=facts)

    def _lists(self, calibration: Calibration, asked: Sequence[Direction]) -> list[Lists]:
        """The lists of each query, in the space of a purpose."""
        spaces, purpose = self.lister.spaces, calibration.purpose
        texts = self.lister.texts
        pages = DocumentPages(self.lister, calibration, self.modalities, None if texts is None else texts.plan.modality)
        found: list[Lists] = []
        for start in range(0, len(asked), _AT_ONCE):
            some = [one.narrowed(spaces, purpose) for one in asked[start : start + _AT_ONCE]]
            found += zip(*pages.columns(None, some, "hybrid", POOL), strict=True)
        return found

    def _prior(self, lists: Sequence[Lists], encoded: bool) -> Fusion:
        """The fusion before anything is learned, with the usual spread of each kind of evidence in this index."""
        measured = {}
        for kind in (IMAGE, TEXT):
            scores = [listed.scores for each in lists for of, listed in each if of == kind and len(listed) > 1]
            if scores:
                last = [each[min(len(each) - 1, POOL - 1)] for each in scores]
                measured[kind] = float(np.mean([each[0] for each in scores])), float(np.mean(last))
        return Fusion.prior(measured.get(IMAGE), measured.get(TEXT), encoded=encoded)

    def _evidence(self, asked: Simulated, lists: Sequence[Lists], labels: DocumentLabels, fusion: Fusion) -> Evidence:
        texts = self.lister.texts
        assert texts is not None
        read = self._texts_of_documents()
        evidence = Evidence()
        for number, (direction, own, each) in enumerate(zip(asked.directions, asked.documents, lists, strict=True)):
            judged = judge(each, own, direction.words, labels, texts, read)
            documents = gathered(judged.lists)
            rows, _ = fusable(judged.lists, documents, fusion.typical, names=holds_name(direction.words))
            kept = judged.known
            bm25 = np.nan_to_num(np.array([one.evidence[WORDS] for one in documents]))
            evidence.rows.append(rows[kept])
            evidence.bm25.append(bm25[kept])
            evidence.relevant.append(judged.relevant[kept])
            evidence.queries.append(np.full(int(kept.sum()), float(number)))
        return evidence

    def _texts_of_documents(self) -> dict[str, str]:
        written = self.dataset.items.column("text").to_pylist()
        found: dict[str, list[str]] = {}
        for document, text in zip(self.dataset.everything.documents.tolist(), written, strict=True):
            found.setdefault(document, []).append(text or "")
        return {document: "\n".join(texts) for document, texts in found.items()}

    def _judged(
        self,
        calibration: Calibration,
        fusion: Fusion,
        curves: Mapping[str, ProbabilityMap],
        held_out: Simulated,
        labels: DocumentLabels,
    ) -> dict[str, Any]:
        """How far probabilities are from what is seen among the best documents for phrases of test items."""
        if labels.source == "nothing" or not len(held_out):
            return {}
        lists = self._lists(calibration, held_out.directions)
        rows, _, relevant, queries = self._evidence(held_out, lists, labels, fusion).joined()
        if not len(relevant):
            return {}
        scores = fusion.scores(rows)
        order = np.lexsort((-scores, queries))
        rank = np.arange(len(order)) - np.searchsorted(queries[order], queries[order])
        best = order[rank < TOP]
        return {"test": {f"top_{TOP}": reliability(curves["hybrid"](scores[best]), relevant[best])}}


def _curves(fusion: Fusion, rows: Floats, bm25: Floats, relevant: Booleans) -> dict[str, ProbabilityMap]:
    """What the score of each mode means; nothing for a mode whose scores tell nothing here."""
    found: dict[str, ProbabilityMap] = {}
    for mode in MODES:
        scores = bm25 if mode == "lexical" else fusion.scores(rows, USED[mode])
        kept = bm25 > 0 if mode == "lexical" else np.ones(len(scores), np.bool_)
        curve = fit_map(Pairs(scores[kept], relevant[kept], np.ones(int(kept.sum()))))
        if curve is not None and np.ptp(curve.probabilities) >= _LEAST_RANGE:
            found[mode] = curve
    return found
