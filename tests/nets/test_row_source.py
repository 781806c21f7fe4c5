import numpy as np
import pytest
import scipy.sparse as sp
import torch

from diptych._core.errors import DataError
from diptych.nets import SparseRows, in_chunks
from diptych.nets.row_source import same_length


def test_sparse_rows_become_the_same_dense_rows():
    dense = np.array([[0, 2, 0], [1, 0, 0], [0, 0, 0], [4, 5, 6]])
    source = SparseRows(sp.csr_array(dense), torch.float64)
    rows = torch.tensor([3, 0, 3, 2])
    assert len(source) == 4
    assert torch.equal(source[rows], torch.from_numpy(dense).double()[rows])


def test_unpaired_sources_are_refused():
    with pytest.raises(DataError, match=r"\[3, 2\] rows"):
        same_length([torch.zeros(3, 1), torch.zeros(2, 1)])


@pytest.mark.parametrize("size", [1, 4, 10, 100])
def test_chunks_cover_every_row_once_and_in_order(size):
    rows = torch.arange(10.0).reshape(10, 1)
    assert torch.equal(in_chunks(lambda x: 2 * x, rows, size), 2 * rows)
