"""When training stops: at the best step, or because it has broken down."""

import math
from dataclasses import dataclass
from typing import Any

import torch

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


class Breakdown(Exception):  # noqa: N818 - a signal between two rooms of this package, not an error users meet
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
