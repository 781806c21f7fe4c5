"""A semantic hierarchy of the classes, and how relevant items of one class are to those of another."""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import squareform

from diptych._core.arrays import Floats

_LETTERS = 3


def class_relevance(contents: Mapping[str, Floats], names: Sequence[str], name_weight: float) -> Floats:
    """How relevant the classes are to each other, by the tree that joins the most alike of them first.

    Two classes are as alike as their mean rows (cosine, averaged over the modalities) and their names (shared runs of
    three letters). Average linkage makes a tree of that; the relevance of two classes is 1 − h / h_root with h the
    height at which they meet: 1 for a class with itself, 0 for classes that meet at the root only.

    Args:
        contents: by modality, the mean centred row of each class, zero for a class without any.
        names: of the classes, in the same order.
        name_weight: the share of the names in the similarity, from 0 to 1; the rest is content.

    Returns:
        A symmetric matrix, classes × classes.

    >>> means = {"image": np.array([[1.0, 0.0], [0.9, 0.1], [-1.0, 0.0]])}
    >>> class_relevance(means, ["cat", "dog", "rock"], name_weight=0.0).round(2)
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """
    count = len(names)
    if count < 2:
        return np.ones((count, count))
    content = np.mean([_cosines(means) for means in contents.values()], axis=0)
    alike = (1.0 - name_weight) * (content + 1.0) / 2.0 + name_weight * name_similarity(names)
    distances = np.clip(1.0 - alike, 0.0, None)
    np.fill_diagonal(distances, 0.0)
    tree = linkage(squareform((distances + distances.T) / 2.0, checks=False), method="average")
    root = float(tree[-1, 2])
    if root == 0.0:  # nothing tells the classes apart
        return np.eye(count)
    return np.asarray(1.0 - squareform(cophenet(tree)) / root)


def flat_relevance(count: int) -> Floats:
    """The relevance without a hierarchy: 1 for a class with itself and 0 for all others."""
    return np.eye(count)


def name_similarity(names: Sequence[str]) -> Floats:
    """The cosine of the names' counts of runs of three letters, word ends included; 1 for equal names.

    >>> name_similarity(["tennis court", "basketball court", "river"]).round(2)
    array([[1.  , 0.39, 0.  ],
           [0.39, 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    """
    runs = [_runs(name) for name in names]
    places = {run: place for place, run in enumerate(sorted({run for each in runs for run in each}))}
    counts = np.zeros((len(names), max(1, len(places))))
    for row, each in enumerate(runs):
        for run in each:
            counts[row, places[run]] += 1.0
    similarity = _cosines(counts)
    np.fill_diagonal(similarity, 1.0)
    return similarity


def _runs(name: str) -> list[str]:
    words = (f" {word} " for word in "".join(c if c.isalnum() else " " for c in name.casefold()).split())
    return [word[start : start + _LETTERS] for word in words for start in range(max(1, len(word) - _LETTERS + 1))]


def _cosines(rows: Floats) -> Floats:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    units = np.divide(rows, norms, out=np.zeros_like(rows, dtype=np.float64), where=norms > 0)
    return np.asarray(units @ units.T)
