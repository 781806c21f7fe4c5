"""Noticing that training has broken down, and saying what to change."""

import math

import torch


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
