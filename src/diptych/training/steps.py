"""What a training step needs: the rows it sees, the numbers it draws, and an objective that gives its gradients."""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from diptych._core.arrays import Integers
from diptych._core.errors import ConfigError, DataError
from diptych._core.files import atomic_file
from diptych._core.seeding import generator


@lru_cache(maxsize=4)
def _permutation(count: int, seed: int, epoch: int) -> Integers:
    return generator(seed, "batches", str(epoch)).permutation(count)


@dataclass(frozen=True)
class BatchOrder:
    """Shuffled epochs laid end to end and cut into batches of equal size.

    A batch may end one epoch and begin the next, so every batch has exactly `batch_size` rows (or
    `count`, where there are fewer) and every epoch still shows each row exactly once.
    """

    count: int
    batch_size: int
    seed: int

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ConfigError("there are no rows to train on; check the split and the labels of the dataset.")

    def rows(self, step: int) -> Integers:
        """Return the row numbers of one step."""
        size = min(self.batch_size, self.count)
        epoch, start = divmod(step * size, self.count)
        batch = _permutation(self.count, self.seed, epoch)[start : start + size]
        if len(batch) < size:
            rest = _permutation(self.count, self.seed, epoch + 1)[: size - len(batch)]
            batch = np.concatenate([batch, rest])
        return batch

    def __call__(self, step: int) -> torch.Tensor:
        """Return the row numbers of one step as a tensor."""
        return torch.from_numpy(self.rows(step).copy())


def step_seed(seed: int, step: int) -> int:
    """Return the seed of one step: unlike seeds for unlike steps, so no generator's state is ever saved."""
    return int.from_bytes(hashlib.blake2b(f"{seed} {step}".encode(), digest_size=8).digest(), "little") >> 1


def reseed(random: torch.Generator, seed: int, step: int) -> None:
    """Prepare the step's generator, and torch's own ones for layers that know no other, such as dropout."""
    value = step_seed(seed, step)
    random.manual_seed(value)
    torch.default_generator.manual_seed(value)
    if random.device.type == "cuda":
        torch.cuda.manual_seed(value)
    elif random.device.type == "mps":
        torch.mps.manual_seed(value)


@contextmanager
def reproducible(device: torch.device) -> Iterator[torch.Generator]:
    """Yield the generator of the steps; leave torch's own generators and switches as they were.

    Inside, torch uses algorithms that add in a fixed order, and warns where it has none.
    """
    was_strict = torch.get_deterministic_debug_mode()
    memory: Any = torch.utils.deterministic
    was_filling = memory.fill_uninitialized_memory
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else [], device_type="cuda"):
        try:
            torch.set_deterministic_debug_mode("warn")
            memory.fill_uninitialized_memory = False  # it would write every new tensor twice
            yield torch.Generator(device)
        finally:
            memory.fill_uninitialized_memory = was_filling
            torch.set_deterministic_debug_mode(was_strict)


RowsT_contra = TypeVar("RowsT_contra", contravariant=True)

Figures = dict[str, torch.Tensor]
"""Named detached scalars of one step; the first is the main figure to watch."""


class Objective(Protocol[RowsT_contra]):
    """Something that trains by steps.

    Whatever it learns or remembers from one step to the next must be a parameter or a buffer of its
    module, and whatever it draws must come from the generator it is given: then a run that was
    interrupted and resumed ends with the same bits as one that was not.
    """

    @property
    def module(self) -> torch.nn.Module:
        """Everything that is checkpointed: parameters and buffers."""
        ...

    def gradients(self, rows: RowsT_contra, step: int, random: torch.Generator) -> Figures:
        """Leave this step's gradients in `.grad` of the module's parameters, which the loop cleared before.

        Returns:
            Named detached scalars, the first being the main figure to watch.
        """
        ...


Inputs = dict[str, torch.Tensor]
"""A batch's rows, by modality."""

Outputs = dict[str, dict[str, torch.Tensor]]
"""What a net makes of them, by modality and then by name."""


@runtime_checkable
class RowwiseObjective(Protocol):
    """An objective whose net treats every row by itself, so that several processes can divide a batch.

    The loss may couple rows as it likes: it is computed from what `encode` returns for the whole batch.

    Attributes:
        encode: all that the net does in a step, called once; may be replaced by something that returns the same.
    """

    encode: Callable[[Inputs], Outputs]

    @property
    def module(self) -> torch.nn.Module:
        """Everything that is trained."""
        ...


Tensors = dict[str, torch.Tensor]
Record = dict[str, Any]


def hash_tensors(tensors: Tensors, text: str = "") -> str:
    """Hash tensors by name, type, shape and content, and a text with them."""
    digest = hashlib.blake2b(text.encode(), digest_size=16)
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        digest.update(f"\0{name} {tensor.dtype} {tuple(tensor.shape)}\0".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def write_bundle(path: Path, tensors: Tensors, record: Record) -> None:
    """Replace the file in one move: killed at any moment, it leaves the old content or the new."""
    # Copies, because tied weights share memory and the format refuses to store that.
    copies = {name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in tensors.items()}
    text = json.dumps(record, ensure_ascii=False, allow_nan=False)
    with atomic_file(path) as temporary:
        # `save_file` would put another file in place of the temporary one that this process holds.
        temporary.write_bytes(save(copies, metadata={"record": text, "digest": hash_tensors(copies, text)}))


def read_bundle(path: Path) -> tuple[Tensors, Record]:
    """Read tensors and record.

    Raises:
        DataError: If the file is missing, damaged or not a bundle.
    """
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
    except FileNotFoundError:
        raise DataError(f"{path} is missing.") from None
    except (SafetensorError, OSError, ValueError, RuntimeError) as error:
        raise DataError(f"{path} cannot be read ({error}); delete it and train again.") from None
    if "record" not in metadata or metadata.get("digest") != hash_tensors(tensors, metadata["record"]):
        raise DataError(f"{path} is damaged: its content does not match its checksum; delete it and train again.")
    return tensors, json.loads(metadata["record"])


def delete_unfinished(path: Path) -> None:
    """Delete what a killed writer of `path` left behind; call it only when no other writer can be at work."""
    for leftover in path.parent.glob(f".{path.name}.*"):
        leftover.unlink(missing_ok=True)
