"""Where training runs: on one device, or divided among several processes."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
import torch.distributed.nn  # before there is a group: see `joined`
from safetensors.torch import load, save
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from diptych._core.errors import ConfigError
from diptych.training.steps import Inputs, Outputs, Record, RowwiseObjective, Tensors

RowsT = TypeVar("RowsT")


def pick_device(name: str) -> torch.device:
    """Turn `auto`, `cpu`, `cuda`, `cuda:1` or `mps` into a device that is really there.

    Raises:
        ConfigError: If the name is unknown or the device is absent.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    kind, _, number = name.partition(":")
    if kind not in ("cpu", "cuda", "mps") or (number and not number.isdigit()):
        raise ConfigError(f"device is '{name}'; it must be auto, cpu, cuda, cuda:<number> or mps.")
    if kind == "cuda" and not torch.cuda.is_available():
        raise ConfigError(
            f"device is '{name}' but torch sees no CUDA device; use cpu or install a CUDA build of torch."
        )
    if kind == "cuda" and number and int(number) >= torch.cuda.device_count():
        raise ConfigError(f"device is '{name}' but there are {torch.cuda.device_count()} CUDA devices, counted from 0.")
    if kind == "mps" and not torch.backends.mps.is_available():
        raise ConfigError(f"device is '{name}' but torch sees no Apple GPU; use cpu.")
    return torch.device(name)


def to_device(rows: RowsT, device: torch.device) -> RowsT:
    """Move a tensor, or the tensors inside a tuple, list or dict, to the device."""
    moved: object = rows
    if isinstance(rows, torch.Tensor):
        moved = rows.to(device)
    elif isinstance(rows, tuple) and hasattr(rows, "_make"):
        moved = type(rows)(*(to_device(part, device) for part in rows))
    elif isinstance(rows, tuple | list):
        moved = type(rows)(to_device(part, device) for part in rows)
    elif isinstance(rows, dict):
        moved = {name: to_device(part, device) for name, part in rows.items()}
    return moved  # type: ignore[return-value]


ValueT = TypeVar("ValueT")

THREADS_ALONE = "DIPTYCH_THREADS_ALONE"
"""The environment's word for the threads of a process that trains while the others wait."""

_PATIENCE = timedelta(days=365)
"""The others wait through whole stages; a process that dies is noticed by whoever started it, not by a clock."""


@dataclass(frozen=True)
class World:
    """The place of this process among those that train together; a process by itself is a world of one.

    Attributes:
        rank: its number, from 0.
        size: how many processes there are.
    """

    rank: int = 0
    size: int = 1

    @classmethod
    def current(cls) -> "World":
        """The world this process has joined, or the world of one."""
        if not (dist.is_available() and dist.is_initialized()):
            return cls()
        return cls(dist.get_rank(), dist.get_world_size())

    @property
    def is_first(self) -> bool:
        """Whether this process is the one that reads, writes, validates and reports."""
        return self.rank == 0

    @property
    def is_shared(self) -> bool:
        """Whether there are other processes."""
        return self.size > 1

    def agree(self, decide: Callable[[], ValueT]) -> ValueT:
        """Let the first process decide, and return to all what it decided; the value must be plain JSON."""
        if not self.is_shared:
            return decide()
        text = json.dumps(decide()).encode() if self.is_first else b""
        value: ValueT = json.loads(_broadcast(text))
        return value

    def hand_over(self, bundle: tuple[Tensors, Record] | None) -> tuple[Tensors, Record] | None:
        """Return to all what the first process holds; what the others give is ignored."""
        if not self.is_shared:
            return bundle
        record = self.agree(lambda: None if bundle is None else bundle[1])
        if record is None:
            return None
        if self.is_first and bundle is not None:
            # Copies, because tied weights share memory and the format refuses to store that.
            copies = {name: value.detach().to("cpu", copy=True).contiguous() for name, value in bundle[0].items()}
            _broadcast(save(copies))
            return bundle
        return load(_broadcast(b"")), record

    def wait_for_all(self) -> None:
        """Wait until every process has reached this call."""
        if self.is_shared:
            dist.all_reduce(torch.zeros(1))  # not `barrier`, which may pick a GPU that this run does not use


def _broadcast(content: bytes) -> bytes:
    """Send bytes from the first process to all."""
    length = torch.tensor([len(content)])
    dist.broadcast(length, 0)
    buffer = torch.frombuffer(bytearray(content), dtype=torch.uint8) if content else torch.empty(0, dtype=torch.uint8)
    buffer = buffer if len(buffer) == int(length) else torch.empty(int(length), dtype=torch.uint8)
    dist.broadcast(buffer, 0)
    return buffer.numpy().tobytes()


@contextmanager
def joined() -> Iterator[World]:
    """Join the processes that torchrun's environment names (RANK, WORLD_SIZE, MASTER_ADDR, ...), and leave in the end.

    Tensors on the CPU travel by gloo and those on CUDA devices by nccl; "cuda" means the device of this process's
    LOCAL_RANK. After a failure nobody waits for the others: the process is expected to end.

    Leaving joins gloo's threads, provided that nothing else holds the group. `torch.distributed.nn` takes the group as
    a default argument when it is imported, which DistributedDataParallel does at first use: imported after joining, it
    would hold the group to the end of the process, where a thread of gloo that still frees a tensor aborts it.
    """
    backend = "gloo"
    if torch.cuda.is_available() and dist.is_nccl_available():
        backend = "cpu:gloo,cuda:nccl"
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    dist.init_process_group(backend, timeout=_PATIENCE)
    world = World.current()
    world.wait_for_all()  # so that nobody fails while another one is still joining
    yield world
    world.wait_for_all()
    dist.destroy_process_group()


@contextmanager
def all_threads() -> Iterator[None]:
    """Give this process the threads of the others while they wait."""
    own = torch.get_num_threads()
    torch.set_num_threads(int(os.environ.get(THREADS_ALONE, own)))
    try:
        yield
    finally:
        torch.set_num_threads(own)


@contextmanager
def sharded(objective: RowwiseObjective, world: World) -> Iterator[None]:
    """Divide the rows of every batch among the processes while the block lasts.

    Every process computes the whole loss on the gathered outputs. Its gradient reaches only the rows that the process
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
    """Encode this process's rows and return those of all processes."""
    shares = {name: [len(part) for part in torch.tensor_split(rows, world.size)] for name, rows in inputs.items()}
    mine: Outputs = encoder({name: torch.split(rows, shares[name])[world.rank] for name, rows in inputs.items()})
    places = [(name, branch) for name, branches in mine.items() for branch in branches]
    # One call for all outputs: those that a loss does not use then get a gradient of zero, for which all must wait.
    gathered = _Gather.apply(world, [shares[name] for name, _ in places], *(mine[name][b] for name, b in places))  # type: ignore[no-untyped-call]
    outputs: Outputs = {name: {} for name in mine}
    for (name, branch), embeddings in zip(places, gathered, strict=True):
        outputs[name][branch] = embeddings
    return outputs


class _Gather(torch.autograd.Function):
    """Embeddings of all processes below each other, in the order of the ranks."""

    @staticmethod
    def forward(ctx: Any, world: World, shares: list[list[int]], *mine: Tensor) -> tuple[Tensor, ...]:  # noqa: ANN401
        ctx.world, ctx.shares = world, shares
        return tuple(_gather_rows(embeddings, share) for embeddings, share in zip(mine, shares, strict=True))

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
