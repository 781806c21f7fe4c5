"""The losses over all pairs of a batch, for several members at once, against loops over members and pairs."""

import math

import pytest
import torch
from torch.testing import assert_close

from diptych.nets.losses import (
    soft_contrastive_loss,
    soft_cross_entropy,
    softmin_quadruplet_terms,
    unit_squared_distances,
)
from nets.enumeration import seeded

DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
MEMBERS, ROWS, COLUMNS = 3, 6, 5
CLASSES = torch.tensor([0, 1, 0, 2, 1, 0])
SAME = CLASSES.unsqueeze(1) == CLASSES.unsqueeze(0)


def units(seed, dtype=torch.float64):
    """Rows of length one for every member."""
    return torch.nn.functional.normalize(torch.randn(MEMBERS, ROWS, 4, generator=seeded(seed), dtype=dtype), dim=-1)


def soft_labels(seed, dtype=torch.float64):
    return torch.rand(ROWS, COLUMNS, generator=seeded(seed), dtype=dtype).softmax(1)


@DTYPES
def test_squared_distances_of_every_member(dtype):
    first, second = units(0, dtype), units(1, dtype)
    found = unit_squared_distances(first, second)
    for k in range(MEMBERS):
        assert_close(found[k], torch.cdist(first[k], second[k]).square(), rtol=1e-4, atol=1e-5)
    assert unit_squared_distances(first, first).min() >= 0


@DTYPES
@pytest.mark.parametrize("margin", [0.3, 1.2, 3.0])
def test_the_contrastive_loss_is_two_weighted_means_over_pairs(margin, dtype):
    squared = unit_squared_distances(units(0, dtype), units(1, dtype))
    pull, push = (torch.rand(ROWS, ROWS, generator=seeded(seed), dtype=dtype) for seed in (2, 3))
    found = soft_contrastive_loss(squared, pull, push, margin)
    for k in range(MEMBERS):
        near = far = pulled = pushed = 0.0
        for p in range(ROWS):
            for q in range(ROWS):
                distance = math.sqrt(float(squared[k, p, q]))
                near += float(pull[p, q]) * 0.5 * distance**2
                far += float(push[p, q]) * 0.5 * max(0.0, margin - distance) ** 2
                pulled, pushed = pulled + float(pull[p, q]), pushed + float(push[p, q])
        assert float(found[k]) == pytest.approx(near / pulled + far / pushed, rel=1e-5)


def test_hard_labels_give_the_loss_of_similar_and_dissimilar_pairs():
    """With weights 0 and 1 both kinds of pairs count alike, however many there are."""
    squared = unit_squared_distances(units(0), units(1))
    found = soft_contrastive_loss(squared, SAME.double(), (~SAME).double(), 1.2)
    pulled = 0.5 * squared[:, SAME].mean(1)
    pushed = 0.5 * (1.2 - squared[:, ~SAME].sqrt()).clamp_min(0).square().mean(1)
    assert_close(found, pulled + pushed)


def test_pairs_that_nobody_pulls_or_pushes_cost_nothing():
    squared = unit_squared_distances(units(0), units(1))
    nothing = torch.zeros(ROWS, ROWS, dtype=torch.float64)
    assert_close(soft_contrastive_loss(squared, nothing, nothing, 1.2), torch.zeros(MEMBERS, dtype=torch.float64))


def naive_quadruplets(squared, margin, temperature):
    """Every pair of one class against soft minima over its mismatches, one pair after the other."""
    terms = torch.zeros_like(squared)
    for k in range(len(squared)):
        for p in range(ROWS):
            for q in range(ROWS):
                of_first = [float(squared[k, p, j]) for j in range(ROWS) if CLASSES[j] != CLASSES[p]]
                of_second = [float(squared[k, i, q]) for i in range(ROWS) if CLASSES[i] != CLASSES[q]]
                if CLASSES[p] == CLASSES[q]:
                    softest = [-temperature * math.log(sum(math.exp(-d / temperature) for d in far))
                               for far in (of_first, of_second)]  # fmt: skip
                    terms[k, p, q] = max(0.0, 2 * float(squared[k, p, q]) - sum(softest) + margin)
    return terms


