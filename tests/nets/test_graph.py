import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import NearestNeighbors

from diptych.nets.samplers import edge_purity, graph_distances, neighbour_graph, ranks
from nets.enumeration import seeded

FIRST, SECOND = 9, 7


def make_inputs(seed=0):
    random = seeded(seed)
    return tuple(torch.rand(rows, 5, generator=random, dtype=torch.float64) for rows in (FIRST, SECOND))


def nearest(distances, k, allowed):
    """The k allowed positions with the least distance."""
    return sorted(np.flatnonzero(allowed), key=lambda position: distances[position])[:k]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1000), st.integers(0, 10), st.booleans())
def test_graph_equals_brute_force(seed, k, restricted):
    distances = graph_distances(*make_inputs(seed)).numpy()
    eligible = np.random.default_rng(seed).random(distances.shape) < 0.6 if restricted else np.ones_like(distances) > 0
    expected = np.zeros_like(eligible)
    for p in range(FIRST):
        expected[p, nearest(distances[p], k, eligible[p])] = True
    for q in range(SECOND):
        expected[nearest(distances[:, q], k, eligible[:, q]), q] = True
    graph = neighbour_graph(torch.from_numpy(distances), k, torch.from_numpy(eligible) if restricted else None)
    assert np.array_equal(graph.numpy(), expected)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("k", [1, 3, 6])
def test_graph_equals_scikit_learn(metric, k):
    first, second = make_inputs(1)
    by_first = NearestNeighbors(n_neighbors=k, metric=metric, algorithm="brute").fit(second).kneighbors_graph(first)
    by_second = NearestNeighbors(n_neighbors=k, metric=metric, algorithm="brute").fit(first).kneighbors_graph(second)
    expected = (by_first.toarray() + by_second.toarray().T) > 0
    assert np.array_equal(neighbour_graph(graph_distances(first, second, metric), k).numpy(), expected)


def test_as_many_neighbours_as_items_join_all_and_none_join_none():
    distances = graph_distances(*make_inputs())
    assert neighbour_graph(distances, max(FIRST, SECOND)).all()
    assert not neighbour_graph(distances, 0).any()


def test_swapping_the_modalities_transposes_the_graph():
    first, second = make_inputs()
    there = neighbour_graph(graph_distances(first, second), 2)
    assert torch.equal(there, neighbour_graph(graph_distances(second, first), 2).t())


def test_distances_carry_no_gradients():
    first, second = make_inputs()
    assert not graph_distances(first.requires_grad_(), second).requires_grad


def test_ties_go_to_the_earlier_item():
    assert ranks(torch.tensor([[1.0, 0.0, 1.0, 0.0]]), 1).tolist() == [[2, 0, 3, 1]]


def test_edge_purity_counts_edges_between_labelled_items_only():
    labels = torch.tensor([0, 0, 1])
    graph = torch.zeros(5, 4, dtype=torch.bool)
    graph[0, 1] = graph[1, 2] = graph[2, 0] = graph[2, 2] = True
    graph[3:] = True
    graph[:, 3] = True
    assert edge_purity(graph, labels) == 0.5
    assert torch.isclose(edge_purity(torch.ones(5, 4, dtype=torch.bool), labels), torch.tensor(5 / 9))
    assert edge_purity(torch.zeros(5, 4, dtype=torch.bool), labels).isnan()
