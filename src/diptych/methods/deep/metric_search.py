"""Choose on validation what the paper leaves open about the multi-task network: one value after the other."""

from collections.abc import Callable, Mapping
from typing import Any

from diptych._core.errors import FitError
from diptych.methods.deep.metric_stage import TrainedPathways
from diptych.methods.selection import Search
from diptych.nets.pathways import Representation

Grid = Mapping[str, tuple[float, ...]]
"""Values to try by name; the first is where the search begins."""

GRIDS: Mapping[str, Grid] = {
    "fast": {
        "rate": (0.01,),
        "dropout": (0.0,),
        "contrastive_margin": (5.0,),
        "quadruplet_margin": (5.0,),
        "unlabelled_weight": (1.0,),
    },
    "standard": {
        "rate": (0.001, 0.01),
        "dropout": (0.0, 0.5),
        "contrastive_margin": (5.0, 8.0),
        "quadruplet_margin": (5.0, 20.0),
        "unlabelled_weight": (1.0, 0.1),
    },
    "paper": {
        "rate": (0.001,),
        "dropout": (0.0,),
        "contrastive_margin": (5.0, 1.0, 2.0, 8.0),
        "quadruplet_margin": (5.0, 1.0, 10.0, 20.0),
        "unlabelled_weight": (1.0, 0.1, 0.3),
    },
}

TrainOnce = Callable[[Mapping[str, float]], TrainedPathways]


class MetricSearch:
    """Walk along one value at a time, keeping the best so far: a handful of trainings instead of the grid's dozens.

    Args:
        train_once: trains a network with values of the grid.
        representations: what may be retrieved; each trained network is scored with all of them.

    Attributes:
        search: the values tried and their scores.
        failures: the values that could not be trained, and why.
        best: the best network so far and its representation.
    """

    def __init__(self, train_once: TrainOnce, representations: tuple[Representation, ...]) -> None:
        self._train_once = train_once
        self._representations = representations
        self.search = Search()
        self.failures: list[dict[str, Any]] = []
        self.best: tuple[TrainedPathways, Representation] | None = None

    def run(self, grid: Grid) -> tuple[TrainedPathways, dict[str, Any]]:
        """Return the best network and the values that made it, its representation among them."""
        self._try({name: values[0] for name, values in grid.items()})
        for name, values in grid.items():
            for value in values[1:]:
                self._try({**self._chosen(grid), name: value})
        if self.best is None:
            reason = self.failures[0]["reason"]
            raise FitError(f"no setting of the multi-task network could be trained; the first failed so: {reason}")
        return self.best[0], self.search.best

    def _chosen(self, grid: Grid) -> dict[str, float]:
        if not self.search.trials:
            return {name: values[0] for name, values in grid.items()}
        return {name: self.search.best[name] for name in grid}

    def _try(self, values: Mapping[str, float]) -> None:
        try:
            trained = self._train_once(values)
        except FitError as error:  # a margin that lets the codes collapse is a bad value, not the end
            self.failures.append({"params": dict(values), "reason": str(error)})
            return
        for kind in self._representations:
            if self.search.add({**values, "representation": kind}, trained.score(kind)):
                self.best = trained, kind
