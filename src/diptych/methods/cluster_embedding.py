"""Embed rows on the workers of a cluster, block by block, to the same bytes as here."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits  # type: ignore[import-untyped]

from diptych._core.arrays import Features, Singles
from diptych._core.cluster import folder_content, write_content
from diptych._core.processes import Executor
from diptych.methods.base import Method
from diptych.methods.model_folder import load_model
from diptych.methods.purposes import Purpose


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
