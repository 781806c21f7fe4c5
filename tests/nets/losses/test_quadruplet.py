import pytest
import torch
from torch.nn import functional
from torch.testing import assert_close

from diptych.nets.losses import Quadruplets, quadruplet_terms, reduce_terms
from nets.enumeration import seeded


def make_codes(rows=7, width=4, dtype=torch.float64):
    random = seeded(5)
    return tuple(torch.randn(rows, width, generator=random, dtype=dtype) for _ in range(2))


def make_quadruplets(count=12, rows=7):
    return Quadruplets(*torch.randint(rows, (4, count), generator=seeded(6)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("margin", [0.0, 1.0, 20.0])
def test_is_torchs_margin_ranking_loss(margin, dtype):
    (first, second), rows = make_codes(dtype=dtype), make_quadruplets()

    def apart(p, q):
        return (first[p] - second[q]).square().sum(1)

    mismatches = apart(rows.first_positive, rows.second_negative) + apart(rows.first_negative, rows.second_positive)
    match = 2 * apart(rows.first_positive, rows.second_positive)
    expected = functional.margin_ranking_loss(
        mismatches, match, torch.ones_like(match), margin=margin, reduction="none"
    )
    assert (expected > 0).sum() > 0
    assert_close(quadruplet_terms(first, second, rows, margin), expected)


@pytest.mark.parametrize("margin", [1.0, 50.0])
def test_gradients_are_the_derivatives_of_the_loss(margin):
    first, second = make_codes()
    rows = make_quadruplets()
    assert torch.autograd.gradcheck(
        lambda a, b: quadruplet_terms(a, b, rows, margin), (first.requires_grad_(), second.requires_grad_())
    )


def gradients_of_one(margin):
    first, second = (code.requires_grad_() for code in make_codes(rows=2))
    one = Quadruplets(*(torch.tensor([row]) for row in (0, 0, 1, 1)))
    quadruplet_terms(first, second, one, margin).sum().backward()
    return first, second


def test_gradients_are_those_the_paper_prints_and_cancel():
    first, second = gradients_of_one(margin=100.0)
    a, a_, b, b_ = first[0], first[1], second[0], second[1]
    assert_close(first.grad[0], (2 * a - 4 * b + 2 * b_).detach())
    assert_close(second.grad[0], (2 * b - 4 * a + 2 * a_).detach())
    assert_close(first.grad[1], (2 * b - 2 * a_).detach())
    assert_close(second.grad[1], (2 * a - 2 * b_).detach())
    total = first.grad.sum(0) + second.grad.sum(0)
    assert_close(total, torch.zeros_like(total), atol=1e-12, rtol=0)


def test_a_satisfied_quadruplet_has_no_gradient():
    first, second = gradients_of_one(margin=-100.0)
    assert not first.grad.any() and not second.grad.any()


def test_no_quadruplets_give_zero_loss_and_zero_gradients():
    first, second = (code.requires_grad_() for code in make_codes())
    none = Quadruplets(*torch.zeros(4, 0, dtype=torch.int64))
    loss = reduce_terms(quadruplet_terms(first, second, none, 1.0), None, "mean", 7)
    loss.backward()
    assert loss == 0 and not first.grad.any() and not second.grad.any()
