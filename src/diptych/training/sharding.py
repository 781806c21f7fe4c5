"""A batch encoded by several processes: each takes its share of the rows, and all see the codes of the whole batch."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from diptych.training.distributed import World
from diptych.training.objective import Inputs, Outputs, RowwiseObjective


@contextmanager
def sharded(objective: RowwiseObjective, world: World) -> Iterator[None]:
    """Divide the rows of every batch among the processes while the block lasts.

    Every process computes the whole loss on the gathered codes. Its gradient reaches only the rows that the process
    encoded itself, and DistributedDataParallel adds these parts up: the gradients are those of one process that
    encodes all rows, in value and not only on average. The weights of the first process are those of all from the
    start.
    """
    whole = objective.encode
    parallel = DistributedDataParallel(_Encoder(objective.module, whole))
    objective.encode = lambda inputs: _encode(parallel, inputs, world)
    try:
        yield
    finally:
        objective.encode = whole


class _Encoder(nn.Module):
    """An objective's `encode` as a module, which is what DistributedDataParallel takes."""

    def __init__(self, module: nn.Module, encode: Callable[[Inputs], Outputs]) -> None:
        super().__init__()
        self.module = module
        self.encode = encode

    def forward(self, inputs: Inputs) -> Outputs:
        return self.encode(inputs)


def _encode(encoder: nn.Module, inputs: Inputs, world: World) -> Outputs:
    """Encode this process's rows and return everybody's."""
    shares = {name: [len(part) for part in torch.tensor_split(rows, world.size)] for name, rows in inputs.items()}
    mine: Outputs = encoder({name: torch.split(rows, shares[name])[world.rank] for name, rows in inputs.items()})
    places = [(name, branch) for name, branches in mine.items() for branch in branches]
    # One call for all codes: those that a loss does not use then get a gradient of zero, for which all must wait.
    gathered = _Gather.apply(world, [shares[name] for name, _ in places], *(mine[name][b] for name, b in places))  # type: ignore[no-untyped-call]
    outputs: Outputs = {name: {} for name in mine}
    for (name, branch), codes in zip(places, gathered, strict=True):
        outputs[name][branch] = codes
    return outputs


class _Gather(torch.autograd.Function):
    """Codes of all processes below each other, in the order of the ranks."""

    @staticmethod
    def forward(ctx: Any, world: World, shares: list[list[int]], *mine: Tensor) -> tuple[Tensor, ...]:  # noqa: ANN401
        ctx.world, ctx.shares = world, shares
        return tuple(_gather_rows(codes, share) for codes, share in zip(mine, shares, strict=True))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        # Every process holds the gradient of the same loss, so each keeps its own rows and nothing is sent. The factor
        # undoes the division by the number of processes in DistributedDataParallel, which takes a mean over them.
        world = ctx.world
        parts = zip(gradients, ctx.shares, strict=True)
        return None, None, *(torch.split(grad, share)[world.rank] * world.size for grad, share in parts)


def _gather_rows(mine: Tensor, share: list[int]) -> Tensor:
    longest = max(share)
    padded = mine.new_zeros((longest, *mine.shape[1:]))  # the backends want equal shapes
    padded[: len(mine)] = mine
    parts = [torch.empty_like(padded) for _ in share]
    dist.all_gather(parts, padded)
    return torch.cat([part[:count] for part, count in zip(parts, share, strict=True)])
