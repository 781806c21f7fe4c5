"""What the loop asks of a network: the gradients of one step."""

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

import torch

RowsT = TypeVar("RowsT")
RowsT_contra = TypeVar("RowsT_contra", contravariant=True)

Figures = dict[str, torch.Tensor]
"""Named detached scalars of one step; the first is the main figure to watch."""


class Objective(Protocol[RowsT_contra]):
    """Something that trains by steps.

    Whatever it learns or remembers from one step to the next must be a parameter or a buffer of its
    module, and whatever it draws must come from the generator it is given: then a run that was
    interrupted and resumed ends with the same bits as one that was not.
    """

    @property
    def module(self) -> torch.nn.Module:
        """Everything that is checkpointed: parameters and buffers."""
        ...

    def gradients(self, rows: RowsT_contra, step: int, random: torch.Generator) -> Figures:
        """Leave this step's gradients in `.grad` of the module's parameters, which the loop cleared before.

        Returns:
            Named detached scalars, the first being the main figure to watch.
        """
        ...


class LossObjective(Generic[RowsT]):
    """An objective that descends the sum of named losses by back-propagation."""

    def __init__(
        self, module: torch.nn.Module, loss_fn: Callable[[RowsT, int, torch.Generator], dict[str, torch.Tensor]]
    ) -> None:
        self.module = module
        self.loss_fn = loss_fn

    def gradients(self, rows: RowsT, step: int, random: torch.Generator) -> Figures:
        """Back-propagate the sum of the losses; report the parts, and first their sum `loss` if several."""
        losses = self.loss_fn(rows, step, random)
        total = torch.stack(list(losses.values())).sum()
        total.backward()  # type: ignore[no-untyped-call]
        parts = {name: loss.detach() for name, loss in losses.items()}
        return parts if len(parts) == 1 else {"loss": total.detach(), **parts}
