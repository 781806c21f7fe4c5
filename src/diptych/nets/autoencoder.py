"""Autoencoder of one modality: single, and deep when grown from a trained single one."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from diptych.nets.dense import Activation, DenseStack
from diptych.nets.row_source import RowSource


class Autoencoder(nn.Module):
    """ReLU layers down to the code and mirrored up again, with a sigmoid output (stage one of CMDN, Peng et al. 2016).

    Args:
        sizes: width of the input, then of each encoding layer; the last is the code. (d, 1024) is the single
            autoencoder d → 1024 → d, (d, 1024, 512) the deep one d → 1024 → 512 → 1024 → d.
        random: the source of the weights, N(0, 1/outputs).
        output: activation of the reconstruction; "sigmoid" needs inputs in [0, 1].
    """

    def __init__(self, sizes: Sequence[int], random: torch.Generator, *, output: Activation = "sigmoid") -> None:
        super().__init__()
        self.sizes = tuple(sizes)
        self.output = output
        self.encoder = DenseStack(self.sizes, random)
        self.decoder = DenseStack(self.sizes[::-1], random, last=output)

    def code(self, x: Tensor) -> Tensor:
        """Return the innermost layer."""
        code: Tensor = self.encoder(x)
        return code

    def forward(self, x: Tensor) -> Tensor:
        """Return the reconstruction."""
        reconstruction: Tensor = self.decoder(self.code(x))
        return reconstruction

    def deepened(self, inner: int, random: torch.Generator) -> "Autoencoder":
        """Return an autoencoder with one more layer inside, whose outer layers are copies of this one's."""
        deep = Autoencoder((*self.sizes, inner), random, output=self.output).to(next(self.parameters()))
        with torch.no_grad():
            for new, old in zip(deep.encoder.layers, self.encoder.layers, strict=False):
                new.load_state_dict(old.state_dict())
            for new, old in zip(deep.decoder.layers[1:], self.decoder.layers, strict=True):
                new.load_state_dict(old.state_dict())
        return deep


class ReconstructionObjective:
    """½‖x − x̂‖², summed over columns and averaged over rows.

    Args:
        net: the autoencoder to train.
        data: its training rows.
    """

    module: nn.Module

    def __init__(self, net: Autoencoder, data: RowSource) -> None:
        self.net = net
        self.module = net
        self.data = data

    def __len__(self) -> int:
        """Return the number of training rows."""
        return len(self.data)

    def gradients(self, rows: Tensor, step: int, random: torch.Generator) -> dict[str, Tensor]:
        """Back-propagate the squared error."""
        x = self.data[rows]
        loss = 0.5 * (self.net(x) - x).square().sum(1).mean()
        loss.backward()
        return {"loss": loss.detach()}
