"""What the loop asks of a network: the gradients of one step."""

from collections.abc import Callable
from typing import Protocol, TypeVar, runtime_checkable

import torch

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


Inputs = dict[str, torch.Tensor]
"""A batch's rows, by modality."""

Outputs = dict[str, dict[str, torch.Tensor]]
"""What a net makes of them, by modality and then by name."""


@runtime_checkable
class RowwiseObjective(Protocol):
    """An objective whose net treats every row by itself, so that several processes can divide a batch.

    The loss may couple rows as it likes: it is computed from what `encode` returns for the whole batch.

    Attributes:
        encode: all that the net does in a step, called once; may be replaced by something that returns the same.
    """

    encode: Callable[[Inputs], Outputs]

    @property
    def module(self) -> torch.nn.Module:
        """Everything that is trained."""
        ...
