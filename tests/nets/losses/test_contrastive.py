import pytest
import torch
from torch.nn import functional
from torch.testing import assert_close

from diptych._core.errors import ConfigError
from diptych.nets.losses import contrastive_terms, squared_distances
from nets.enumeration import seeded


def make_pairs(rows=6, width=4, dtype=torch.float64):
    random = seeded(3)
    first, second = (torch.randn(rows, width, generator=random, dtype=dtype) for _ in range(2))
    similar = torch.rand(rows, rows, generator=random) < 0.4
    return first, second, similar


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("margin", [0.5, 3.0, 9.0])
def test_equation_5_is_torchs_hinge_embedding_loss_on_squared_distances(margin, dtype):
    first, second, similar = make_pairs(dtype=dtype)
    squared = squared_distances(first, second)
    target = similar.to(dtype) * 2 - 1
    expected = functional.hinge_embedding_loss(squared, target, margin=margin, reduction="none")
    assert_close(contrastive_terms(squared, similar, margin, "eq5"), expected)


@pytest.mark.parametrize("margin", [0.5, 2.0, 9.0])
def test_hadsell_form_follows_its_formula_pair_by_pair(margin):
    first, second, similar = make_pairs()
    terms = contrastive_terms(squared_distances(first, second), similar, margin)
    for p, a in enumerate(first):
        for q, b in enumerate(second):
            distance = (a - b).norm()
            expected = 0.5 * distance**2 if similar[p, q] else 0.5 * max(0.0, margin - distance) ** 2
            assert_close(terms[p, q], torch.as_tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize("form", ["hadsell", "eq5"])
@pytest.mark.parametrize("margin", [1.0, 5.0])
def test_gradients_are_the_derivatives_of_the_loss(form, margin):
    first, second, similar = make_pairs()

    def terms(a, b):
        return contrastive_terms(squared_distances(a, b), similar, margin, form)

    assert torch.autograd.gradcheck(terms, (first.requires_grad_(), second.requires_grad_()))


@pytest.mark.parametrize("similar", [True, False])
@pytest.mark.parametrize("margin", [0.5, 5.0])
def test_gradients_of_the_hadsell_form_are_those_the_paper_prints(similar, margin):
    first, second, _ = make_pairs(rows=1)
    first.requires_grad_()
    contrastive_terms(squared_distances(first, second), torch.tensor([[similar]]), margin).sum().backward()
    apart = (first - second).detach()
    distance = apart.norm()
    push = -(margin - distance) * apart / distance if distance < margin else torch.zeros_like(apart)
    assert_close(first.grad, apart if similar else push)


@pytest.mark.parametrize("form", ["hadsell", "eq5"])
@pytest.mark.parametrize("similar", [True, False])
def test_pairs_that_coincide_have_finite_gradients(form, similar):
    codes = torch.zeros(1, 3, requires_grad=True)
    contrastive_terms(
        squared_distances(codes, torch.zeros(1, 3)), torch.tensor([[similar]]), 5.0, form
    ).sum().backward()
    assert torch.equal(codes.grad, torch.zeros(1, 3))


def test_swapping_the_modalities_transposes_the_terms():
    first, second, similar = make_pairs()
    there = contrastive_terms(squared_distances(first, second), similar, 2.0)
    back = contrastive_terms(squared_distances(second, first), similar.t(), 2.0)
    assert_close(there, back.t())


def test_an_unknown_form_is_refused():
    with pytest.raises(ConfigError, match="contrastive loss is 'eq6'; choose one of hadsell, eq5"):
        contrastive_terms(torch.zeros(1, 1), torch.ones(1, 1, dtype=torch.bool), 1.0, "eq6")
