"""Label propagation: training pairs get labels from the labelled pairs they are near to, before any method sees them.

It is a part of the protocol (`Protocol(propagate=True)`), not of a method: every method that reads labels is given the
same propagated ones, and what they gain by it is not its own.
"""

import time
from typing import Any

import numpy as np
import scipy.sparse as sp

from diptych._core.arrays import Booleans, Floats, Integers, Singles, Sparse
from diptych._core.errors import optional_package
from diptych._core.progress import Progress, silent
from diptych.data import Labels, Protocol, TrainingData
from diptych.data.protocol import with_propagated_labels
from diptych.evaluation.similarity import unit_rows
from diptych.methods.linear.algebra import spectrum
from diptych.methods.linear.cca import correlations_of
from diptych.methods.training_inputs import presence, scaled_pairs

COUNTS_SCALING = "tfidf+centre"
RIDGE = 3.0
COMPONENTS = 64
NEIGHBOURS = 20
ALPHA = 0.95
STEPS = 50
WEIGHT_POWER = 3
SHARPNESS = 2

_UNDECIDED = 1e-6
"""Shares closer than this are equal: single precision distinguishes cosines to about so much."""

_EXACT_UP_TO = 20_000
_PROBED_CELLS = 16
_CLUSTERING_ROUNDS = 10


def propagate(
    data: TrainingData, protocol: Protocol, progress: Progress = silent
) -> tuple[TrainingData, dict[str, Any]]:
    """Propagate the training labels over the training pairs.

    The graph joins the items that have at least two of the modalities, by those that two items share; of two
    modalities, the pairs. Other items are outside of it: they keep the label they have and get none. Items known to be
    of none of the classes get none either. The features and pairs of training items and the labels that the protocol
    leaves them are all that is read.

    Returns:
        The training data with propagated labels, hard and soft, and what happened, for the model's record. The data
        stay as they are where every training pair has a label, or none.

    Raises:
        ConfigError: when faiss is not installed.
        FitError: when a modality is the same in all training pairs.
    """
    started = time.perf_counter()
    labels = data.train.labels
    paired = np.sum([data.train.has(name) for name in data.modalities], axis=0) >= 2
    record = {"given": int(labels.is_labelled.sum()), "propagated": 0, "mean_confidence": None, "seconds": 0.0}
    if labels.is_labelled[paired].all() or not labels.is_labelled[paired].any():
        return data, record
    progress("label propagation", 0, 2)
    graph = affinity_graph(pair_embeddings(data))
    progress("label propagation", 1, 2)
    given = labels.shares
    soft = given.copy()
    soft[paired] = spread_labels(graph, given[paired])
    if data.no_class is not None:
        soft[data.no_class & ~labels.is_labelled] = 0.0
    fresh = soft.any(axis=1) & ~labels.is_labelled
    confidence = soft[fresh].max(axis=1)
    record["propagated"] = int(fresh.sum())
    record["mean_confidence"] = float(confidence.mean()) if fresh.any() else None
    record["seconds"] = time.perf_counter() - started
    return with_propagated_labels(data, protocol, _with_guesses(labels, soft, fresh), soft), record


def pair_embeddings(data: TrainingData) -> Floats:
    """Ridge CCA embeddings of every modality, each of length 1 and side by side, of the items that have two or more.

    Rows are scaled to length 1 again, so that the dot product of two is the mean of the cosines in each modality; the
    columns of a modality that an item lacks are zero. Direction i counts with its correlation, as in
    `CCA(weight_power=1)`.

    The ridge of a modality is its mean variance times `RIDGE` p / n, for p columns and n pairs: the more directions a
    pair must decide, the less each is trusted. Counted words are weighed by how rare they are.
    """
    scalings = {name: COUNTS_SCALING if data.kinds[name] == "counts" else "auto" for name in data.modalities}
    _, scaled = scaled_pairs(data, scalings)
    views = [spectrum(values - values.mean(axis=0)) for values in scaled.values()]
    ridges = [RIDGE * view.rows.shape[1] / view.rows.shape[0] * view.mean_variance for view in views]
    present = presence(data)
    strengths, parts = correlations_of(views, present)(ridges, COMPONENTS)
    embeddings = []
    for view, part, has in zip(views, parts, present, strict=True):
        rows = unit_rows(view.rows @ (view.weights(part) * strengths))
        placed = rows if has.all() else np.zeros((len(has), rows.shape[1]))
        placed[has] = rows
        embeddings.append(placed)
    return unit_rows(np.hstack(embeddings))


def affinity_graph(embeddings: Floats, neighbours: int = NEIGHBOURS) -> Sparse:
    """D^{-1/2} (W + Wᵀ) D^{-1/2}, where W holds the cube of the cosine of each row with its nearest other rows.

    Args:
        embeddings: rows of length 1.
        neighbours: how many other rows each is joined to.
    """
    count = len(embeddings)
    return graph_of_neighbours(*nearest_rows(embeddings.astype(np.float32), min(neighbours, count - 1)))


