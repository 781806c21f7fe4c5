"""Joint representation learning: project two modalities onto their labels, smoothly over a graph."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import log_expit

from diptych._core.arrays import Features, Floats
from diptych._core.errors import ConfigError, FitError
from diptych._core.progress import Progress
from diptych._core.state import stateful
from diptych.data import TrainingData
from diptych.evaluation import Similarity
from diptych.features import Scaling
from diptych.methods.base import Method
from diptych.methods.selection import Search, Validation
from diptych.methods.semantic.joint_regression import Laplacian, Problem, Projections, Side, Weights, smoothness, solve
from diptych.methods.training_inputs import fit_scalings, training_pairs

SPARSITY_GRID = (0.1, 1.0, 10.0, 100.0, 1000.0)
GRAPH_GRID = (1e-3, 1e-1, 1.0, 10.0, 100.0, 1000.0)
_SPARSITY_UNCHOSEN, _GRAPH_UNCHOSEN = 10.0, 1.0
_SEARCH_TOLERANCE, _SEARCH_ITERATIONS = 1e-3, 20

SimilarityMode = Literal["cosine", "knn_vote"]
MODES: tuple[SimilarityMode, ...] = ("cosine", "knn_vote")


class _Labelled(NamedTuple):
    """The scaled rows of one modality's labelled training items, and their 0/1 labels."""

    rows: Floats
    targets: Floats


