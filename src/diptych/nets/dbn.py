"""Deep belief network: trained machines stacked and frozen, used as an encoder."""

from collections.abc import Sequence
from typing import cast

from torch import Tensor, nn

from diptych.nets.rbm import RestrictedBoltzmannMachine
from diptych.nets.row_source import RowSource, in_chunks


class DeepBeliefNetwork(nn.Module):
    """A stack of machines trained one after the other (Hinton, Osindero and Teh 2006), without joint fine-tuning.

    The code of a row is p(h₂ | p(h₁ | v)): each layer reads the probabilities of the one below. Scaling the input is
    the caller's; a text layer's length rule and gain belong to that layer and so apply here as they did in training.

    Args:
        layers: from the input upwards; they are frozen.
    """

    def __init__(self, layers: Sequence[RestrictedBoltzmannMachine]) -> None:
        super().__init__()
        self.layers = cast("list[RestrictedBoltzmannMachine]", nn.ModuleList(layers))
        self.requires_grad_(False)

    def forward(self, v: Tensor) -> Tensor:
        """Return the top probabilities of one batch."""
        for layer in self.layers:
            v = layer.hidden_probability(v)
        return v

    def encode(self, rows: RowSource, chunk: int = 1024) -> Tensor:
        """Return the codes of all rows, `chunk` rows at a time."""
        return in_chunks(self.forward, rows, chunk)
