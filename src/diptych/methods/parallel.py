"""Fit one method with several processes at once, for the command line."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits  # type: ignore[import-untyped]

from diptych._core.arrays import Features, Singles
from diptych._core.cluster import folder_content, write_content
from diptych._core.errors import ConfigError
from diptych._core.processes import Executor
from diptych.methods.base import Method
from diptych.methods.model_folder import load_model
from diptych.methods.purposes import Purpose
from diptych.methods.registry import method_class

# Torch comes with an extra and loads slowly, so it is imported where it is needed: not for one process.


def check_parallel(method: str, devices: int, device: str) -> None:
    """Refuse a method or a machine that cannot use so many processes.

    Args:
        method: the method's name.
        devices: how many processes.
        device: the method's parameter of that name.

    Raises:
        ConfigError: if there are too few devices, or the method does not train by steps.
    """
    if devices < 1:
        raise ConfigError(f"devices is {devices}; it must be 1 or more.")
    if devices == 1:
        return
    if not _trains_by_steps(method):
        raise ConfigError(
            f"devices is {devices} but '{method}' does not train by steps; leave --devices out, or "
            "name a method that does, such as --method cdmlmr."
        )
    from diptych.training.launch import check_devices

    check_devices(devices, device)


def is_worker(devices: int) -> bool:
    """Whether this process is one of several that were started together, by `launch_workers` or by torchrun."""
    if devices == 1 or not {"LOCAL_RANK", "WORLD_SIZE"} <= os.environ.keys():
        return False
    if os.environ["WORLD_SIZE"] != str(devices):
        started = os.environ["WORLD_SIZE"]
        raise ConfigError(f"devices is {devices} but torchrun started {started} processes; make the numbers equal.")
    return True


def launch_workers(words: Sequence[str], devices: int) -> None:
    """Run a command of `diptych` in several processes at once; see `diptych.training.launch`."""
    from diptych.training.launch import launch

    launch(["-m", "diptych.cli", *words], devices)


@contextmanager
def working(devices: int) -> Iterator[bool]:
    """Fit as one of several workers, or by oneself; yield whether this process is the one that reports and saves."""
    if devices == 1:
        yield True
        return
    from diptych.training.launch import worker

    with worker() as world:
        yield world.is_first


def _trains_by_steps(method: str) -> bool:
    loaded = method_class(method)
    if find_spec("torch") is None:
        return False
    from diptych.methods.deep.deep_method import DeepMethod

    return issubclass(loaded, DeepMethod)


@dataclass(frozen=True)
class RowBlock:
    """Rows to embed.

    Attributes:
        rows: the rows.
        first_row: the number of the first of them among all, for errors.
    """

    rows: Features
    first_row: int

    @property
    def nbytes(self) -> int:
        """The size of the rows."""
        return int(self.rows.nbytes if isinstance(self.rows, np.ndarray) else self.rows.data.nbytes)


class EmbeddingWorker:
    """Embeds blocks of rows by a model that was sent to it.

    Args:
        model: the files of the model's folder by name.
        modality: which rows come.
        purpose: which space is wanted.
        threads: how many compute a product of matrices: as many as where the model came from, as the number decides
            its last bits.
    """

    def __init__(self, model: Mapping[str, bytes], modality: str, purpose: Purpose, threads: int) -> None:
        self._modality, self._purpose, self._threads = modality, purpose, threads
        self._folder = TemporaryDirectory()
        write_content(model, Path(self._folder.name))
        self._model = load_model(self._folder.name)

    def __call__(self, block: RowBlock) -> Singles:
        """Embed a block."""
        with threadpool_limits(self._threads):
            return next(
                self._model.embed_blocks(self._modality, [block.rows], self._purpose, first_row=block.first_row)
            )

    def close(self) -> None:
        """Remove the model."""
        self._folder.cleanup()


def embed_blocks_by(
    executor: Executor | None,
    model: Method,
    model_folder: Path,
    modality: str,
    blocks: Iterable[Features],
    purpose: Purpose = "auto",
) -> Iterator[Singles]:
    """Embed rows that come block by block, in their order; see `Embedder.embed_blocks`.

    Args:
        executor: where to embed; None for this process.
        model: the model.
        model_folder: where it was loaded from.
        modality: which one.
        blocks: its rows.
        purpose: which space is wanted.
    """
    if executor is None:
        yield from model.embed_blocks(modality, blocks, purpose)
        return
    threads = max((pool["num_threads"] for pool in threadpool_info()), default=1)
    start = partial(EmbeddingWorker, folder_content(model_folder), modality, purpose, threads)
    for _, embeddings in executor.run(start, _numbered(blocks), ordered=True):
        yield embeddings


def _numbered(blocks: Iterable[Features]) -> Iterator[RowBlock]:
    row = 0
    for block in blocks:
        yield RowBlock(block, row)
        row += block.shape[0]
