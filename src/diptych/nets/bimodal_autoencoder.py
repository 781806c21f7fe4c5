"""Bimodal autoencoder: two modalities meet in one middle layer that each can reach alone."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

from diptych._core.errors import ConfigError
from diptych.nets.dense import Activation, activation_function, dense
from diptych.nets.row_source import RowSource, same_length


class BimodalAutoencoder(nn.Module):
    """z = σ(W₁x₁ + W₂x₂ + b), reconstructions g(V_m z + a_m), optional class head (Ngiam et al. 2011; CMDN, CDMLMR).

    The bias of the middle layer is shared, and a modality that is absent contributes zero, so that the code of one
    modality alone is σ(W_m x_m + b). Decoders are not tied to encoders.

    Args:
        sizes: width of each of the two modalities, by name.
        middle: width of the shared layer.
        random: the source of the weights, N(0, 1/outputs).
        classes: number of classes of the head; None for no head.
        reconstruction: g; "sigmoid" for inputs in [0, 1], "linear" for standardised ones.
    """

    def __init__(
        self,
        sizes: Mapping[str, int],
        middle: int,
        random: torch.Generator,
        *,
        classes: int | None = None,
        reconstruction: Activation = "sigmoid",
    ) -> None:
        super().__init__()
        if len(sizes) != 2:
            raise ConfigError(f"the bimodal autoencoder got the modalities {list(sizes)}; give exactly two.")
        self.modalities = tuple(sizes)
        self.encoders = nn.ModuleDict({name: dense(size, middle, random, bias=False) for name, size in sizes.items()})
        self.middle_bias = nn.Parameter(torch.zeros(middle))
        self.decoders = nn.ModuleDict({name: dense(middle, size, random) for name, size in sizes.items()})
        self.head = None if classes is None else dense(middle, classes, random)
        self.output = activation_function(reconstruction)

    def encode(self, inputs: Mapping[str, Tensor]) -> Tensor:
        """Return the middle layer for the modalities given; those left out count as zero."""
        # The bias is added last, apart from the products: only so is "absent" bit for bit the same as "zero".
        total = sum((self.encoders[name](x) for name, x in inputs.items()), start=self.middle_bias.new_zeros(()))
        return torch.sigmoid(total + self.middle_bias)

    def code(self, modality: str, x: Tensor) -> Tensor:
        """Return the middle layer reached from one modality alone."""
        if modality not in self.modalities:
            raise ConfigError(f"the modality '{modality}' is unknown; this net has {', '.join(self.modalities)}.")
        return self.encode({modality: x})

    def decode(self, z: Tensor) -> dict[str, Tensor]:
        """Return the reconstruction of every modality."""
        return {name: self.output(self.decoders[name](z)) for name in self.modalities}

    def loss_parts(
        self, inputs: Mapping[str, Tensor], targets: Mapping[str, Tensor], labels: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return ½‖x − x̂‖² of each modality and the cross-entropy, each averaged over rows, by name."""
        z = self.encode(inputs)
        parts = {
            f"reconstruction_{name}": 0.5 * (guess - targets[name]).square().sum(1).mean()
            for name, guess in self.decode(z).items()
        }
        if self.head is not None and labels is not None:
            parts["classification"] = functional.cross_entropy(self.head(z), labels)
        return parts


class BimodalObjective:
    """Reconstruct both modalities from the first alone, from the second alone, and from both.

    With n training pairs there are 3n rows: row r is pair r mod n; rows 0..n−1 see the first modality only, the next n
    the second only, the last n both. Targets and labels are never masked.

    Args:
        net: the net to train.
        data: rows of each modality, paired by position.
        labels: class of each pair; needed when the net has a head.
        reconstruction_weight: factor of the reconstruction parts.
        classification_weight: factor of the cross-entropy.
    """

    module: nn.Module

    def __init__(
        self,
        net: BimodalAutoencoder,
        data: Mapping[str, RowSource],
        labels: Tensor | None = None,
        *,
        reconstruction_weight: float = 1.0,
        classification_weight: float = 1.0,
    ) -> None:
        if net.head is not None and labels is None:
            raise ConfigError(
                "the bimodal autoencoder has a class head but got no labels; give labels or classes=None."
            )
        self.net = net
        self.module = net
        self.data = {name: data[name] for name in net.modalities}
        self.pairs = same_length(self.data.values())
        self.labels = labels
        self.reconstruction_weight = reconstruction_weight
        self.classification_weight = classification_weight

    def __len__(self) -> int:
        """Return the number of rows: three for each training pair."""
        return 3 * self.pairs

    def batch(self, rows: Tensor) -> tuple[dict[str, Tensor], dict[str, Tensor], Tensor | None]:
        """Return the masked inputs, the full targets and the labels of the rows."""
        pair, seen = rows % self.pairs, rows // self.pairs
        targets = {name: source[pair] for name, source in self.data.items()}
        inputs = {
            name: targets[name] * ((seen == position) | (seen == 2)).unsqueeze(1)
            for position, name in enumerate(self.net.modalities)
        }
        return inputs, targets, None if self.labels is None else self.labels[pair]

    def gradients(self, rows: Tensor, step: int, random: torch.Generator) -> dict[str, Tensor]:
        """Back-propagate the weighted sum of the parts; report the sum and each part unweighted."""
        parts = self.net.loss_parts(*self.batch(rows))
        loss = torch.stack([self._weight(name) * part for name, part in parts.items()]).sum()
        loss.backward()  # type: ignore[no-untyped-call]
        return {"loss": loss.detach(), **{name: part.detach() for name, part in parts.items()}}

    def _weight(self, part: str) -> float:
        return self.classification_weight if part == "classification" else self.reconstruction_weight
