"""Correspondence autoencoder: two autoencoders whose codes of a pair are pulled together."""

from collections.abc import Mapping
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from diptych.errors import ConfigError
from diptych.nets.dense import dense
from diptych.nets.row_source import RowSource, same_length

Variant = Literal["corr", "cross", "full"]


class CorrespondenceAutoencoder(nn.Module):
    """h_m = σ(W_m x_m + b_m) for two modalities, sigmoid reconstructions, untied decoders (Feng et al. 2014).

    Args:
        sizes: width of each of the two modalities, by name.
        hidden: width of the codes.
        random: the source of the weights, N(0, 1/outputs).
        variant: what each code reconstructs: "corr" its own modality, "cross" the other, "full" both.
    """

    def __init__(
        self, sizes: Mapping[str, int], hidden: int, random: torch.Generator, *, variant: Variant = "full"
    ) -> None:
        super().__init__()
        if len(sizes) != 2:
            raise ConfigError(f"the correspondence autoencoder got the modalities {list(sizes)}; give exactly two.")
        if variant not in get_args(Variant):
            raise ConfigError(f"the variant is '{variant}'; choose one of {', '.join(get_args(Variant))}.")
        self.modalities = tuple(sizes)
        self.encoders = nn.ModuleDict({name: dense(size, hidden, random) for name, size in sizes.items()})
        self.routes = [(a, b) for a in sizes for b in sizes if variant == "full" or (a == b) == (variant == "corr")]
        self.decoders = nn.ModuleDict({f"{a}_to_{b}": dense(hidden, sizes[b], random) for a, b in self.routes})

    def code(self, modality: str, x: Tensor) -> Tensor:
        """Return the code of one modality's rows."""
        if modality not in self.modalities:
            raise ConfigError(f"the modality '{modality}' is unknown; this net has {', '.join(self.modalities)}.")
        return torch.sigmoid(self.encoders[modality](x))

    def loss_parts(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return ½‖error‖² of each reconstruction, named source_to_target, and ½‖h₁ − h₂‖² as "correspondence"."""
        codes = {name: self.code(name, inputs[name]) for name in self.modalities}
        parts = {}
        for source, target in self.routes:
            route = f"{source}_to_{target}"
            parts[route] = _half_squared(torch.sigmoid(self.decoders[route](codes[source])), inputs[target])
        first, second = codes.values()
        return {**parts, "correspondence": _half_squared(first, second)}


class CorrespondenceObjective:
    """(1 − α)·(sum of the reconstruction errors) + α·½‖h₁ − h₂‖², averaged over rows.

    Args:
        net: the net to train.
        data: rows of each modality, paired by position.
        alpha: share of the correspondence, from 0 to 1 (Feng et al. 2014 use 0.8 for corr and full, 0.2 for cross).
    """

    module: nn.Module

    def __init__(self, net: CorrespondenceAutoencoder, data: Mapping[str, RowSource], alpha: float) -> None:
        if not 0.0 <= alpha <= 1.0:
            raise ConfigError(f"alpha is {alpha}; it must lie from 0 to 1.")
        self.net = net
        self.module = net
        self.data = {name: data[name] for name in net.modalities}
        self.pairs = same_length(self.data.values())
        self.alpha = alpha

    def __len__(self) -> int:
        """Return the number of training pairs."""
        return self.pairs

    def gradients(self, rows: Tensor, step: int, random: torch.Generator) -> dict[str, Tensor]:
        """Back-propagate the loss; report it and each part unweighted."""
        parts = self.net.loss_parts({name: source[rows] for name, source in self.data.items()})
        reconstruction = torch.stack([part for name, part in parts.items() if name != "correspondence"]).sum()
        loss = (1.0 - self.alpha) * reconstruction + self.alpha * parts["correspondence"]
        loss.backward()  # type: ignore[no-untyped-call]
        return {"loss": loss.detach(), **{name: part.detach() for name, part in parts.items()}}


def _half_squared(guess: Tensor, target: Tensor) -> Tensor:
    return 0.5 * (guess - target).square().sum(1).mean()
