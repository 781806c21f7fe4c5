"""Choose what a paper leaves open: try values, score each on the validation split, keep the best."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import numpy as np

from diptych.arrays import Features
from diptych.data import Labels, TrainingData
from diptych.evaluation import Similarity, mean_average_precision


@dataclass(frozen=True)
class Validation:
    """The validation split as a judge: the mean MAP over all ordered pairs of modalities.

    Where validation items carry no labels, an item's own partner is what is to be found.

    Attributes:
        rows: the validation rows of each modality.
        labels: the labels of those rows.
        k: how many results count; None for all.
    """

    rows: Mapping[str, Features]
    labels: Mapping[str, Labels]
    k: int | None = None

    @classmethod
    def of(cls, data: TrainingData) -> "Validation | None":
        """Take the judge from the training data; None when there is nothing to judge by."""
        if data.validation is None:
            return None
        part = data.validation
        by_class = bool(part.labels.is_labelled.any())
        part = part.labelled() if by_class else part
        parts = {name: part.having(name) for name in data.modalities}
        if any(len(p) < 2 for p in parts.values()):
            return None
        identity = Labels.from_identity(part.documents.tolist())
        labels = {
            name: p.labels if by_class else identity.take(np.isin(part.index, p.index)) for name, p in parts.items()
        }
        return cls({name: p.features(name) for name, p in parts.items()}, labels, data.select_at)

    def score(self, codes: Mapping[str, Any], similarity: Similarity = "cosine") -> float:
        """Score embedded validation rows, one matrix per modality."""
        return self.score_directions({(a, b): (codes[a], codes[b]) for a, b in permutations(self.rows, 2)}, similarity)

    def score_directions(
        self, representations: Mapping[tuple[str, str], tuple[Any, Any]], similarity: Similarity = "cosine"
    ) -> float:
        """Score representations that differ by direction: (query, gallery) modality to their two matrices."""
        scores = [
            mean_average_precision(q, g, self.labels[a], self.labels[b], k=self.k, similarity=similarity)
            for (a, b), (q, g) in representations.items()
        ]
        return float(np.mean(scores))


@dataclass
class Search:
    """The values tried and what validation said of each; the first of equals wins."""

    trials: list[dict[str, Any]] = field(default_factory=list)

    def add(self, params: Mapping[str, Any], score: float) -> bool:
        """Note a trial and say whether it is the best so far."""
        best = not self.trials or score > self.best_score
        self.trials.append({"params": dict(params), "score": score})
        return best

    @property
    def best_score(self) -> float:
        """The best score so far."""
        return float(max(trial["score"] for trial in self.trials))

    def nearly_best(self, tolerance: float) -> list[dict[str, Any]]:
        """The parameters of all trials that come within a tolerance of the best, in the order they were tried."""
        enough = self.best_score - tolerance
        return [trial["params"] for trial in self.trials if trial["score"] >= enough]

    @property
    def best(self) -> dict[str, Any]:
        """The parameters of the best trial."""
        chosen: dict[str, Any] = max(self.trials, key=lambda trial: trial["score"])["params"]
        return chosen
