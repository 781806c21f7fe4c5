"""The supervised net: dense layers and a softmax head, whose last hidden layer is the class-aware code."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from diptych.nets.dense import DenseStack, Scheme, dense
from diptych.nets.row_source import RowSource, same_length


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
