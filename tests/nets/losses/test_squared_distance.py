import pytest
import torch
from torch.testing import assert_close

from diptych.nets.losses import squared_distances
from nets.enumeration import seeded


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_all_pairs_equal_the_naive_differences(dtype):
    first, second = (torch.rand(rows, 6, generator=seeded(rows), dtype=dtype) for rows in (5, 8))
    naive = torch.stack([torch.stack([(a - b).square().sum() for b in second]) for a in first])
    assert_close(squared_distances(first, second), naive)


def test_rounding_never_makes_a_distance_negative():
    rows = 100 + torch.rand(50, 256, generator=seeded())
    assert squared_distances(rows, rows).min() >= 0


def test_gradients_are_the_derivatives():
    first, second = (torch.rand(rows, 3, generator=seeded(rows), dtype=torch.float64) for rows in (3, 4))
    assert torch.autograd.gradcheck(squared_distances, (first.requires_grad_(), second.requires_grad_()))
