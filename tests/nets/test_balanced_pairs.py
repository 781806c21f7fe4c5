import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from diptych.nets.samplers import balanced_pairs, neighbour_graph, pick_one_per_row, unlabelled_group
from nets.enumeration import seeded

LABELS = torch.tensor([0, 1, 0, 2, 1, 0])
FIRST, SECOND = 10, 9


def make_batch(seed=0, k=2):
    distances = torch.rand(FIRST, SECOND, generator=seeded(seed))
    return neighbour_graph(distances, k), distances


def same_class(p, q):
    return bool(LABELS[p] == LABELS[q])


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["any", "both"]), st.sampled_from(["all", "far_third"]))
def test_every_selected_pair_satisfies_its_constraint(seed, which, pool):
    graph, distances = make_batch(seed)
    weights, similar = balanced_pairs(
        LABELS,
        graph,
        distances,
        seeded(seed),
        unlabelled_weight=0.25,
        unlabelled_pairs=which,
        unlabelled_negatives=pool,
    )
    m = len(LABELS)
    for p, q in weights.nonzero().tolist():
        if p < m and q < m:
            assert weights[p, q] in (1, 2) and similar[p, q] == same_class(p, q)
        else:
            assert weights[p, q] in (0.25, 0.5) and similar[p, q] == graph[p, q]
            assert which == "any" or (p >= m and q >= m)


@pytest.mark.parametrize("kind", [True, False])
@pytest.mark.parametrize("group", ["labelled", "unlabelled"])
def test_every_item_with_a_candidate_gets_exactly_one_partner(group, kind):
    graph, distances = make_batch(3)
    m = len(LABELS)
    inside = torch.zeros(FIRST, SECOND, dtype=torch.bool)
    inside[:m, :m] = True
    inside = inside if group == "labelled" else ~inside
    for seed in range(30):
        weights, similar = balanced_pairs(LABELS, graph, distances, seeded(seed))
        candidates = inside & (similar == kind)
        picks = weights * candidates
        # One for each row and one for each column that has a candidate, and each line shows at least its own.
        assert picks.sum() == candidates.any(1).sum() + candidates.any(0).sum()
        assert torch.equal(picks.any(1), candidates.any(1)) and torch.equal(picks.any(0), candidates.any(0))


def test_a_pick_is_one_candidate_of_each_row_that_has_one():
    mask = torch.rand(40, 6, generator=seeded(1)) < 0.3
    for seed in range(20):
        picks = pick_one_per_row(mask, seeded(seed))
        assert not (picks & ~mask).any()
        assert torch.equal(picks.sum(1), mask.any(1).long())


def test_picks_are_uniform_over_the_candidates():
    mask = torch.tensor([[True, False, True, True, False]]).repeat(30_000, 1)
    shares = pick_one_per_row(mask, seeded(4)).float().mean(0)
    assert_close(shares, torch.tensor([1, 0, 1, 1, 0]) / 3, atol=0.012, rtol=0)


def test_weights_average_to_the_chance_of_being_drawn():
    graph, distances = make_batch(5)
    total, draws, random = torch.zeros(FIRST, SECOND), 2000, seeded(6)
    for _ in range(draws):
        weights, similar = balanced_pairs(LABELS, graph, distances, random, unlabelled_weight=0.5)
        total += weights
    m = len(LABELS)
    expected = np.zeros((FIRST, SECOND))
    kinds = similar.numpy()
    groups = np.ones((FIRST, SECOND), dtype=int)
    groups[:m, :m] = 0
    for p in range(FIRST):
        for q in range(SECOND):
            alike = (kinds == kinds[p, q]) & (groups == groups[p, q])
            expected[p, q] = (1 / alike[p].sum() + 1 / alike[:, q].sum()) * (0.5 if groups[p, q] else 1.0)
    assert np.abs(total.numpy() / draws - expected).max() < 0.07


def test_dissimilar_partners_come_from_the_farthest_third():
    graph, distances = make_batch(7)
    m = len(LABELS)
    group = unlabelled_group(graph, m)
    candidates = group & ~graph
    drawn = torch.zeros(FIRST, SECOND)
    for seed in range(200):
        selection = balanced_pairs(LABELS, graph, distances, seeded(seed), unlabelled_negatives="far_third")
        drawn += selection.weights * candidates
    expected = torch.zeros(FIRST, SECOND, dtype=torch.bool)
    for table, out in ((distances, expected), (distances.t(), expected.t())):
        mask = candidates if out is expected else candidates.t()
        for row in range(len(table)):
            own = sorted(mask[row].nonzero().flatten().tolist(), key=lambda c: -table[row, c])
            out[row, own[: -(-len(own) // 3)]] = True
    assert torch.equal(drawn > 0, expected)


def test_known_pairs_are_similar_only_among_unlabelled_items():
    graph, distances = make_batch(8, k=0)
    known = torch.zeros_like(graph)
    known[0, 1] = known[7, 6] = True
    weights, similar = balanced_pairs(LABELS, graph, distances, seeded(), known_pairs=known)
    assert similar[7, 6] and weights[7, 6] == 2
    assert not similar[0, 1]
    assert (similar & unlabelled_group(graph, len(LABELS))).sum() == 1


def test_weight_zero_silences_unlabelled_pairs_without_changing_the_others():
    graph, distances = make_batch(9)
    m = len(LABELS)
    silent, full = (balanced_pairs(LABELS, graph, distances, seeded(), unlabelled_weight=w).weights for w in (0.0, 1.0))
    assert torch.equal(silent[:m, :m], full[:m, :m])
    assert not silent[m:].any() and not silent[:, m:].any() and full[m:].any()


def test_all_labelled_and_single_class_batches_are_served():
    distances = torch.rand(6, 6, generator=seeded())
    graph = neighbour_graph(distances, 2)
    weights, similar = balanced_pairs(LABELS, graph, distances, seeded())
    assert torch.equal(similar, LABELS[:, None] == LABELS[None])
    assert weights.sum() == 24
    alone, _ = balanced_pairs(torch.zeros(6, dtype=torch.int64), graph, distances, seeded())
    assert alone.sum() == 12


def test_draws_depend_on_the_generator_alone():
    graph, distances = make_batch()
    once, again, other = (balanced_pairs(LABELS, graph, distances, seeded(s)).weights for s in (1, 1, 2))
    assert torch.equal(once, again) and not torch.equal(once, other)