class JRL(Method):
    """Joint representation learning: sparse label regressions that agree on pairs and are smooth over a graph.

    With X_a all rows of a modality that may be seen (labelled training rows and the protocol's unlabelled pool),
    X_l its labelled rows, X_p and Y_p the training pairs, and L the 0/1 labels, minimise over P and Q

        σ tr(Pᵀ X_aᵀ L_X X_a P) + σ tr(Qᵀ Y_aᵀ L_Y Y_a Q)     smooth over each modality's graph
        + μ ‖X_l P − L_X‖² + μ ‖Y_l Q − L_Y‖²                  label regression
        + λ ‖X_p P − Y_p Q‖²                                   pairs agree
        + γ (‖P‖_{2,1} + ‖Q‖_{2,1})                            few features

    where L_X in the first line is the normalised Laplacian of the nearest-neighbour graph. Embeddings are X P and Y Q,
    as long as there are classes. Rows are z-scored with training statistics.

    Paper: Zhai, Peng and Xiao, "Learning Cross-Media Joint Representation with Sparse and Semisupervised
    Regularization", IEEE TCSVT 24(6), 2014.

    What differs from the paper: γ and σ are chosen on validation, since the published 1000 and 1000 belong to
    one set of features; iterations run to convergence instead of five; an item that lacks a modality or a label
    contributes to the remaining terms; embeddings are compared by cosine (`similarity_mode="knn_vote"` is the authors'
    vote of the nearest training items), and the graph's weights are 0 and 1 (`laplacian="released"` is what the
    authors' program computes).

    Args:
        sparsity: γ; None to choose it on validation.
        graph: σ; None to choose it on validation.
        pairs: λ.
        labels: μ.
        neighbours: number of neighbours in the graph, and of training items that vote.
        similarity_mode: "cosine" of the embeddings, or "knn_vote".
        laplacian: "knn", or "released".
        max_iterations: largest number of updates of both projections.
        tolerance: the relative decrease of the objective required for another iteration.
        scaling: a scaling recipe, or one by modality.

    Example:
        >>> from diptych.methods import create
        >>> create("jrl", graph=1.0, similarity_mode="knn_vote").similarity
        'dot'
    """

    uses_labels = True
    uses_unlabelled = True
    citation = (
        "Zhai, Peng, Xiao: Learning Cross-Media Joint Representation with Sparse and Semisupervised "
        "Regularization. IEEE Transactions on Circuits and Systems for Video Technology 24(6), 2014."
    )

    def __init__(
        self,
        sparsity: float | None = None,
        graph: float | None = None,
        pairs: float = 1.0,
        labels: float = 1.0,
        neighbours: int = 100,
        similarity_mode: SimilarityMode = "cosine",
        laplacian: Laplacian = "knn",
        max_iterations: int = 50,
        tolerance: float = 1e-6,
        scaling: str | dict[str, str] = "auto",
    ) -> None:
        self.sparsity = sparsity
        self.graph = graph
        self.pairs = pairs
        self.labels = labels
        self.neighbours = neighbours
        self.similarity_mode = similarity_mode
        self.laplacian = laplacian
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.scaling = scaling

    @property
    def similarity(self) -> Similarity:  # type: ignore[override]
        """Votes are compared by dot product, plain embeddings by cosine."""
        return "dot" if self.similarity_mode == "knn_vote" else "cosine"

    def _fit(self, data: TrainingData, progress: Progress) -> None:
        self._check_params()
        training_pairs(data)  # refuses data without pairs, which the pair term needs
        raw = {name: data.train.having(name).features(name) for name in data.modalities}
        self.scalings_: dict[str, Scaling] = fit_scalings(raw, data.kinds, self.scaling)
        labelled = {name: self._labelled(name, data) for name in data.modalities}
        problem = self._problem(data, labelled)
        weights = self._choose(problem, labelled, Validation.of(data), progress)
        solution, history = solve(problem, weights, max_iterations=self.max_iterations, tolerance=self.tolerance)
        self.projections_ = dict(zip(data.modalities, solution, strict=True))
        self.voters_ = self._voters(labelled, self.projections_)
        self.record_["objective"] = history

    def _embed(self, modality: str, rows: Features) -> Floats:
        return self._compared(self.scalings_[modality](rows) @ self.projections_[modality], self.voters_)

    def _compared(self, projected: Floats, voters: "Voters | None") -> Floats:
        """What is compared: the projected rows, or what the training items near them vote for."""
        return projected if voters is None else class_votes(projected, voters, self.neighbours)

    def _voters(self, labelled: Mapping[str, _Labelled], projections: Mapping[str, Floats]) -> "Voters | None":
        """The labelled training items of both modalities, projected; None without votes."""
        if self.similarity_mode == "cosine":
            return None
        embeddings = [known.rows @ projections[name] for name, known in labelled.items()]
        return Voters(np.concatenate(embeddings), np.concatenate([known.targets for known in labelled.values()]))

    def _labelled(self, name: str, data: TrainingData) -> _Labelled:
        part = data.train.labelled().having(name)
        if not len(part):
            raise FitError(f"JRL regresses each modality on labels and no labelled training item has '{name}'.")
        return _Labelled(self.scalings_[name](part.features(name)), part.labels.matrix.toarray().astype(np.float64))

    def _problem(self, data: TrainingData, labelled: Mapping[str, _Labelled]) -> Problem:
        """Reduce the data to the products that every choice of weights shares."""
        both = data.train.having(*data.modalities)
        paired = {name: self.scalings_[name](both.features(name)) for name in data.modalities}
        sides = []
        for name, known in labelled.items():
            pool = [self.scalings_[name](data.pools[name])] if name in data.pools else []
            graph = smoothness(np.concatenate([known.rows, *pool]), self.neighbours, self.laplacian)
            sides.append(Side.of(graph, known.rows, known.targets, paired[name]))
        first, second = paired.values()
        return Problem(sides[0], sides[1], first.T @ second)

    def _choose(
        self, problem: Problem, labelled: Mapping[str, _Labelled], validation: Validation | None, progress: Progress
    ) -> Weights:
        """Try every open weight on validation."""
        sparsities = _open(self.sparsity, SPARSITY_GRID, _SPARSITY_UNCHOSEN, validation)
        graphs = _open(self.graph, GRAPH_GRID, _GRAPH_UNCHOSEN, validation)
        best = Weights(sparsities[0], graphs[0], self.pairs, self.labels)
        if validation is not None and len(sparsities) * len(graphs) > 1:
            held_out = {name: self.scalings_[name](rows) for name, rows in validation.rows.items()}
            search = Search()
            for weights, solution in self._paths(problem, sparsities, graphs):
                projections = dict(zip(labelled, solution, strict=True))
                voters = self._voters(labelled, projections)
                embeddings = {name: self._compared(rows @ projections[name], voters) for name, rows in held_out.items()}
                score = validation.score(embeddings, self.similarity)
                if search.add({"sparsity": weights.sparsity, "graph": weights.graph}, score):
                    best = weights
                done, total = len(search.trials), len(sparsities) * len(graphs)
                progress("choosing weights", done, total, {f"validation {validation.measure}": search.best_score})
            self.record_["selection"] = search.trials
        self.record_["chosen"] = {"sparsity": best.sparsity, "graph": best.graph}
        return best

    def _paths(
        self, problem: Problem, sparsities: tuple[float, ...], graphs: tuple[float, ...]
    ) -> Iterator[tuple[Weights, Projections]]:
        """Rough solutions under all weights that have one, each begun at the next less sparse solution.

        Not at a sparser one: rows at zero leave it only slowly.
        """
        for graph in graphs:
            start = None
            for sparsity in sparsities:
                weights = Weights(sparsity, graph, self.pairs, self.labels)
                try:
                    start, _ = solve(
                        problem, weights, start=start, max_iterations=_SEARCH_ITERATIONS, tolerance=_SEARCH_TOLERANCE
                    )
                except FitError:  # the released Laplacian can be indefinite; other weights may still do
                    start = None
                else:
                    yield weights, start

    def _check_params(self) -> None:
        if self.similarity_mode not in MODES:
            raise ConfigError(f"similarity_mode is {self.similarity_mode!r}; choose one of {', '.join(MODES)}.")
        if self.neighbours < 1:
            raise ConfigError(f"neighbours is {self.neighbours}; it must be at least 1.")
        for name in ("sparsity", "graph", "pairs", "labels"):
            if (getattr(self, name) or 0.0) < 0:
                raise ConfigError(f"{name} is {getattr(self, name)}; a weight cannot be negative.")


