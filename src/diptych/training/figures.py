"""The figures of each step: kept as tensors, read a few at a time, averaged between log points."""

from typing import Any

import torch

from diptych.training.breakdown import require_sound_figure
from diptych.training.objective import Figures

READ_EVERY = 8
"""Steps between two reads: reading waits for the device, so it is not done at every step."""

GRADIENT_NORM = "gradient_norm"


class FigureWindow:
    """The figures since the last log point."""

    def __init__(self, explosion_factor: float) -> None:
        self.explosion_factor = explosion_factor
        self.first: float | None = None
        self._sums: dict[str, float] = {}
        self._counts: dict[str, int] = {}
        self._pending: list[tuple[int, Figures]] = []

    def add(self, step: int, figures: Figures) -> None:
        """Take the figures of one step, the main one first."""
        self._pending.append((step, figures))
        if len(self._pending) >= READ_EVERY:
            self.read()

    def read(self) -> None:
        """Read what is pending in one go, and refuse a main figure or gradient norm that is not sound."""
        if not self._pending:
            return
        values = torch.stack([value for _, figures in self._pending for value in figures.values()]).tolist()
        names = [(step, name, place) for step, figures in self._pending for place, name in enumerate(figures)]
        self._pending.clear()
        for (step, name, place), value in zip(names, values, strict=True):
            if place == 0:
                self.first = value if self.first is None else self.first
                require_sound_figure(name, value, self.first, self.explosion_factor, step)
            elif name == GRADIENT_NORM:
                require_sound_figure("the norm of the gradients", value, value, float("inf"), step)
            self._sums[name] = self._sums.get(name, 0.0) + value
            self._counts[name] = self._counts.get(name, 0) + 1

    def means(self) -> dict[str, float]:
        """Return the mean of each figure since the last call, and begin again."""
        self.read()
        means = {name: total / self._counts[name] for name, total in self._sums.items()}
        self._sums, self._counts = {}, {}
        return means

    def to_json(self) -> dict[str, Any]:
        """What has been read; sums that are not finite are None."""
        self.read()
        sums = {name: total if abs(total) < float("inf") else None for name, total in self._sums.items()}
        return {"first": self.first, "sums": sums, "counts": self._counts}

    def restore(self, values: dict[str, Any]) -> None:
        """Go back to what `to_json` wrote."""
        self.first, self._counts, self._pending = values["first"], dict(values["counts"]), []
        self._sums = {name: float("nan") if total is None else total for name, total in values["sums"].items()}
