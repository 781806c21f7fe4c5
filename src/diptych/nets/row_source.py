"""Where an objective finds its rows: a dense tensor, or sparse counts made dense by the batch."""

from collections.abc import Callable, Iterable
from typing import Protocol

import torch
from torch import Tensor

from diptych._core.arrays import Sparse
from diptych._core.errors import DataError


class RowSource(Protocol):
    """Rows that can be fetched by a tensor of whole numbers; a plain 2-d tensor is one."""

    def __len__(self) -> int:
        """Return the number of rows."""
        ...

    def __getitem__(self, rows: Tensor, /) -> Tensor:
        """Return the rows as a dense matrix."""
        ...


class SparseRows:
    """Sparse counts that become dense only a batch at a time.

    Args:
        counts: one row an item.
        dtype: of the dense batches; the dtype of the network that reads them.
    """

    def __init__(self, counts: Sparse, dtype: torch.dtype = torch.float32) -> None:
        self.counts = counts
        self.dtype = dtype

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self.counts.shape[0])

    def __getitem__(self, rows: Tensor, /) -> Tensor:
        """Return the rows as a dense matrix on the device of `rows`."""
        dense = torch.from_numpy(self.counts[rows.cpu().numpy()].toarray())
        return dense.to(device=rows.device, dtype=self.dtype)


def same_length(sources: Iterable[RowSource]) -> int:
    """Return the number of rows that all sources share.

    Raises:
        DataError: they differ, so row p is not the same item everywhere.
    """
    lengths = [len(source) for source in sources]
    if not lengths or len(set(lengths)) != 1:
        raise DataError(f"the inputs have {lengths} rows; give every input one row for each item.")
    return lengths[0]


def in_chunks(function: Callable[[Tensor], Tensor], source: RowSource, size: int = 1024) -> Tensor:
    """Apply a row-wise function to all rows, `size` at a time and without gradients."""
    device = source.device if isinstance(source, Tensor) else None
    with torch.no_grad():
        chunks = torch.split(torch.arange(len(source), device=device), size)
        return torch.cat([function(source[rows]) for rows in chunks])
