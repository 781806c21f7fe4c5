"""Dense layers and nets made of them, for one net or for several members side by side."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cache
from itertools import pairwise
from math import sqrt
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from diptych._core.errors import ConfigError
from diptych.nets.rows import RowSource, same_length

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
        else:
            bound = sqrt(6.0 / (inputs + outputs))
            layer.weight.uniform_(-bound, bound, generator=random)
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
        embedding: Tensor = self.body(x, random)
        return embedding

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


class MemberLinear(nn.Module):
    """The same linear layer for each of K members, with weights of their own; gives K × rows × outputs.

    Args:
        members: K.
        inputs: width of a row.
        outputs: width of the result.
        random: the source of the weights.
        scheme: "he" or "xavier" as in `diptych.nets.dense.dense`, or "zero".
        bias: whether the layer has one; it starts at zero.
        fan_in: the number of inputs that the scheme counts, where this layer reads only some of them.
        same_rows: all members read the same rows, which come once (rows × inputs) and meet all weights in one product;
            otherwise every member has rows of its own (K × rows × inputs).
    """

    def __init__(
        self,
        members: int,
        inputs: int,
        outputs: int,
        random: torch.Generator,
        scheme: str = "he",
        *,
        bias: bool = True,
        fan_in: int | None = None,
        same_rows: bool = False,
    ) -> None:
        super().__init__()
        # One product with all weights wants them side by side in memory, separate products one after the other.
        weight = torch.zeros((inputs, members, outputs) if same_rows else (members, inputs, outputs))
        counted = inputs if fan_in is None else fan_in
        if scheme == "he":
            weight.normal_(0.0, sqrt(2.0 / counted), generator=random)
        elif scheme == "xavier":
            bound = sqrt(6.0 / (counted + outputs))
            weight.uniform_(-bound, bound, generator=random)
        self.same_rows = same_rows
        self.weight = nn.Parameter(weight)
        self.bias = nn.Parameter(torch.zeros(members, outputs)) if bias else None

    def forward(self, rows: Tensor) -> Tensor:
        """Apply every member's layer."""
        if self.same_rows:
            inputs, members, outputs = self.weight.shape
            wide = rows @ self.weight.view(inputs, members * outputs)
            result = wide.view(len(rows), members, outputs).transpose(0, 1)
            return result if self.bias is None else result + self.bias.unsqueeze(1)
        if self.bias is None:
            return torch.bmm(rows, self.weight)
        return torch.baddbmm(self.bias.unsqueeze(1), rows, self.weight)

    def weight_of(self, member: int) -> Tensor:
        """One member's weights, inputs × outputs."""
        return self.weight[:, member] if self.same_rows else self.weight[member]


def half_products(like: Tensor) -> AbstractContextManager[None]:
    """Multiply single precision in bfloat16 where the processor has units for it, which is several times as fast.

    Weights, losses and the optimiser stay in single precision. Elsewhere, and for double precision, nothing changes.
    """
    usable = like.device.type == "cpu" and like.dtype == torch.float32 and _has_matrix_units()
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=usable)


@cache
def _has_matrix_units() -> bool:
    return bool(torch.cpu._is_amx_tile_supported())
