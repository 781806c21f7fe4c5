"""Two towers and a classifier they share: a plain net for pairs, and the two losses that train it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from diptych._core.errors import ConfigError
from diptych.nets.dense import MemberLinear, half_products
from diptych.nets.losses import soft_cross_entropy
from diptych.nets.rows import MixedBatch, RowSource

Outputs = dict[str, dict[str, Tensor]]

HIDDEN_LAYERS = 2
SHORTEST = 0.01
"""Embeddings shorter than this are not brought to length one: where all units were dropped there is no direction."""


@dataclass(frozen=True)
class TwoTowerOptions:
    """What the losses leave open.

    Attributes:
        temperature: τ, what similarities are divided by before the softmax over the batch.
        contrast_weight: weight of InfoNCE.
        class_weight: what the cross-entropy of the labels counts.
        input_dropout: share of the features set to zero, the same ones for all members.
        dropout: share of the hidden units set to zero.
    """

    temperature: float = 0.07
    contrast_weight: float = 1.0
    class_weight: float = 1.0
    input_dropout: float = 0.2
    dropout: float = 0.5

    def __post_init__(self) -> None:
        if not self.temperature > 0:
            raise ConfigError(f"temperature is {self.temperature}; it must be above zero.")
        for name in ("contrast_weight", "class_weight"):
            if not getattr(self, name) >= 0:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be zero or more.")
        if self.contrast_weight == self.class_weight == 0:
            raise ConfigError("contrast_weight and class_weight are both 0, so nothing would be learned; raise one.")
        for name in ("input_dropout", "dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be at least 0 and below 1.")


class TwoTowerNet(nn.Module):
    """A tower for each modality, columns → hidden → hidden → width with ReLU, and one linear classifier on top of all.

    Args:
        columns: the number of features of each modality.
        classes: how many classes the classifier tells apart.
        random: the source of the weights.
        members: how many nets are trained side by side.
        hidden: width of the hidden layers.
        width: of the embedding.
    """

    def __init__(
        self,
        columns: Mapping[str, int],
        classes: int,
        random: torch.Generator,
        *,
        members: int = 1,
        hidden: int = 512,
        width: int = 256,
    ) -> None:
        super().__init__()
        self.members = members
        self.hidden = hidden
        self.towers = nn.ModuleDict(
            {
                name: nn.ModuleList(
                    [
                        MemberLinear(members, inputs, hidden, random, "xavier", same_rows=True),
                        MemberLinear(members, hidden, hidden, random, "xavier"),
                        MemberLinear(members, hidden, width, random, "xavier"),
                    ]
                )
                for name, inputs in columns.items()
            }
        )
        self.classifier = MemberLinear(members, width, classes, random, "xavier")

    def layers(self, modality: str) -> list[MemberLinear]:
        """One tower's layers, in order."""
        tower = self.towers[modality]
        assert isinstance(tower, nn.ModuleList)
        return [layer for layer in tower if isinstance(layer, MemberLinear)]

    def encode(self, modality: str, rows: Tensor, kept: Tensor | None = None) -> dict[str, Tensor]:
        """Return the "embedding" and the "classes" (logits) of rows, members first.

        Args:
            modality: whose tower.
            rows: scaled features.
            kept: for each hidden layer what every unit is multiplied by (dropout); None in use.
        """
        *hidden, last = self.layers(modality)
        for place, layer in enumerate(hidden):
            rows = torch.relu(layer(rows))
            rows = rows if kept is None else rows * kept[place]
        embedding = last(rows)
        return {"embedding": embedding, "classes": self.classifier(embedding)}


