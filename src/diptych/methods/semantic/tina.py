"""TINA: local projections of both modalities that rank by a semantic hierarchy of the classes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from sklearn.cluster import KMeans

from diptych._core.arrays import Features, Floats
from diptych._core.errors import ConfigError, FitError
from diptych._core.progress import Progress
from diptych._core.seeding import generator
from diptych.data import TrainingData
from diptych.features import Scaling
from diptych.methods.base import Method
from diptych.methods.selection import Search, Validation
from diptych.methods.semantic.class_hierarchy import class_relevance, flat_relevance
from diptych.methods.semantic.local_ranking import (
    AGGREGATIONS,
    Aggregation,
    LocalExperts,
    RankingProblem,
    Side,
    draw_triplets,
    soft_memberships,
    squared_distances,
)
from diptych.methods.training_inputs import fit_scalings, training_pairs

Hierarchy = Literal["semantic", "flat"]
HIERARCHIES: tuple[Hierarchy, ...] = ("semantic", "flat")
EXPERTS_GRID = (1, 4, 8)
COMPLEXITY_GRID = (1e-4, 1e-3, 1e-2, 1e-1)
CONSISTENCY_GRID = (1e-3, 1e-2, 1e-1)
_UNCHOSEN: dict[str, Any] = {"experts": 4, "complexity": 1e-3, "consistency": 1e-2}
_WIDEST = 256
_SMALL = 1e-3
_TRIPLETS_PER_QUERY = 25


class TINA(Method):
    """Adaptive hierarchical semantic aggregation: several local projections, trained to rank by graded relevance.

    1. *Hierarchy*: classes are compared by their mean rows and their names; average linkage makes a tree of them, and
       the relevance r of two classes decreases with the height at which they meet (see `class_relevance`).
    2. *Experts*: K centres, found by k-means over the training pairs; the membership of a row x in expert k is
       g_k(x) ∝ exp(−‖x − c_k‖² / 2τ). Each expert projects linearly, by U_k in one modality and by V_k in the other.
    3. *Aggregation*: "projections" embeds x as Σ_k g_k(x) U_kᵀ x. "distances" aggregates the comparisons of the
       experts, Σ_k g_k(x) g_k(y) (U_kᵀ x) · (V_kᵀ y). That is the inner product of all g_k(x) U_kᵀ x concatenated,
       so there is one embedding per item too, K times as long.
    4. *Training*: over triplets of a query q and two items j, l of the other modality, r_qj > r_ql, minimise the mean
       of ½ max(0, (r_qj − r_ql) − (s_qj − s_ql))², plus β/2 Σ a_kk' ‖U_k − U_k'‖² for experts whose memberships
       overlap by a_kk' (consistency), plus γ/2 ‖U_k‖² (complexity); the same for V.

    With one expert and a flat hierarchy it is a single bilinear model s = xᵀ U Vᵀ y under a pairwise ranking loss.

    Paper: Hua, Wang, Liu, Cai, Huang: Cross-Modal Correlation Learning by Adaptive Hierarchical Semantic Aggregation,
    IEEE Transactions on Multimedia 2016. We had no access to the paper; this is our reading of its abstract and of
    later descriptions. Our choices are the form of every term, names compared by their letters instead of an ontology,
    a sample of triplets, rows reduced to principal components, and cosine for retrieval. Open values are chosen on
    validation.

    Args:
        experts: K; None to choose on validation.
        components: columns of each local projection.
        aggregation: "projections" or "distances".
        hierarchy: "semantic", or "flat" for relevance 1 within a class and 0 between classes.
        name_weight: the share of class names in the hierarchy; the rest is content.
        consistency: β; None to choose on validation.
        complexity: γ; None to choose on validation.
        triplets: largest number of triplets per direction; otherwise 25 for each query.
        max_steps: largest number of solver steps.
        scaling: a scaling recipe, or one by modality.
        seed: of the triplets and the centres.

    Example:
        >>> from diptych.methods import create
        >>> create("tina", experts=8, aggregation="distances")
        TINA(experts=8, aggregation='distances')
    """

    uses_labels = True
    stochastic = True
    citation = (
        "Hua, Wang, Liu, Cai, Huang: Cross-Modal Correlation Learning by Adaptive Hierarchical Semantic Aggregation. "
        "IEEE Transactions on Multimedia 18(6), 2016."
    )

    def __init__(
        self,
        experts: int | None = None,
        components: int = 32,
        aggregation: Aggregation = "projections",
        hierarchy: Hierarchy = "semantic",
        name_weight: float = 0.3,
        consistency: float | None = None,
        complexity: float | None = None,
        triplets: int = 50_000,
        max_steps: int = 60,
        scaling: str | dict[str, str] = "auto",
        seed: int = 0,
    ) -> None:
        self.experts = experts
        self.components = components
        self.aggregation = aggregation
        self.hierarchy = hierarchy
        self.name_weight = name_weight
        self.consistency = consistency
        self.complexity = complexity
        self.triplets = triplets
        self.max_steps = max_steps
        self.scaling = scaling
        self.seed = seed

    def _fit(self, data: TrainingData, progress: Progress) -> None:
        self._check_params()
        pairs = training_pairs(data)
        raw = {name: data.train.having(name).features(name) for name in data.modalities}
        self.scalings_: dict[str, Scaling] = fit_scalings(raw, data.kinds, self.scaling)
        paired = {name: self.scalings_[name](pairs.features(name)) for name in data.modalities}
        axes = {name: _principal_axes(rows) for name, rows in paired.items()}
        paired = {name: (rows - axes[name][0]) @ axes[name][1] for name, rows in paired.items()}
        labelled = {name: self._labelled(data, name, axes[name]) for name in data.modalities}
        relevance = self._relevance(data, labelled)
        training = _Training(self, axes, paired, labelled, relevance)
        validation = Validation.of(data)
        chosen, search = _choose(training, self._given(), validation, self.scalings_, progress)
        self.experts_: dict[str, LocalExperts]
        self.experts_, objective = training.fit(chosen)
        self.record_["selection"] = search.trials
        self.record_["chosen"] = chosen
        self.record_["objective"] = objective
        self.record_["class_relevance"] = relevance.round(4).tolist()

    def _embed(self, modality: str, rows: Features) -> Floats:
        return self.experts_[modality](self.scalings_[modality](rows))

    def _given(self) -> dict[str, Any]:
        return {"experts": self.experts, "complexity": self.complexity, "consistency": self.consistency}

    def _labelled(self, data: TrainingData, name: str, axes: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        """Return a modality's labelled rows on their principal axes, and their shares in every class."""
        chosen = data.train.labels.is_labelled & data.train.has(name)
        if not chosen.any():
            raise FitError(f"TINA learns from labels and no labelled training item has '{name}'.")
        part = data.train.take(chosen)
        targets = part.labels.matrix.toarray() if data.soft_labels is None else data.soft_labels[chosen]
        shares = np.asarray(targets, dtype=np.float64)
        rows = (self.scalings_[name](part.features(name)) - axes[0]) @ axes[1]
        return rows, shares / shares.sum(axis=1, keepdims=True)

    def _relevance(self, data: TrainingData, labelled: Mapping[str, tuple[Floats, Floats]]) -> Floats:
        if self.hierarchy == "flat":
            return flat_relevance(len(data.classes))
        means = {
            name: shares.T @ rows / np.maximum(shares.sum(axis=0), 1e-12)[:, np.newaxis]
            for name, (rows, shares) in labelled.items()
        }
        return class_relevance(means, data.classes, self.name_weight)

    def _check_params(self) -> None:
        if self.aggregation not in AGGREGATIONS:
            raise ConfigError(f"aggregation is {self.aggregation!r}; choose one of {', '.join(AGGREGATIONS)}.")
        if self.hierarchy not in HIERARCHIES:
            raise ConfigError(f"hierarchy is {self.hierarchy!r}; choose one of {', '.join(HIERARCHIES)}.")
        if not 0 <= self.name_weight <= 1:
            raise ConfigError(f"name_weight is {self.name_weight}; it must lie between 0 and 1.")
        for name in ("components", "triplets", "max_steps", "experts"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"{name} is {value}; it must be at least 1.")
        for name in ("consistency", "complexity"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise ConfigError(f"{name} is {value}; it must be zero or positive.")


def _principal_axes(rows: Floats) -> tuple[Floats, Floats]:
    """The mean of rows, and their first principal axes, scaled so that reduced rows have mean square length 1."""
    mean = rows.mean(axis=0)
    variances, axes = np.linalg.eigh(np.cov(rows - mean, rowvar=False, bias=True).reshape(rows.shape[1], -1))
    kept = np.flatnonzero(variances > 1e-10 * max(float(variances[-1]), 1e-300))[::-1][:_WIDEST]
    if not len(kept):
        raise FitError("a modality is the same in all training pairs; there is nothing to learn from.")
    return mean, axes[:, kept] / np.sqrt(variances[kept].sum())


@dataclass(frozen=True)
class _Training:
    """What every trial of the open values shares."""

    method: TINA
    axes: Mapping[str, tuple[Floats, Floats]]
    paired: Mapping[str, Floats]
    labelled: Mapping[str, tuple[Floats, Floats]]
    relevance: Floats

    def fit(self, values: Mapping[str, Any]) -> tuple[dict[str, LocalExperts], float]:
        """Fit the experts of both modalities; returns them and the objective."""
        method, names = self.method, list(self.axes)
        untrained = self._gates(min(int(values["experts"]), len(next(iter(self.paired.values())))))
        sides = []
        for name in names:
            rows = self.labelled[name][0]
            sides.append(Side(rows, soft_memberships(rows, untrained[name].centres, untrained[name].width)))
        shares = [self.labelled[name][1] for name in names]
        forward, backward = (
            draw_triplets(
                query_shares,
                item_shares,
                self.relevance,
                self._count(query_shares),
                generator(method.seed, "triplets", name),
            )
            for query_shares, item_shares, name in ((shares[0], shares[1], names[0]), (shares[1], shares[0], names[1]))
        )
        if not len(forward) + len(backward):
            raise FitError(
                "all training items are equally relevant to each other; give the items at least two classes."
            )
        problem = RankingProblem(sides[0], sides[1], forward, backward, method.aggregation)
        start = self._start(len(untrained[names[0]].centres))
        first, second, objective = problem.solve(start, values["consistency"], values["complexity"], method.max_steps)
        found = dict(zip(names, (first, second), strict=True))
        return {name: replace(untrained[name], projections=found[name]) for name in names}, objective

    def _count(self, query_shares: Floats) -> int:
        return min(self.method.triplets, _TRIPLETS_PER_QUERY * len(query_shares))

    def _gates(self, experts: int) -> dict[str, LocalExperts]:
        """The centres of both modalities: the means of what k-means over the pairs puts together."""
        joined = np.hstack(list(self.paired.values()))
        draw = int(generator(self.method.seed, "centres").integers(2**31))
        groups = (
            KMeans(experts, n_init=3, random_state=draw).fit_predict(joined) if experts > 1 else np.zeros(len(joined))
        )
        gates = {}
        for name, rows in self.paired.items():
            centres = np.stack([rows[groups == group].mean(axis=0) for group in np.unique(groups)])
            nearest = np.sort(squared_distances(rows, centres), axis=1)[:, :2]
            width = float((nearest[:, -1] - nearest[:, 0]).mean()) / 2.0  # so that the second nearest still counts
            mean, axes = self.axes[name]
            nothing = np.zeros((axes.shape[1], len(centres), self.method.components))
            gates[name] = LocalExperts(mean, axes, centres, max(width, 1e-12), nothing, self.method.aggregation)
        return gates

    def _start(self, experts: int) -> tuple[Floats, Floats]:
        """The same start for all experts: the leading directions of the relevance-weighted products of class means."""
        (rows, shares), (other_rows, other_shares) = self.labelled.values()
        means = shares.T @ rows / len(rows)
        other_means = other_shares.T @ other_rows / len(other_rows)
        centred = self.relevance - self.relevance.mean(axis=0)
        left, values, right = np.linalg.svd(means.T @ centred @ other_means, full_matrices=False)
        components = self.method.components
        roots = np.sqrt(values[:components] / max(float(values[0]), 1e-300))
        random = generator(self.method.seed, "start")
        starts = []
        for directions in (left, right.T):
            start = _SMALL * random.standard_normal((len(directions), components))
            start[:, : len(roots)] += directions[:, :components] * roots
            starts.append(np.repeat(start[:, np.newaxis, :], experts, axis=1))
        return starts[0], starts[1]


def _choose(
    training: _Training,
    given: Mapping[str, Any],
    validation: Validation | None,
    scalings: Mapping[str, Scaling],
    progress: Progress,
) -> tuple[dict[str, Any], Search]:
    """Choose open values on validation, one after the other: complexity, experts, then consistency."""
    search = Search()
    best = {name: _UNCHOSEN[name] if value is None else value for name, value in given.items()}
    grids = {"complexity": COMPLEXITY_GRID, "experts": EXPERTS_GRID, "consistency": CONSISTENCY_GRID}
    vacant = [name for name in grids if given[name] is None]
    if validation is None or not vacant:
        return best, search
    held_out = {
        name: (scalings[name](rows) - training.axes[name][0]) @ training.axes[name][1]
        for name, rows in validation.rows.items()
    }
    total, tried = sum(len(grids[name]) for name in vacant), dict[tuple[Any, ...], float]()
    for name in vacant:
        for value in grids[name] if name != "consistency" or best["experts"] > 1 else ():
            trial = best | {name: value}
            key = tuple(trial.values())
            if key not in tried:
                experts, _ = training.fit(trial)
                embedded = {each: experts[each].embed_reduced(rows) for each, rows in held_out.items()}
                tried[key] = validation.score(embedded)
            search.add(trial, tried[key])
            figures = {f"validation {validation.measure}": search.best_score}
            progress("choosing settings", len(search.trials), total, figures)
        best = search.best
    return best, search
