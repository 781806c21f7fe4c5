import math
from itertools import product

import pytest
import torch
from torch.nn import functional
from torch.testing import assert_close

from diptych.nets.losses import (
    Quadruplets,
    active_share,
    contrastive_terms,
    output_spread,
    pair_figures,
    quadruplet_terms,
    reduce_terms,
    sign_gap,
    soft_contrastive_loss,
    soft_cross_entropy,
    softmin_quadruplet_terms,
    softmin_triplet_terms,
    squared_distances,
    unit_squared_distances,
)
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
def test_gradients_are_the_derivatives_of_the_contrastive_loss(form, margin):
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
def test_gradients_are_the_derivatives_of_the_quadruplet_loss(margin):
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


@DTYPES
@pytest.mark.parametrize(("margin", "temperature"), [(0.5, 0.1), (2.0, 0.5)])
def test_triplet_terms_of_every_pair(margin, temperature, dtype):
    """A hinge for each anchor: that of a pair is the sum over both, one pair after the other."""
    squared = unit_squared_distances(units(0, dtype), units(1, dtype))
    expected = torch.zeros_like(squared)
    for k, p, q in product(range(MEMBERS), range(ROWS), range(ROWS)):
        if CLASSES[p] != CLASSES[q]:
            continue
        of_first = [float(squared[k, p, j]) for j in range(ROWS) if CLASSES[j] != CLASSES[p]]
        of_second = [float(squared[k, i, q]) for i in range(ROWS) if CLASSES[i] != CLASSES[q]]
        for far in (of_first, of_second):
            softest = -temperature * math.log(sum(math.exp(-d / temperature) for d in far))
            expected[k, p, q] += max(0.0, float(squared[k, p, q]) - softest + margin)
    assert (expected > 0).sum() > 0
    assert_close(softmin_triplet_terms(squared, SAME, ~SAME, margin, temperature), expected, rtol=1e-4, atol=1e-5)


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

    def triplets(a, b):
        return softmin_triplet_terms(unit_squared_distances(a, b), SAME, ~SAME, 0.5)

    def quadruplets(a, b):
        return softmin_quadruplet_terms(unit_squared_distances(a, b), SAME, ~SAME, 1.0)

    logits = torch.randn(MEMBERS, ROWS, COLUMNS, generator=seeded(4), dtype=torch.float64).requires_grad_()
    weights = torch.rand(ROWS, generator=seeded(6), dtype=torch.float64)
    assert torch.autograd.gradcheck(contrastive, codes)
    assert torch.autograd.gradcheck(quadruplets, codes)
    assert torch.autograd.gradcheck(triplets, codes)
    assert torch.autograd.gradcheck(lambda each: soft_cross_entropy(each, soft_labels(5), weights), [logits])


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


TERMS = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
WEIGHTS = torch.tensor([[2.0, 0.0], [0.5, 1.0]])


@pytest.mark.parametrize(("reduction", "expected"), [("sum", 7.5), ("batch", 7.5 / 2), ("mean", 7.5 / 3.5)])
def test_weighted_reductions(reduction, expected):
    assert_close(reduce_terms(TERMS, WEIGHTS, reduction, 2), torch.tensor(expected))


@pytest.mark.parametrize(("reduction", "expected"), [("sum", 10.0), ("batch", 5.0), ("mean", 2.5)])
def test_without_weights_every_term_counts_once(reduction, expected):
    assert_close(reduce_terms(TERMS, None, reduction, 2), torch.tensor(expected))


def test_a_mean_of_small_weights_is_not_diluted():
    assert_close(reduce_terms(TERMS, WEIGHTS * 0.01, "mean", 2), reduce_terms(TERMS, WEIGHTS, "mean", 2))


@pytest.mark.parametrize("reduction", ["sum", "batch", "mean"])
def test_nothing_selected_is_zero_with_zero_gradients(reduction):
    terms = TERMS.clone().requires_grad_()
    loss = reduce_terms(terms, torch.zeros(2, 2), reduction, 2)
    loss.backward()
    assert loss == 0 and torch.equal(terms.grad, torch.zeros(2, 2))


def test_figures_of_selected_pairs_equal_a_loop():
    random = seeded(1)
    squared = 4 * torch.rand(6, 6, generator=random)
    similar = torch.rand(6, 6, generator=random) < 0.5
    weights = torch.randint(3, (6, 6), generator=random).float()
    figures = pair_figures(squared, similar, weights, contrastive_terms(squared, similar, 1.2))
    listed = [
        (bool(similar[p, q]), float(squared[p, q]) ** 0.5)
        for p in range(6)
        for q in range(6)
        for _ in range(int(weights[p, q]))
    ]
    near = [distance for kind, distance in listed if kind]
    far = [distance for kind, distance in listed if not kind]
    assert_close(figures["similar_distance"], torch.tensor(sum(near) / len(near)))
    assert_close(figures["dissimilar_distance"], torch.tensor(sum(far) / len(far)))
    assert_close(figures["active_hinges"], torch.tensor(sum(d < 1.2 for d in far) / len(far)))
    assert 0 < figures["active_hinges"] < 1


def test_figures_carry_no_gradients():
    squared = torch.rand(3, 3, generator=seeded(2)).requires_grad_()
    similar = torch.eye(3, dtype=torch.bool)
    figures = pair_figures(squared, similar, torch.ones(3, 3), contrastive_terms(squared, similar, 1.0))
    assert not any(value.requires_grad for value in figures.values())
    assert not output_spread(squared).requires_grad and not active_share(squared).requires_grad


def test_figures_without_pairs_are_nan():
    figures = pair_figures(torch.ones(2, 2), torch.eye(2, dtype=torch.bool), torch.zeros(2, 2), torch.ones(2, 2))
    assert all(value.isnan() for value in figures.values())


def test_active_share_and_spread():
    assert active_share(torch.tensor([0.0, 1.0, 2.0, 0.0])) == 0.5
    outputs = torch.rand(8, 3, generator=seeded(3))
    assert_close(output_spread(outputs), torch.tensor(outputs.numpy().std(0).mean()))
    assert output_spread(torch.full((8, 3), 0.5)) == 0


def test_the_sign_gap_is_that_of_a_loop_and_0_for_codes() -> None:
    draw = torch.Generator().manual_seed(0)
    outputs = functional.normalize(torch.randn(2, 5, 8, generator=draw, dtype=torch.float64), dim=2)
    found = sign_gap(outputs)
    for member in range(2):
        total = 0.0
        for row in outputs[member].tolist():
            total += sum((abs(value) * 8**0.5 - 1) ** 2 for value in row)
        assert found[member].item() == pytest.approx(total / 40)
    assert sign_gap(outputs.sign() / 8**0.5) == pytest.approx(torch.zeros(2, dtype=torch.float64), abs=1e-12)
    torch.autograd.gradcheck(sign_gap, outputs.requires_grad_())
