"""Members: several networks of one shape, trained side by side in one batched computation."""

from math import sqrt

import torch
from torch import Tensor, nn

from diptych.nets.dense import Scheme


class MemberLinear(nn.Module):
    """The same linear layer for each of K members, with weights of their own.

    Rows come either once for all members (rows × inputs) or for each by itself (K × rows × inputs); the result is
    always K × rows × outputs. Rows that all members share are multiplied by all weights in one product.

    Args:
        members: K.
        inputs: width of a row.
        outputs: width of the result.
        random: the source of the weights.
        scheme: "he" or "xavier" as in `diptych.nets.dense.dense`, or "zero".
        bias: whether the layer has one; it starts at zero.
        fan_in: the number of inputs that the scheme counts, where this layer reads only some of them.
    """

    def __init__(
        self,
        members: int,
        inputs: int,
        outputs: int,
        random: torch.Generator,
        scheme: Scheme | str = "he",
        *,
        bias: bool = True,
        fan_in: int | None = None,
    ) -> None:
        super().__init__()
        weight = torch.zeros(members, inputs, outputs)
        counted = inputs if fan_in is None else fan_in
        if scheme == "he":
            weight.normal_(0.0, sqrt(2.0 / counted), generator=random)
        elif scheme == "xavier":
            bound = sqrt(6.0 / (counted + outputs))
            weight.uniform_(-bound, bound, generator=random)
        self.weight = nn.Parameter(weight)
        self.bias = nn.Parameter(torch.zeros(members, outputs)) if bias else None

    def forward(self, rows: Tensor) -> Tensor:
        """Apply every member's layer."""
        members, inputs, outputs = self.weight.shape
        if rows.ndim == 2:
            wide = rows @ self.weight.permute(1, 0, 2).reshape(inputs, members * outputs)
            result = wide.view(len(rows), members, outputs).transpose(0, 1)
            return result if self.bias is None else result + self.bias.unsqueeze(1)
        if self.bias is None:
            return torch.bmm(rows, self.weight)
        return torch.baddbmm(self.bias.unsqueeze(1), rows, self.weight)