class TwoTowerObjective:
    """Cross-entropy of the labelled items and InfoNCE of all pairs of a batch, added up over members.

    L = w_class · Σ_modality −Σ_c t_c log p_c  +  w_contrast · InfoNCE, each averaged over its rows.

    Args:
        net: the network.
        rows: each modality's training rows, paired by place: labelled documents first, unlabelled ones after them.
        targets: the labelled documents' class probabilities; one-hot where labels are certain.
        options: temperature, weights and dropout.
    """

    def __init__(
        self, net: TwoTowerNet, rows: Mapping[str, RowSource], targets: Tensor, options: TwoTowerOptions
    ) -> None:
        self.module = net
        self.rows = dict(rows)
        self.targets = targets
        self.options = options
        self.encode: Callable[[dict[str, Tensor]], Outputs] = self._encode

    def __len__(self) -> int:
        return len(self.targets)

    def gradients(self, rows: MixedBatch, step: int, random: torch.Generator) -> dict[str, Tensor]:
        """Leave the gradients of the total loss of one batch; see `diptych.training.Objective`."""
        parts = self.losses(rows, random)
        torch.stack([part.sum() for part in parts.values()]).sum().backward()  # type: ignore[no-untyped-call]
        means = {name: part.detach().mean() for name, part in parts.items()}
        return {"loss": torch.stack(list(means.values())).sum(), **means}

    def losses(self, rows: MixedBatch, random: torch.Generator) -> dict[str, Tensor]:
        """Return the weighted losses of one batch, one value a member."""
        known = len(rows.labelled)
        outputs = self.encode(self._inputs(rows, random))
        targets = self.targets[rows.labelled]
        logits = [parts["classes"].transpose(0, 1)[:, :known] for parts in outputs.values()]
        classes = torch.stack([soft_cross_entropy(each, targets) for each in logits]).sum(0)
        first, second = (parts["embedding"].transpose(0, 1) for parts in outputs.values())
        pairs = info_nce_terms(first, second, self.options.temperature).mean(1)
        return {"classes": self.options.class_weight * classes, "pairs": self.options.contrast_weight * pairs}

    def _inputs(self, rows: MixedBatch, random: torch.Generator) -> dict[str, Tensor]:
        """The batch's rows after dropout, labelled ones first, and what the hidden units are multiplied by."""
        inputs = {}
        for name, source in self.rows.items():
            unlabelled = rows.unlabelled.get(name, rows.labelled[:0]) + len(self.targets)
            features = source[torch.cat([rows.labelled, unlabelled])]
            if self.options.input_dropout > 0:
                features = features * _kept(features.shape, self.options.input_dropout, features, random)
            inputs[name] = features
            if self.options.dropout > 0:
                sizes = (len(features), HIDDEN_LAYERS, self.module.members, self.module.hidden)
                inputs[f"{name} kept"] = _kept(sizes, self.options.dropout, features, random)
        return inputs

    def _encode(self, inputs: dict[str, Tensor]) -> Outputs:
        """Encode rows of every modality; rows come first in all that is returned, members second."""
        outputs: Outputs = {}
        for name in self.rows:
            features, kept = inputs[name], inputs.get(f"{name} kept")
            with half_products(features):
                encoded = self.module.encode(name, features, None if kept is None else kept.permute(1, 2, 0, 3))
            outputs[name] = {key: part.transpose(0, 1).to(features.dtype) for key, part in encoded.items()}
        return outputs


def info_nce_terms(first: Tensor, second: Tensor, temperature: float) -> Tensor:
    """Return every pair's symmetric InfoNCE for every member: how well a row tells its partner from the batch's others.

    With s_pq the cosine of row p and row q of the other modality over τ, the term of pair p is
    ½(log Σ_q e^{s_pq} + log Σ_q e^{s_qp}) − s_pp (van den Oord et al. 2018, both ways as in CLIP, Radford et al. 2021).

    Args:
        first: embeddings, members × rows × columns.
        second: those of the partners, in the same order.
        temperature: τ.
    """
    first, second = (functional.normalize(each, dim=-1, eps=SHORTEST) for each in (first, second))
    scores = torch.bmm(first, second.transpose(1, 2)) / temperature
    return 0.5 * (scores.logsumexp(2) + scores.logsumexp(1)) - scores.diagonal(dim1=1, dim2=2)


def _kept(shape: torch.Size | tuple[int, ...], share: float, like: Tensor, random: torch.Generator) -> Tensor:
    """What units are multiplied by when a share of them is dropped and the others make up for it."""
    drawn = torch.rand(shape, generator=random, dtype=like.dtype, device=like.device)  # faster than `bernoulli_`
    return (drawn >= share).to(like.dtype).mul_(1.0 / (1.0 - share))
