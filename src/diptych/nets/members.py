"""Members: several networks of one shape, trained side by side in one batched computation."""

from contextlib import AbstractContextManager
from functools import cache
from math import sqrt

import torch
from torch import Tensor, nn


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