def _open(
    given: float | None, grid: tuple[float, ...], unchosen: float, validation: Validation | None
) -> tuple[float, ...]:
    """The values to try for one weight: the given one, the whole grid, or one without validation."""
    if given is not None:
        return (given,)
    return grid if validation is not None else (unchosen,)


_BLOCK_ENTRIES = 4_000_000


@stateful
@dataclass(frozen=True)
class Voters:
    """Training items of every modality in the shared space.

    Attributes:
        embeddings: where each voter stands.
        ballots: its 0/1 labels, voters × classes.
    """

    embeddings: Floats = field(metadata={"stored": "codes"})
    ballots: Floats


def class_votes(embeddings: Floats, voters: Voters, neighbours: int) -> Floats:
    """Let each embedding's nearest voters vote for their classes with weights that fall with distance.

    A voter's affinity is 1 / (1 + e^distance); the largest `neighbours` affinities, divided by their sum, make
    one row of W (items × voters), and the votes are V = W B for the 0/1 ballots B. The dot product of two votes
    is then W (B Bᵀ) Wᵀ: how much weight the two put on voters of the same class.
    """
    total = len(voters.embeddings)
    step = max(1, _BLOCK_ENTRIES // max(1, total))
    starts = range(0, max(1, len(embeddings)), step)
    return np.concatenate(
        [_votes(embeddings[start : start + step], voters, min(neighbours, total)) for start in starts]
    )


def _votes(embeddings: Floats, voters: Voters, count: int) -> Floats:
    affinities = log_expit(-cdist(embeddings, voters.embeddings))
    kept = np.argpartition(-affinities, count - 1, axis=1)[:, :count]
    nearest = np.take_along_axis(affinities, kept, axis=1)
    # Subtracting the largest logarithm leaves the shares as they are; far embeddings would else divide zero by zero.
    weights = np.exp(nearest - nearest.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return np.asarray(np.einsum("ij,ijc->ic", weights, voters.ballots[kept]))
