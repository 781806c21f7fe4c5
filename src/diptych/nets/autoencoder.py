"""Autoencoders: of one modality, of two that must correspond, and of two that meet in one middle layer."""

from collections.abc import Mapping, Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from diptych.nets.dense import Activation, DenseStack, dense
from diptych.nets.rows import RowSource, same_length


class Autoencoder(nn.Module):
    """ReLU layers down to the embedding, mirrored up again to a sigmoid output (stage one of CMDN, Peng et al. 2016).

    Args:
        sizes: width of the input, then of each encoding layer; the last is the embedding. (d, 1024) is the single
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

    def embed(self, x: Tensor) -> Tensor:
        """Return the innermost layer."""
        embedding: Tensor = self.encoder(x)
        return embedding

    def forward(self, x: Tensor) -> Tensor:
        """Return the reconstruction."""
        reconstruction: Tensor = self.decoder(self.embed(x))
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


Variant = Literal["corr", "cross", "full"]


class CorrespondenceAutoencoder(nn.Module):
    """h_m = σ(W_m x_m + b_m) for two modalities, sigmoid reconstructions, untied decoders (Feng et al. 2014).

    Args:
        sizes: width of each of the two modalities, by name.
        hidden: width of the embeddings.
        random: the source of the weights, N(0, 1/outputs).
        variant: what each embedding reconstructs: "corr" its own modality, "cross" the other, "full" both.
    """

    def __init__(
        self, sizes: Mapping[str, int], hidden: int, random: torch.Generator, *, variant: Variant = "full"
    ) -> None:
        super().__init__()
        self.modalities = tuple(sizes)
        self.encoders = nn.ModuleDict({name: dense(size, hidden, random) for name, size in sizes.items()})
        self.routes = [(a, b) for a in sizes for b in sizes if variant == "full" or (a == b) == (variant == "corr")]
        self.decoders = nn.ModuleDict({f"{a}_to_{b}": dense(hidden, sizes[b], random) for a, b in self.routes})

    def embed(self, modality: str, x: Tensor) -> Tensor:
        """Return the embedding of one modality's rows."""
        return torch.sigmoid(self.encoders[modality](x))

    def loss_parts(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return ½‖error‖² of each reconstruction, named source_to_target, and ½‖h₁ − h₂‖² as "correspondence"."""
        embeddings = {name: self.embed(name, inputs[name]) for name in self.modalities}
        parts = {}
        for source, target in self.routes:
            route = f"{source}_to_{target}"
            parts[route] = _half_squared(torch.sigmoid(self.decoders[route](embeddings[source])), inputs[target])
        first, second = embeddings.values()
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


class BimodalAutoencoder(nn.Module):
    """z = σ(W₁x₁ + W₂x₂ + b), reconstructions σ(V_m z + a_m), optional class head (Ngiam et al. 2011; CMDN, CDMLMR).

    The bias of the middle layer is shared, and a modality that is absent contributes zero, so that the embedding of one
    modality alone is σ(W_m x_m + b). Decoders are not tied to encoders.

    Args:
        sizes: width of each of the two modalities, by name.
        middle: width of the shared layer.
        random: the source of the weights, N(0, 1/outputs).
        classes: number of classes of the head; None for no head.
    """

    def __init__(
        self,
        sizes: Mapping[str, int],
        middle: int,
        random: torch.Generator,
        *,
        classes: int | None = None,
    ) -> None:
        super().__init__()
        self.modalities = tuple(sizes)
        self.encoders = nn.ModuleDict({name: dense(size, middle, random, bias=False) for name, size in sizes.items()})
        self.middle_bias = nn.Parameter(torch.zeros(middle))
        self.decoders = nn.ModuleDict({name: dense(middle, size, random) for name, size in sizes.items()})
        self.head = None if classes is None else dense(middle, classes, random)

    def encode(self, inputs: Mapping[str, Tensor]) -> Tensor:
        """Return the middle layer for the modalities given; those left out count as zero."""
        # The bias is added last, apart from the products: only so is "absent" bit for bit the same as "zero".
        total = sum((self.encoders[name](x) for name, x in inputs.items()), start=self.middle_bias.new_zeros(()))
        return torch.sigmoid(total + self.middle_bias)

    def embed(self, modality: str, x: Tensor) -> Tensor:
        """Return the middle layer reached from one modality alone."""
        return self.encode({modality: x})

    def decode(self, z: Tensor) -> dict[str, Tensor]:
        """Return the reconstruction of every modality."""
        return {name: torch.sigmoid(self.decoders[name](z)) for name in self.modalities}

    def loss_parts(
        self, inputs: Mapping[str, Tensor], targets: Mapping[str, Tensor], labels: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return ½‖x − x̂‖² of each modality and the cross-entropy, each averaged over rows, by name."""
        z = self.encode(inputs)
        parts = {
            f"reconstruction_{name}": _half_squared(guess, targets[name]) for name, guess in self.decode(z).items()
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
    """

    module: nn.Module

    def __init__(
        self,
        net: BimodalAutoencoder,
        data: Mapping[str, RowSource],
        labels: Tensor | None = None,
    ) -> None:
        self.net = net
        self.module = net
        self.data = {name: data[name] for name in net.modalities}
        self.pairs = same_length(self.data.values())
        self.labels = labels

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
        """Back-propagate the sum of the parts; report the sum and each part."""
        parts = self.net.loss_parts(*self.batch(rows))
        loss = torch.stack(list(parts.values())).sum()
        loss.backward()  # type: ignore[no-untyped-call]
        return {"loss": loss.detach(), **{name: part.detach() for name, part in parts.items()}}
