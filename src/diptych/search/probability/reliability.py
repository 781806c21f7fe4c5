"""Reliability of probabilities: of the pairs given 70 %, do 70 % belong together?"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from diptych._core.arrays import Floats
from diptych._core.rendering import COLOURS, new_figure
from diptych.data import Dataset, Partition
from diptych.search.listing import Lister
from diptych.search.probability import Pairs, ProbabilityMap, Side, itself
from diptych.search.probability.calibration import Calibration
from diptych.search.query import Direction

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BINS = 10
TOP = 10
_ROWS = 256
_MOST_ASKED, _AT_ONCE = 300, 64
"""Queries that an index is asked to judge it, and how many of them together."""


def reliability(
    probabilities: ArrayLike, relevant: ArrayLike, weights: ArrayLike | None = None, *, bins: int = BINS
) -> dict[str, Any]:
    """The reliability curve and the expected calibration error.

    The pairs are put into bins of equal width by their probability. With n_b the weight of a bin, p_b its mean
    probability and f_b the share of relevant pairs, the error is Σ_b n_b/n · |p_b − f_b| (Naeini et al., AAAI 2015).

    Returns:
        `error`, `pairs`, and `curve`: for each bin that is not empty its mean `probability`, the `frequency` of
        relevant pairs and the `share` of all pairs in it.
    """
    given = np.asarray(probabilities, dtype=np.float64)
    truth = np.asarray(relevant, dtype=np.float64)
    counts = np.ones_like(given) if weights is None else np.asarray(weights, dtype=np.float64)
    place = np.minimum((given * bins).astype(np.int64), bins - 1)
    size, said, seen = (np.bincount(place, counts * column, bins) for column in (np.ones_like(given), given, truth))
    filled = np.flatnonzero(size)
    curve = [
        {"probability": said[b] / size[b], "frequency": seen[b] / size[b], "share": size[b] / size.sum()}
        for b in filled
    ]
    error = sum(point["share"] * abs(point["probability"] - point["frequency"]) for point in curve)
    return {"error": float(error), "pairs": len(given), "curve": [{k: float(v) for k, v in p.items()} for p in curve]}


def judged(curve: ProbabilityMap, pairs: Pairs, best: Pairs) -> dict[str, Any]:
    """The reliability over all pairs, and over the best hits of each query, which are what a person sees.

    Most pairs are hopeless and rightly given almost nothing, so that the first figure alone would flatter.
    """
    return {"all_pairs": reliability(curve(pairs.cosines), pairs.relevant, pairs.weights)} | judged_best(curve, best)


def judged_best(curve: ProbabilityMap, best: Pairs) -> dict[str, Any]:
    """The reliability over the best hits."""
    return {f"top_{TOP}": reliability(curve(best.cosines), best.relevant)}


def best_of(queries: Side, gallery: Side, count: int = TOP) -> Pairs:
    """The pairs of each query with its best items of a gallery."""
    cosines, relevant = [np.zeros(0)], [np.zeros(0, np.bool_)]
    for start in range(0, len(queries), _ROWS):
        block = queries.take(np.arange(start, min(start + _ROWS, len(queries))))
        scores = np.where(itself(block, gallery), -np.inf, block.embeddings @ gallery.embeddings.T)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :count]
        found = np.take_along_axis(scores, best, axis=1)
        shared = np.take_along_axis(block.labels.shared_with(gallery.labels), best, axis=1)
        real = np.isfinite(found)
        cosines.append(found[real])
        relevant.append(shared[real])
    joined = np.concatenate(cosines)
    return Pairs(joined, np.concatenate(relevant), np.ones(len(joined)))


@dataclass(frozen=True)
class BestEntries:
    """Asks an index for the best entries of queries, as a search does.

    Attributes:
        lister: asks the index.
        dataset: what the index was built of.
        truth: all its items, with labels that say what belongs together.
        purpose: in which space is searched.
    """

    lister: Lister
    dataset: Dataset
    truth: Partition
    purpose: str | None

    def __call__(self, queries: Side, gallery: str) -> Pairs:
        """The pairs of some queries with their ten best entries, where it is known whether they belong."""
        asked = queries.take(np.linspace(0, len(queries) - 1, min(len(queries), _MOST_ASKED)).astype(np.int64))
        cosines, relevant = [np.zeros(0)], [np.zeros(0, np.bool_)]
        for start in range(0, len(asked), _AT_ONCE):
            block = asked.take(np.arange(start, min(start + _AT_ONCE, len(asked))))
            directions = [self._direction(row, block.modality) for row in block.embeddings]
            for item, listed in zip(block.items, self.lister.by_vector(directions, TOP + 1, gallery), strict=True):
                rows = np.array([self._rows[name] for name in listed.items], np.int64)
                labels = self.truth.labels.take(rows)
                kept = labels.is_labelled & ((rows != item) | (gallery != block.modality))
                own = self.truth.labels.take(np.array([item]))
                cosines.append(listed.scores[kept][:TOP])
                relevant.append(own.shared_with(labels)[0][kept][:TOP])
        joined = np.concatenate(cosines)
        return Pairs(joined, np.concatenate(relevant), np.ones(len(joined)))

    def size(self, gallery: str) -> int:
        """How many entries of a modality are searched."""
        return self.lister.index.count(modality=gallery)

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {id: row for row, id in enumerate(self.dataset.ids.tolist())}

    def _direction(self, row: Floats, modality: str) -> Direction:
        """A query by its coordinates in the space of the purpose."""
        vector = np.zeros(self.lister.index.identity.dimension, np.float32)
        vector[self.lister.spaces.columns(self.purpose)] = row
        return Direction(vector, modality, True, frozenset(), frozenset(), self.purpose)


_ACROSS = 3
_SERIES = {"all_pairs": "all pairs", f"top_{TOP}": f"the best {TOP} results"}


def draw_reliability(calibration: Calibration) -> "Figure":
    """Draw the curves of all directions that were judged; a marker's area is the share of pairs in its bin."""
    curves = {
        _title(each.purpose, query, gallery): facts["test"]
        for each in calibration.each()
        for (query, gallery), facts in each.facts.items()
        if "test" in facts
    }
    rows = -(-len(curves) // _ACROSS)
    figure = new_figure(figsize=(2.6 * _ACROSS, 2.7 * rows + 0.5), layout="constrained")
    panels = figure.subplots(rows, _ACROSS, sharex=True, sharey=True, squeeze=False)
    for axes in panels.flat[len(curves) :]:
        axes.set_visible(False)
    for axes, (title, found) in zip(panels.flat, curves.items(), strict=False):
        _panel(axes, found)
        axes.set_title(title, fontsize=9)
    figure.supxlabel("probability that was said", fontsize=9)
    figure.supylabel("share that belonged, test items", fontsize=9)
    handles, names = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(names), frameon=False)
    return figure


def _title(purpose: str | None, query: str, gallery: str) -> str:
    return f"{query} → {gallery}" if purpose is None else f"{purpose}: {query} → {gallery}"


def _panel(axes: "Axes", found: Mapping[str, Any]) -> None:
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=0.8, linestyle=":")
    for colour, (key, name) in zip(COLOURS, _SERIES.items(), strict=False):
        curve = found[key]["curve"]
        said, seen = ([point[axis] for point in curve] for axis in ("probability", "frequency"))
        axes.plot(said, seen, color=colour, linewidth=1.0, label=name)
        axes.scatter(said, seen, s=[6 + 120 * point["share"] for point in curve], color=colour, alpha=0.6, linewidth=0)
    axes.set_xlim(-0.03, 1.03)
    axes.set_ylim(-0.03, 1.03)
    axes.grid(alpha=0.25, linewidth=0.5)
