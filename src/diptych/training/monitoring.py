"""Monitoring of training: figures, history and logs, the best step, and signs of a breakdown."""

import csv
import io
import math
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import torch

from diptych._core.errors import ConfigError
from diptych._core.files import write_text
from diptych.training.steps import Figures, delete_unfinished

_SEEN = ("best_score", "best_step", "reference", "without_improvement")


@dataclass
class EarlyStop:
    """Follows a validation score where higher is better.

    The best step is the first with the highest score. Patience is stricter: it starts again only when a
    score exceeds the last one that did so by more than `minimum_improvement`.
    """

    patience: int | None = None
    minimum_improvement: float = 0.0
    best_score: float = -math.inf
    best_step: int = 0
    reference: float = -math.inf
    without_improvement: int = 0

    def update(self, step: int, score: float) -> bool:
        """Take note of a score; say whether it is the best so far."""
        if score > self.reference + self.minimum_improvement:
            self.reference, self.without_improvement = score, 0
        else:
            self.without_improvement += 1
        if score <= self.best_score:
            return False
        self.best_score, self.best_step = score, step
        return True

    @property
    def exhausted(self) -> bool:
        """Whether patience has run out."""
        return self.patience is not None and self.without_improvement >= self.patience

    def to_json(self) -> dict[str, Any]:
        """What has been seen so far; no score yet is None, since JSON has no infinity."""
        return {name: None if getattr(self, name) == -math.inf else getattr(self, name) for name in _SEEN}

    def restore(self, values: dict[str, Any]) -> None:
        """Go back to what `to_json` wrote; patience and the least improvement stay as they are."""
        for name in _SEEN:
            setattr(self, name, -math.inf if values[name] is None else values[name])


class Breakdown(Exception):  # noqa: N818 - caught by the loop, never shown to users
    """Training cannot go on; the loop turns this into a FitError with advice."""

    def __init__(self, step: int, what: str) -> None:
        super().__init__(what)
        self.step = step
        self.what = what

    def sentence(self, stage: str, rate: float, kept: str) -> str:
        """Say what happened, what to change and what is left."""
        return (
            f"{stage}: {self.what} at step {self.step}; lower the learning rate (it was {rate:.3g}), "
            f"clip the gradients (clip_norm) or scale the inputs. {kept}"
        )


def require_finite_weights(module: torch.nn.Module, step: int) -> None:
    """Refuse weights that hold a NaN or an infinity.

    A sum carries both along and needs one pass and no memory. Weights whose sum alone overflows are as good as lost.
    """
    for name, parameter in module.named_parameters():
        if not math.isfinite(parameter.detach().sum().item()):
            raise Breakdown(step, f"the parameter '{name}' stopped being finite")


def require_sound_figure(name: str, value: float, first: float, factor: float, step: int) -> None:
    """Refuse a main figure that is not finite, or has grown out of all proportion to its first value.

    First values below 1 count as 1, so that a loss that starts near zero may grow at first.
    """
    if not math.isfinite(value):
        raise Breakdown(step, f"{name} became {value}")
    if abs(value) > factor * max(abs(first), 1.0):
        raise Breakdown(step, f"{name} exploded from {first:.4g} to {value:.4g}")


@dataclass
class History:
    """The record of one stage.

    Attributes:
        rows: One dict a log point: `step`, the mean of each figure since the last one, `rate`, `momentum`.
        validations: Steps done and score, higher is better.
        steps: Steps done.
        best_step: Steps done when the validation score was best, or None without validation.
        stopped_early: Whether patience ran out.
        resumed_from: Steps already done when this attempt began; two histories that differ only here are equal.
    """

    stage: str
    rows: list[dict[str, float]] = field(default_factory=list)
    validations: list[tuple[int, float]] = field(default_factory=list)
    steps: int = 0
    best_step: int | None = None
    best_score: float | None = None
    stopped_early: bool = False
    resumed_from: int = field(default=0, compare=False)

    def to_json(self) -> dict[str, Any]:
        """The record as JSON; a figure that was not a number is None."""
        rows = [{name: value if math.isfinite(value) else None for name, value in row.items()} for row in self.rows]
        return {**vars(self), "rows": rows}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Rebuild what `to_json` wrote."""
        rows = [{name: math.nan if value is None else value for name, value in row.items()} for row in values["rows"]]
        validations = [(int(step), float(score)) for step, score in values["validations"]]
        return cls(**{**values, "rows": rows, "validations": validations})


Row = dict[str, float]


class CsvLog:
    """A CSV file that holds each row exactly once, however often training was interrupted.

    The rows known from the checkpoint replace whatever the file held; later ones are appended.
    """

    def __init__(self, path: Path, rows: list[Row]) -> None:
        self.path = path
        self.rows = rows
        self.columns: list[str] = []
        delete_unfinished(path)
        self._rewrite()

    def append(self, row: Row) -> None:
        """Write the row, which is already the last of `rows`."""
        if set(row) <= set(self.columns):
            with self.path.open("a", encoding="utf-8", newline="") as file:
                csv.DictWriter(file, self.columns, restval="", lineterminator="\n").writerow(row)
        else:  # a figure that was not there before needs a column
            self._rewrite()

    def _rewrite(self) -> None:
        self.columns = list(dict.fromkeys(name for row in self.rows for name in row))
        text = io.StringIO()
        writer = csv.DictWriter(text, self.columns, restval="", lineterminator="\n")
        if self.columns:
            writer.writeheader()
        writer.writerows(self.rows)
        write_text(self.path, text.getvalue())


class RunLog:
    """The logs of one stage; without a folder it does nothing."""

    def __init__(self, folder: Path | None, history: History, *, tensorboard: bool = False) -> None:
        self.history = history
        self._board: Any = None
        self._files: tuple[CsvLog, CsvLog] | None = None
        if folder is None:
            return
        validations = [{"step": step, "score": score} for step, score in history.validations]
        self._files = CsvLog(folder / "log.csv", history.rows), CsvLog(folder / "validation.csv", validations)
        if tensorboard:
            self._board = _open_board(folder / "tensorboard", history)

    def figures(self, row: Row) -> None:
        """Add a log point to the history and the logs."""
        self.history.rows.append(row)
        if self._files:
            self._files[0].append(row)
        self._show(row)

    def validation(self, step: int, score: float) -> None:
        """Add a validation to the history and the logs."""
        self.history.validations.append((step, score))
        row = {"step": step, "score": score}
        if self._files:
            self._files[1].rows.append(row)
            self._files[1].append(row)
        self._show({"step": step, "validation": score})

    def _show(self, row: Row) -> None:
        if self._board is not None:
            for name, value in row.items():
                if name != "step":
                    self._board.add_scalar(name, value, int(row["step"]))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._board is not None:
            self._board.close()


def _open_board(folder: Path, history: History) -> Any:  # noqa: ANN401 - the package is optional
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ConfigError(
            "tensorboard is not installed; run `pip install diptych[tensorboard]` or leave it off."
        ) from None
    return SummaryWriter(str(folder), purge_step=history.resumed_from + 1)


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