@DTYPES
@pytest.mark.parametrize(("margin", "temperature"), [(1.0, 0.1), (0.2, 0.5), (4.0, 0.1)])
def test_quadruplet_terms_of_every_pair(margin, temperature, dtype):
    squared = unit_squared_distances(units(0, dtype), units(1, dtype))
    expected = naive_quadruplets(squared, margin, temperature)
    assert (expected > 0).sum() > 0
    assert_close(softmin_quadruplet_terms(squared, SAME, ~SAME, margin, temperature), expected, rtol=1e-4, atol=1e-5)


def test_a_cold_minimum_is_the_nearest_mismatch():
    squared = unit_squared_distances(units(0), units(1))
    terms = softmin_quadruplet_terms(squared, SAME, ~SAME, 4.0, temperature=1e-4)
    nearest = squared.masked_fill(SAME, math.inf)
    expected = 2 * squared - nearest.amin(2, keepdim=True) - nearest.amin(1, keepdim=True) + 4.0
    assert_close(terms[:, SAME], expected.clamp_min(0)[:, SAME], rtol=1e-3, atol=1e-3)


def test_pairs_without_a_mismatch_have_no_term():
    squared = unit_squared_distances(units(0), units(1)).requires_grad_()
    everything = torch.ones(ROWS, ROWS, dtype=torch.bool)
    terms = softmin_quadruplet_terms(squared, everything, ~everything, 4.0)
    terms.sum().backward()
    assert_close(terms, torch.zeros_like(terms))
    assert torch.isfinite(squared.grad).all()


@DTYPES
@pytest.mark.parametrize("weighted", [False, True])
def test_the_softmax_loss_takes_shares_of_classes(weighted, dtype):
    logits = torch.randn(2, MEMBERS, ROWS, COLUMNS, generator=seeded(4), dtype=dtype)
    targets = soft_labels(5, dtype)
    weights = torch.rand(ROWS, generator=seeded(6), dtype=dtype) if weighted else None
    found = soft_cross_entropy(logits, targets, weights)
    assert found.shape == (2, MEMBERS)
    for head in range(2):
        for k in range(MEMBERS):
            total = counted = 0.0
            for p in range(ROWS):
                scores = [math.exp(float(x)) for x in logits[head, k, p]]
                loss = -sum(float(t) * math.log(s / sum(scores)) for t, s in zip(targets[p], scores, strict=True))
                weight = 1.0 if weights is None else float(weights[p])
                total, counted = total + weight * loss, counted + weight
            assert float(found[head, k]) == pytest.approx(total / counted, rel=1e-5)


def test_the_softmax_loss_of_certain_labels_is_torchs():
    logits = torch.randn(MEMBERS, ROWS, COLUMNS, generator=seeded(4), dtype=torch.float64)
    found = soft_cross_entropy(logits, torch.nn.functional.one_hot(CLASSES, COLUMNS).double())
    for k in range(MEMBERS):
        assert_close(found[k], torch.nn.functional.cross_entropy(logits[k], CLASSES))


def test_gradients_are_the_derivatives_of_the_losses():
    codes = [units(0).requires_grad_(), units(1).requires_grad_()]
    pull = soft_labels(2) @ soft_labels(3).t()

    def contrastive(a, b):
        return soft_contrastive_loss(unit_squared_distances(a, b), pull, 1.0 - pull, 1.2)

    def quadruplets(a, b):
        return softmin_quadruplet_terms(unit_squared_distances(a, b), SAME, ~SAME, 1.0)

    logits = torch.randn(MEMBERS, ROWS, COLUMNS, generator=seeded(4), dtype=torch.float64).requires_grad_()
    weights = torch.rand(ROWS, generator=seeded(6), dtype=torch.float64)
    assert torch.autograd.gradcheck(contrastive, codes)
    assert torch.autograd.gradcheck(quadruplets, codes)
    assert torch.autograd.gradcheck(lambda each: soft_cross_entropy(each, soft_labels(5), weights), [logits])
