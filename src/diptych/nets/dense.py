"""Fully connected layers, stacks of them, and the supervised net with its softmax head."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import sqrt
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from diptych._core.errors import ConfigError
from diptych.nets.row_source import RowSource, same_length

Scheme = Literal["fan_out", "he", "xavier"]
Activation = Literal["relu", "sigmoid", "tanh", "linear"]

_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "linear": lambda x: x,
}


def activation_function(name: str) -> Callable[[Tensor], Tensor]:
    """Return the activation of that name."""
    if name not in _ACTIVATIONS:
        raise ConfigError(f"activation is '{name}'; choose one of {', '.join(_ACTIVATIONS)}.")
    return _ACTIVATIONS[name]


def dense(
    inputs: int, outputs: int, random: torch.Generator, scheme: Scheme = "fan_out", bias: bool = True
) -> nn.Linear:
    """Return a linear layer with weights drawn from `random` and zero biases.

    Args:
        inputs: width of a row.
        outputs: width of the result.
        random: the only source of the weights.
        scheme: "fan_out" is N(0, 1/outputs), the initialisation of the CMDN configuration (Peng et al. 2016);
            "he" is N(0, 2/inputs) (He et al. 2015); "xavier" is uniform with variance 2/(inputs + outputs)
            (Glorot and Bengio 2010).
        bias: whether the layer has one.
    """
    # Made on "meta", the layer draws nothing from torch's hidden global stream.
    layer = nn.Linear(inputs, outputs, bias=bias, device="meta").to_empty(device="cpu")
    with torch.no_grad():
        if scheme == "fan_out":
            layer.weight.normal_(0.0, 1.0 / sqrt(outputs), generator=random)
        elif scheme == "he":
            layer.weight.normal_(0.0, sqrt(2.0 / inputs), generator=random)
        elif scheme == "xavier":
            bound = sqrt(6.0 / (inputs + outputs))
            layer.weight.uniform_(-bound, bound, generator=random)
        else:
            raise ConfigError(f"initialisation is '{scheme}'; choose one of fan_out, he, xavier.")
        if bias:
            layer.bias.zero_()
    return layer


def dropout(x: Tensor, share: float, random: torch.Generator | None) -> Tensor:
    """Zero a share of the units and scale up the rest; without a generator (inference) return x unchanged."""
    if share == 0.0 or random is None:
        return x
    kept = torch.rand(x.shape, generator=random, dtype=x.dtype, device=x.device) >= share
    return x * kept / (1.0 - share)


class DenseStack(nn.Module):
    """Layers in a row, each followed by an activation and optional dropout.

    Args:
        sizes: width of the input, then of every layer.
        random: the source of the weights.
        activation: after every layer, but for the last when `last` says otherwise.
        last: activation of the last layer; None means the same as the others.
        scheme: how weights start, see `dense`.
        dropout_share: share of units dropped after every layer during training; a layer with its own `last`
            activation is an output and drops none.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        random: torch.Generator,
        *,
        activation: Activation = "relu",
        last: Activation | None = None,
        scheme: Scheme = "fan_out",
        dropout_share: float = 0.0,
    ) -> None:
        super().__init__()
        if not 0.0 <= dropout_share < 1.0:
            raise ConfigError(f"dropout is {dropout_share}; it must be at least 0 and below 1.")
        pairs = list(pairwise(sizes))
        self.layers = nn.ModuleList(dense(inputs, outputs, random, scheme) for inputs, outputs in pairs)
        self.activations = [activation_function(activation)] * len(pairs)
        self.dropout_shares = [dropout_share] * len(pairs)
        if last is not None:
            self.activations[-1] = activation_function(last)
            self.dropout_shares[-1] = 0.0

    def forward(self, x: Tensor, random: torch.Generator | None = None) -> Tensor:
        """Return the last layer; dropout acts only when a generator is given."""
        for layer, activate, share in zip(self.layers, self.activations, self.dropout_shares, strict=True):
            x = dropout(activate(layer(x)), share, random)
        return x


class FeedForward(nn.Module):
    """Dense ReLU layers and a softmax head (the refinement net of CMDN, Peng et al. 2016, and of CDMLMR).

    Args:
        inputs: width of a row.
        classes: number of classes.
        random: the source of the weights.
        hidden: widths of the hidden layers.
        scheme: how weights start, see `dense`.
        dropout_share: share of hidden units dropped in training, the last hidden layer included.
    """

    def __init__(
        self,
        inputs: int,
        classes: int,
        random: torch.Generator,
        *,
        hidden: Sequence[int] = (1024, 1024, 1024),
        scheme: Scheme = "fan_out",
        dropout_share: float = 0.0,
    ) -> None:
        super().__init__()
        self.body = DenseStack((inputs, *hidden), random, scheme=scheme, dropout_share=dropout_share)
        self.head = dense(hidden[-1], classes, random, scheme)

    def hidden(self, x: Tensor, random: torch.Generator | None = None) -> Tensor:
        """Return the last hidden layer; dropout acts only when a generator is given."""
        code: Tensor = self.body(x, random)
        return code

    def forward(self, x: Tensor, random: torch.Generator | None = None) -> Tensor:
        """Return the class scores before the softmax."""
        scores: Tensor = self.head(self.hidden(x, random))
        return scores


class ClassificationObjective:
    """Cross-entropy of a feed-forward net on labelled rows.

    Args:
        net: the net to train.
        data: its training rows.
        labels: class of each row, int64 from 0.
    """

    module: nn.Module

    def __init__(self, net: FeedForward, data: RowSource, labels: Tensor) -> None:
        same_length((data, labels))
        self.net = net
        self.module = net
        self.data = data
        self.labels = labels

    def __len__(self) -> int:
        """Return the number of training rows."""
        return len(self.data)

    def gradients(self, rows: Tensor, step: int, random: torch.Generator) -> dict[str, Tensor]:
        """Back-propagate the mean cross-entropy; also report the share of rows classified correctly."""
        labels = self.labels[rows]
        scores = self.net(self.data[rows], random)
        loss = functional.cross_entropy(scores, labels)
        loss.backward()  # type: ignore[no-untyped-call]
        correct = (scores.detach().argmax(1) == labels).to(scores.dtype).mean()
        return {"cross_entropy": loss.detach(), "accuracy": correct}