def graph_of_neighbours(cosines: Singles, nearest: Integers) -> Sparse:
    """The graph of `affinity_graph`, of the neighbours of each row and their cosines; -1 stands for no neighbour."""
    count = len(nearest)
    weights = np.maximum(cosines.astype(np.float64), 0.0) ** WEIGHT_POWER
    weights[nearest < 0] = 0.0  # an approximate search may find fewer
    rows = np.repeat(np.arange(count), nearest.shape[1])
    directed = sp.csr_array((weights.ravel(), (rows, np.maximum(nearest, 0).ravel())), shape=(count, count))
    graph = sp.csr_array(directed + directed.T)
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    scale = sp.diags_array(np.divide(1.0, np.sqrt(degrees), out=np.zeros(count), where=degrees > 0))
    return sp.csr_array(scale @ graph @ scale)


def spread_labels(graph: Sparse, given: Floats, alpha: float = ALPHA) -> Floats:
    """F ← α S F + (1 − α) Y, then columns of equal mass, entries squared and rows that add up to one.

    Zhou, Bousquet, Lal, Weston and Schölkopf, "Learning with Local and Global Consistency", NIPS 2003. What differs
    from the paper: the number of steps is fixed; each column of F is divided by its sum, so that a class whose labels
    happen to lie in a dense place does not flood the others; entries are squared, for a row's largest share is then
    about as often right as it says; and rows that had a label keep it as it was given.

    Args:
        graph: S, symmetric.
        given: Y, the labels as shares (see `Labels.shares`); zero rows for items without one.
        alpha: how much of an item's share comes from its neighbours.

    Returns:
        The share of every item in every class. A row is zero where no label reached it, and where its largest share
        belongs to two classes alike.
    """
    spread = balanced_shares(diffused(graph, given, alpha))
    known = given.any(axis=1)
    spread[known] = given[known]
    return spread


def diffused(graph: Sparse, given: Floats, alpha: float = ALPHA) -> Floats:
    """F after so many steps of F ← α S F + (1 − α) Y: linear in Y, and each column by itself."""
    spread = given
    for _ in range(STEPS):
        spread = alpha * (graph @ spread) + (1.0 - alpha) * given
    return spread


def balanced_shares(spread: Floats, mass: Floats | None = None) -> Floats:
    """Columns of equal mass, entries squared, and rows that add up to one; zero where two classes share the lead.

    Args:
        spread: F, as `diffused` gives it; or some of its rows.
        mass: of each column, where only some rows are given; or of each row's own columns.
    """
    spread = _divided(spread, spread.sum(axis=0, keepdims=True) if mass is None else mass)
    spread = _divided(spread, spread.max(axis=1, keepdims=True)) ** SHARPNESS
    spread = _divided(spread, spread.sum(axis=1, keepdims=True))
    if spread.shape[1] > 1:
        second, first = np.partition(spread, -2, axis=1)[:, -2:].T
        spread[first - second <= _UNDECIDED] = 0.0
    return spread


def _with_guesses(labels: Labels, soft: Floats, fresh: Booleans) -> Labels:
    """The labels, and for fresh items the class they have the largest share in."""
    places = np.flatnonzero(fresh), soft[fresh].argmax(axis=1)
    guesses = sp.csr_array((np.ones(len(places[0]), dtype=np.bool_), places), shape=soft.shape)
    return Labels(sp.csr_array(labels.matrix + guesses), labels.classes)


def _divided(values: Floats, by: Floats) -> Floats:
    return np.divide(values, by, out=np.zeros_like(values), where=by > 0)


def faiss() -> Any:  # noqa: ANN401 - the library has no types
    """The library of vector search."""
    return optional_package("faiss", "propagating labels", "search")


def nearest_rows(embeddings: Singles, count: int) -> tuple[Singles, Integers]:
    """The cosines and positions of each row's nearest other rows; -1 where fewer were found."""
    index = _index(embeddings)
    index.add(embeddings)
    cosines, found = index.search(embeddings, count + 1)
    own = found == np.arange(len(embeddings))[:, None]
    own[~own.any(axis=1), -1] = True  # a row with many equals may miss itself; its farthest one goes instead
    shape = (len(embeddings), count)
    return cosines[~own].reshape(shape), found[~own].reshape(shape)


def _index(embeddings: Singles) -> Any:  # noqa: ANN401 - faiss has no types
    """An exact index; for many rows one that looks into the nearest of 4 √n cells only, made alike every time."""
    library = faiss()
    rows, dimension = embeddings.shape
    flat = library.IndexFlatIP(dimension)
    if rows <= _EXACT_UP_TO:
        return flat
    index = library.IndexIVFFlat(flat, dimension, round(4 * rows**0.5), library.METRIC_INNER_PRODUCT)
    index.cp.niter = _CLUSTERING_ROUNDS
    index.nprobe = _PROBED_CELLS
    index.train(embeddings)
    return index
