"""The optimisation inside TINA: local projections that rank the other modality by graded relevance.

With E = embed(Z, G, U) the embeddings of a modality's rows Z under memberships G (rows × experts) and projections U
(columns × experts × components), minimise over the projections U and V of the two modalities

    (1 / 2T) Σ_(q,j,l) max(0, (r_qj − r_ql) − (s_qj − s_ql))²  + (β / 2) Σ_(k<k') a_kk' (‖U_k − U_k'‖² + ‖V_k − V_k'‖²)
      + (γ / 2) (‖U‖² + ‖V‖²)

where a triplet has a query q of one modality and items j, l of the other with relevances r_qj > r_ql, s are inner
products of embeddings, and a_kk' is how much the memberships of two experts overlap.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import softmax

from diptych._core.arrays import Floats, Integers
from diptych._core.state import stateful

Aggregation = Literal["projections", "distances"]
AGGREGATIONS: tuple[Aggregation, ...] = ("projections", "distances")
_AT_ONCE = 8_192
_LEAST_DIFFERENCE = 1e-6


def embed(rows: Floats, memberships: Floats, projections: Floats, aggregation: Aggregation) -> Floats:
    """The embeddings of rows: Σ_k g_k(x) U_kᵀ x, or all g_k(x) U_kᵀ x side by side.

    Inner products of the latter are Σ_k g_k(x) g_k(y) (U_kᵀ x) · (V_kᵀ y): every expert compares, and what they find is
    aggregated by how much both items are theirs.
    """
    columns, experts, components = projections.shape
    local = (rows @ projections.reshape(columns, -1)).reshape(len(rows), experts, components)
    local *= memberships[:, :, np.newaxis]
    return local.sum(axis=1) if aggregation == "projections" else local.reshape(len(rows), -1)


@stateful
@dataclass(frozen=True)
class LocalExperts:
    """How scaled rows of one modality are embedded.

    Attributes:
        mean: what is taken off a row.
        axes: principal axes, columns × at most 256, brought to rows of mean square 1.
        centres: one for each expert, on these axes.
        width: τ of the memberships.
        projections: axes × experts × components.
        aggregation: how local projections are joined.
    """

    mean: Floats
    axes: Floats
    centres: Floats
    width: float
    projections: Floats
    aggregation: str

    def __call__(self, rows: Floats) -> Floats:
        """Embed scaled rows."""
        return self.embed_reduced((rows - self.mean) @ self.axes)

    def embed_reduced(self, rows: Floats) -> Floats:
        """Embed rows that lie on the principal axes already."""
        memberships = soft_memberships(rows, self.centres, self.width)
        return embed(rows, memberships, self.projections, "projections" if self.is_summed else "distances")

    @property
    def is_summed(self) -> bool:
        """Whether local projections are added up; otherwise they stand side by side."""
        return self.aggregation == "projections"


def soft_memberships(rows: Floats, centres: Floats, width: float) -> Floats:
    """How much each row belongs to every centre; each row adds up to one."""
    return np.asarray(softmax(-squared_distances(rows, centres) / (2.0 * width), axis=1))


def squared_distances(rows: Floats, centres: Floats) -> Floats:
    """The squared distance of every row to every centre."""
    squares = np.square(rows).sum(axis=1, keepdims=True) + np.square(centres).sum(axis=1)
    return np.asarray(np.maximum(squares - 2.0 * rows @ centres.T, 0.0))


@dataclass(frozen=True)
class Side:
    """One modality's labelled rows and how much each belongs to every expert."""

    rows: Floats
    memberships: Floats

    def embed(self, projections: Floats, aggregation: Aggregation) -> Floats:
        """Embed the rows."""
        return embed(self.rows, self.memberships, projections, aggregation)

    def pull_back(self, towards: Floats, aggregation: Aggregation, components: int) -> Floats:
        """The gradient for the projections, given that for the embeddings."""
        experts = self.memberships.shape[1]
        shape = (len(self.rows), 1 if aggregation == "projections" else experts, components)
        local = self.memberships[:, :, np.newaxis] * towards.reshape(shape)
        return (self.rows.T @ local.reshape(len(self.rows), -1)).reshape(-1, experts, components)


