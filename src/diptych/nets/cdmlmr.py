"""The network of CDMLMR as one module: base network, pathways and branches, for several members at once.

Its losses are in `cdmlmr_objective`; what they leave open stands here beside the shape.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from diptych._core.errors import ConfigError
from diptych.nets.dense import MemberLinear

Branch = Literal["contrastive", "quadruplet", "triplet"]
Negatives = Literal["softmin", "random"]
Weights = tuple[Tensor, Tensor]

SHARED_GAIN = 4.0
"""What the softmax on S multiplies its embeddings by, which lie within ±½."""

BRANCH_GAIN = 8.0
"""What the softmax on a branch multiplies its outputs by, which have length one."""


@dataclass(frozen=True)
class NetworkShape:
    """What decides the network's layers; each switch that is off takes a departure from the paper back.

    Attributes:
        columns: the number of features of each modality.
        classes: how many classes the softmax layers tell apart.
        members: how many networks are trained side by side.
        width: of every hidden layer, of S and of the branches.
        branches: the losses that have one; none leaves the base network.
        read_features: the supervised nets read the scaled features beside the DBN's embedding.
        feature_skip: a linear way from the features into S, starting at zero.
        equal_start: the pathways and branches of all modalities start from the same weights.
        branch_softmax: a softmax layer on each branch, shared by the modalities.
        stop_gradients: train the base network by its own losses only.
    """

    columns: Mapping[str, int]
    classes: int
    members: int
    width: int
    branches: tuple[Branch, ...] = ("contrastive", "quadruplet")
    read_features: bool = True
    feature_skip: bool = True
    equal_start: bool = True
    branch_softmax: bool = True
    stop_gradients: bool = False


@dataclass(frozen=True)
class CdmlmrOptions:
    """What the losses leave open.

    Attributes:
        contrastive_margin: α, between outputs of length one.
        quadruplet_margin: β, a squared distance.
        triplet_margin: of the triplet loss, a squared distance.
        quadruplet_negatives: "softmin" weighs all mismatches of the batch, "random" draws them as the paper does.
        mixup: parameter of the Beta distribution by which two labelled rows are blended; 0 blends none.
        input_dropout: share of the features set to zero.
        dropout: share of the supervised nets' units set to zero.
        unlabelled_weight: what unlabelled rows count at the end of training.
        neighbours: k of the graph in the batch.
        ramp_steps: steps over which unlabelled rows come to count.
        quantisation: weight of a term that draws outputs of the branches towards ±1, for binary codes.
    """

    contrastive_margin: float = 1.2
    quadruplet_margin: float = 1.0
    triplet_margin: float = 0.5
    quadruplet_negatives: Negatives = "softmin"
    mixup: float = 0.4
    input_dropout: float = 0.2
    dropout: float = 0.3
    unlabelled_weight: float = 1.0
    neighbours: int = 10
    ramp_steps: int = 100
    quantisation: float = 0.0

    def __post_init__(self) -> None:
        for name in ("contrastive_margin", "quadruplet_margin", "triplet_margin"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be above zero.")
        for name in ("mixup", "unlabelled_weight", "neighbours", "quantisation"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be zero or more.")
        for name in ("input_dropout", "dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be at least 0 and below 1.")
        if self.quadruplet_negatives not in ("softmin", "random"):
            raise ConfigError(f"quadruplet_negatives is {self.quadruplet_negatives!r}; choose one of softmin, random.")


class DeepBelief(nn.Module):
    """The way up through two trained machines, as sigmoid layers that go on training; all members share it.

    The first layer reads dense rows, or word frequencies that add up to a fixed length: its bias counts as often as
    the row has words, so that an empty text has the embedding σ(0) as in the machine.

    Args:
        first: weights and biases of the first layer.
        second: of the second.
        words: the fixed length; None for dense rows.
        first_column: where in a modality's rows the words begin, for rows that hold more than words.
    """

    def __init__(self, first: Weights, second: Weights, words: int | None, first_column: int = 0) -> None:
        super().__init__()
        self.words = words
        self.first_column = first_column
        self.first_weight, self.first_bias = (nn.Parameter(part.clone()) for part in first)
        self.second_weight, self.second_bias = (nn.Parameter(part.clone()) for part in second)

    def forward(self, visible: Tensor) -> Tensor:
        """Return the upper embedding, spread from (0, 1) to (−1, 1)."""
        length = 1.0 if self.words is None else visible.sum(1, keepdim=True) / self.words
        lower = torch.sigmoid(visible @ self.first_weight + length * self.first_bias)
        return 2.0 * torch.sigmoid(torch.addmm(self.second_bias, lower, self.second_weight)) - 1.0

    @property
    def width(self) -> int:
        """The width of the embedding."""
        return int(self.second_bias.shape[0])


class Tower(nn.Module):
    """One modality's layers: supervised net, the way into S, pathway, branches, and its net's decoder."""

    def __init__(self, columns: int, dbn: DeepBelief | None, shape: NetworkShape, random: torch.Generator) -> None:
        super().__init__()
        members, width = shape.members, shape.width
        inputs = (dbn.width if dbn is not None else 0) + (columns if shape.read_features else 0)

        def layer(size: int, outputs: int, scheme: str, bias: bool = True) -> MemberLinear:
            return MemberLinear(members, size, outputs, random, scheme, bias=bias)

        def entry(size: int, scheme: str, bias: bool = True) -> MemberLinear:
            return MemberLinear(members, size, width, random, scheme, bias=bias, fan_in=inputs, same_rows=True)

        self.dbn = dbn
        self.reads_dbn = entry(dbn.width, "he", bias=not shape.read_features) if dbn is not None else None
        self.reads_features = entry(columns, "he") if shape.read_features else None
        self.net = nn.ModuleList([layer(width, width, "he") for _ in range(2)])
        self.net_classes = layer(width, shape.classes, "xavier")
        self.into_shared = layer(width, width, "xavier", bias=False)
        self.skip = entry(columns, "zero", bias=False) if shape.feature_skip else None
        self.decoder = layer(width, width, "xavier")
        self.pathway = nn.ModuleList([layer(width, width, "he") for _ in range(3)] if shape.branches else [])
        self.branches = nn.ModuleDict({name: layer(width, width, "xavier") for name in shape.branches})

    def hidden(self, features: Tensor, visible: Tensor, kept: Tensor | None) -> Tensor:
        """Return the supervised net's last layer.

        Args:
            features: scaled rows.
            visible: what the DBN reads.
            kept: for each of three layers what every unit is multiplied by (dropout); None in use.
        """
        parts = []
        if self.reads_features is not None:
            parts.append(self.reads_features(features))
        if self.dbn is not None and self.reads_dbn is not None:
            parts.append(self.reads_dbn(self.dbn(visible)))
        hidden = torch.relu(sum(parts[1:], start=parts[0]))
        for place, layer in enumerate([None, *self.net]):
            hidden = hidden if layer is None else torch.relu(layer(hidden))
            hidden = hidden if kept is None else hidden * kept[place]
        return hidden

    def shared(self, hidden: Tensor, features: Tensor, bias: Tensor) -> Tensor:
        """Return S less ½."""
        entering = self.into_shared(hidden) + bias.unsqueeze(1)
        if self.skip is not None:
            entering = entering + self.skip(features)
        return torch.sigmoid(entering) - 0.5

    def branch_outputs(self, embedding: Tensor) -> dict[str, Tensor]:
        """Return what each branch gives for S less ½: sigmoids less ½, at length one."""
        upper = 2.0 * embedding
        for layer in self.pathway:
            upper = torch.relu(layer(upper))
        return {
            name: functional.normalize(torch.sigmoid(layer(upper)) - 0.5, dim=-1)
            for name, layer in self.branches.items()
        }


class CdmlmrNetwork(nn.Module):
    """DBN-started towers, supervised nets, shared embeddings S, pathways and branches, all trained together.

    Args:
        shape: the layers.
        dbns: each modality's two machines as layers; may be empty.
        random: the source of the weights.
    """

    def __init__(self, shape: NetworkShape, dbns: Mapping[str, DeepBelief], random: torch.Generator) -> None:
        super().__init__()
        self.shape = shape
        self.towers = nn.ModuleDict(
            {name: Tower(columns, dbns.get(name), shape, random) for name, columns in shape.columns.items()}
        )
        members, width, classes = shape.members, shape.width, shape.classes
        self.shared_bias = nn.Parameter(torch.zeros(members, width))
        self.shared_classes = MemberLinear(members, width, classes, random, "xavier")
        heads = shape.branches if shape.branch_softmax else ()
        self.branch_classes = nn.ModuleDict(
            {name: MemberLinear(members, width, classes, random, "xavier") for name in heads}
        )
        if shape.equal_start:
            self._start_equal()

    @property
    def modalities(self) -> tuple[str, ...]:
        """The modalities, in order."""
        return tuple(self.towers)

    @property
    def heads(self) -> tuple[str, ...]:
        """The softmax layers: on the supervised nets, on S, and on the branches."""
        return ("net", "shared", *self.branch_classes)

    def tower(self, modality: str) -> Tower:
        """One modality's layers."""
        tower = self.towers[modality]
        assert isinstance(tower, Tower)
        return tower

    def encode(self, modality: str, features: Tensor, visible: Tensor, kept: Tensor | None = None) -> dict[str, Tensor]:
        """Return all that the losses and retrieval read of one modality's rows, members first.

        The names are "hidden", "shared", "net classes", "shared classes", "to NAME" for the decoders, and for every
        branch its own name and "NAME classes".
        """
        tower = self.tower(modality)
        hidden = tower.hidden(features, visible, kept)
        embedding = tower.shared(hidden, features, self.shared_bias)
        outputs = {
            "hidden": hidden,
            "shared": embedding,
            "net classes": tower.net_classes(hidden),
            "shared classes": self.shared_classes(SHARED_GAIN * embedding),
        }
        outputs |= {f"to {name}": torch.relu(self.tower(name).decoder(2.0 * embedding)) for name in self.modalities}
        below = embedding.detach() if self.shape.stop_gradients else embedding
        for name, output in tower.branch_outputs(below).items():
            outputs[name] = output
            if name in self.branch_classes:
                outputs[f"{name} classes"] = self.branch_classes[name](BRANCH_GAIN * output)
        return outputs

    def posteriors(self, modality: str, features: Tensor, visible: Tensor, heads: Sequence[str]) -> Tensor:
        """Return the class probabilities of rows, averaged over members and heads."""
        outputs = self.encode(modality, features, visible)
        return torch.stack([outputs[head].softmax(-1).mean(0) for head in heads]).mean(0)

    def _start_equal(self) -> None:
        first, *others = (self.tower(name) for name in self.modalities)
        for other in others:
            other.pathway.load_state_dict(first.pathway.state_dict())
            other.branches.load_state_dict(first.branches.state_dict())