@dataclass(frozen=True)
class Triplets:
    """Queries of one modality with a more and a less relevant item of the other each, sorted by query.

    Attributes:
        queries: row numbers.
        better: row numbers of the more relevant items.
        worse: row numbers of the less relevant ones.
        margins: by how much more relevant.
    """

    queries: Integers
    better: Integers
    worse: Integers
    margins: Floats

    def __len__(self) -> int:
        return len(self.queries)

    def loss(self, queries: Floats, items: Floats) -> tuple[float, Floats, Floats]:
        """The sum of ½ max(0, margin − difference)², and its gradients for the embeddings of both sides."""
        slack = np.empty(len(self))
        for start in range(0, len(self), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            differences = items[self.better[part]] - items[self.worse[part]]
            slack[part] = self.margins[part] - np.einsum("ij,ij->i", queries[self.queries[part]], differences)
        np.maximum(slack, 0.0, out=slack)
        starts = np.searchsorted(self.queries, np.arange(len(queries) + 1))
        places = np.stack([self.better, self.worse], axis=1).ravel()
        by_score = sp.csr_array(
            (np.stack([-slack, slack], axis=1).ravel(), places, 2 * starts), shape=(len(queries), len(items))
        )
        return float(slack @ slack) / 2.0, np.asarray(by_score @ items), np.asarray(by_score.T @ queries)


def draw_triplets(
    query_shares: Floats, item_shares: Floats, relevance: Floats, count: int, random: np.random.Generator
) -> Triplets:
    """Draw triplets: of half of them the better item shares the query's class, of the others both are any.

    Args:
        query_shares: shares of the queries in the classes, one row each.
        item_shares: the same of the items of the other modality.
        relevance: of classes to each other.
        count: how many to draw; those whose items are equally relevant are left out.
        random: the generator.
    """
    half = max(1, count // 2)
    queries = random.integers(len(query_shares), size=2 * half)
    first, second = random.integers(len(item_shares), size=(2, 2 * half))
    classes, of_class = query_shares.argmax(axis=1), item_shares.argmax(axis=1)
    order = np.argsort(of_class, kind="stable")
    starts = np.searchsorted(of_class[order], np.arange(query_shares.shape[1] + 1))
    wanted = classes[queries[:half]]
    sizes = starts[wanted + 1] - starts[wanted]
    there = np.flatnonzero(sizes)
    picks = starts[wanted[there]] + (random.random(len(there)) * sizes[there]).astype(np.int64)
    first[there] = order[picks]
    graded = query_shares @ relevance
    difference = np.einsum("ij,ij->i", graded[queries], item_shares[first] - item_shares[second])
    first, second = np.where(difference > 0, first, second), np.where(difference > 0, second, first)
    kept = np.flatnonzero(np.abs(difference) > _LEAST_DIFFERENCE)
    kept = kept[np.argsort(queries[kept], kind="stable")]
    return Triplets(queries[kept], first[kept], second[kept], np.abs(difference[kept]))


@dataclass(frozen=True)
class RankingProblem:
    """Both sides, and the triplets of each direction.

    Attributes:
        first: the rows of one modality.
        second: those of the other.
        forward: triplets whose queries are of the first.
        backward: triplets whose queries are of the second.
        aggregation: how local experts are joined.
    """

    first: Side
    second: Side
    forward: Triplets
    backward: Triplets
    aggregation: Aggregation

    def overlap(self) -> Floats:
        """The Laplacian of the experts' overlaps: a_kk' is the mean of g_k g_k' over the rows of both sides."""
        shared = [side.memberships.T @ side.memberships / len(side.rows) for side in (self.first, self.second)]
        overlaps = (shared[0] + shared[1]) / 2.0
        np.fill_diagonal(overlaps, 0.0)
        return np.asarray(np.diag(overlaps.sum(axis=1)) - overlaps)

    def objective(
        self, first: Floats, second: Floats, consistency: float, complexity: float
    ) -> tuple[float, Floats, Floats]:
        """The objective at two tensors of projections, and its gradients."""
        ours, theirs = (
            side.embed(projections, self.aggregation)
            for side, projections in ((self.first, first), (self.second, second))
        )
        forward, by_ours, by_theirs = self.forward.loss(ours, theirs)
        backward, more_theirs, more_ours = self.backward.loss(theirs, ours)
        count = max(1, len(self.forward) + len(self.backward))
        value = (forward + backward) / count
        gradients = []
        laplacian = consistency * self.overlap() + complexity * np.eye(first.shape[1])
        for side, projections, towards in (
            (self.first, first, by_ours + more_ours),
            (self.second, second, by_theirs + more_theirs),
        ):
            penalty = np.einsum("pkd,kl->pld", projections, laplacian)
            value += float(np.vdot(projections, penalty)) / 2.0
            gradients.append(side.pull_back(towards / count, self.aggregation, projections.shape[2]) + penalty)
        return value, gradients[0], gradients[1]

    def solve(
        self,
        start: tuple[Floats, Floats],
        consistency: float,
        complexity: float,
        max_steps: int,
        tolerance: float = 1e-6,
    ) -> tuple[Floats, Floats, float]:
        """Minimise by L-BFGS from a start; returns the projections and the objective."""
        shapes, border = [each.shape for each in start], start[0].size

        def value_and_gradient(flat: Floats) -> tuple[float, Floats]:
            value, first, second = self.objective(
                flat[:border].reshape(shapes[0]), flat[border:].reshape(shapes[1]), consistency, complexity
            )
            return value, np.concatenate([first.ravel(), second.ravel()])

        found = minimize(
            value_and_gradient,
            np.concatenate([each.ravel() for each in start]),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": max_steps, "maxfun": 2 * max_steps, "gtol": tolerance, "ftol": tolerance / 10},
        )
        return found.x[:border].reshape(shapes[0]), found.x[border:].reshape(shapes[1]), float(found.fun)
