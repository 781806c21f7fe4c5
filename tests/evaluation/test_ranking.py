"""Hit positions against a plain stable sort, with as many ties as can be made."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from diptych._core.errors import ConfigError, DataError
from diptych.data import Labels
from diptych.evaluation import HitPositions, evaluate_direction, hit_positions

CLASSES = ("a", "b", "c")


def labels(codes):
    return Labels.from_codes(codes, CLASSES)


def collect(queries, gallery, query_labels, gallery_labels, **options):
    """Each query's hits as a list, after checking that the chunks follow each other."""
    lists, expected_start = [], 0
    for chunk, hits in hit_positions(queries, gallery, query_labels, gallery_labels, **options):
        assert chunk.start == expected_start
        assert hits.positions.shape[0] == len(hits.counts) == chunk.stop - chunk.start
        for row, count in zip(hits.positions, hits.counts, strict=True):
            assert (row[count:] == len(gallery)).all()
            lists.append(row[:count].tolist())
        expected_start = chunk.stop
    assert expected_start == len(queries)
    return lists


def naive(similarities, query_labels, gallery_labels):
    """Sort (falling similarity, gallery index) as Python tuples and look where the relevant items are."""
    query_sets = [set(query_labels.matrix[[i]].indices.tolist()) for i in range(len(query_labels))]
    item_sets = [set(gallery_labels.matrix[[j]].indices.tolist()) for j in range(len(gallery_labels))]
    lists = []
    for row, mine in zip(similarities, query_sets, strict=True):
        order = sorted(range(len(row)), key=lambda j: (-row[j], j))
        lists.append([rank for rank, j in enumerate(order) if mine & item_sets[j]])
    return lists


small = st.sampled_from([-2.0, -1.0, -0.0, 0.0, 1.0, 2.0])


@st.composite
def tied_problems(draw):
    """Whole numbers, whose dot products are exact, in few values, so that most similarities are tied."""
    n, m, d = draw(st.integers(1, 6)), draw(st.integers(1, 12)), draw(st.integers(1, 3))
    queries = draw(hnp.arrays(np.float64, (n, d), elements=small))
    gallery = draw(hnp.arrays(np.float64, (m, d), elements=small))
    codes = st.integers(-1, 2)
    return (
        queries,
        gallery,
        labels(draw(st.lists(codes, min_size=n, max_size=n))),
        labels(draw(st.lists(codes, min_size=m, max_size=m))),
    )


@given(tied_problems())
@settings(deadline=None, max_examples=150)
def test_dot_ranking_is_the_stable_sort_however_many_ties(problem):
    queries, gallery, query_labels, gallery_labels = problem
    similarities = [[sum(a * b for a, b in zip(q, g, strict=True)) for g in gallery] for q in queries]
    found = collect(queries, gallery, query_labels, gallery_labels, similarity="dot", workers=2)
    assert found == naive(similarities, query_labels, gallery_labels)


@given(
    st.lists(st.tuples(st.integers(0, 2), small), min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(0, 2), small), min_size=1, max_size=12),
    st.data(),
)
@settings(deadline=None)
def test_cosine_ranking_is_the_stable_sort_with_zero_rows(query_axes, item_axes, data):
    """Rows on the axes have cosines of exactly -1, 0 and 1, and zero rows have 0 to everything."""

    def rows(axes):
        table = np.zeros((len(axes), 3))
        table[np.arange(len(axes)), [axis for axis, _ in axes]] = [value for _, value in axes]
        return table

    queries, gallery = rows(query_axes), rows(item_axes)
    query_labels = labels(data.draw(st.lists(st.integers(0, 2), min_size=len(queries), max_size=len(queries))))
    gallery_labels = labels(data.draw(st.lists(st.integers(0, 2), min_size=len(gallery), max_size=len(gallery))))
    cosines = np.sign(queries) @ np.sign(gallery).T
    assert collect(queries, gallery, query_labels, gallery_labels) == naive(cosines, query_labels, gallery_labels)


@given(
    st.lists(
        st.sampled_from(
            [1.0, 1.0 + 2**-52, 1.0 + 2**-51, 1.0 - 2**-53, -1.0, -1.0 - 2**-52, 5e-324, 0.0, -0.0, -5e-324]
        ),
        min_size=1,
        max_size=12,
    ),
    st.data(),
)
@settings(deadline=None, max_examples=150)
def test_values_one_bit_apart_are_ranked_by_that_bit(values, data):
    """The sort borrows the lowest bit for relevance; a ranking that hangs on that bit must still be right."""
    gallery = np.array(values)[:, None]
    gallery_labels = labels(data.draw(st.lists(st.integers(0, 1), min_size=len(values), max_size=len(values))))
    query_labels = labels([0, 1])
    queries = np.array([[1.0], [-1.0]])
    similarities = [[v for v in values], [-v for v in values]]
    found = collect(queries, gallery, query_labels, gallery_labels, similarity="dot")
    assert found == naive(similarities, query_labels, gallery_labels)


@pytest.mark.parametrize("seed", range(10))
def test_the_smallest_numbers_on_both_sides_of_zero_are_ranked(seed):
    """Without its lowest bit the smallest negative number is -0.0, which sorts among the 0.0 but has other bits."""
    random = np.random.default_rng(seed)
    values = random.choice([5e-324, 0.0, -5e-324], size=60)
    query_labels, gallery_labels = labels([1, 1]), labels(random.random(60) < 0.05)
    found = collect(np.array([[1.0], [-1.0]]), values[:, None], query_labels, gallery_labels, similarity="dot")
    assert found == naive([values, -values], query_labels, gallery_labels)


@pytest.mark.parametrize("dimensions", [3, 17, 64, 129])
def test_identical_items_are_tied_wherever_they_stand_in_the_matrix_product(dimensions):
    """A plain matrix product rounds its edges differently and tears identical items apart."""
    random = np.random.default_rng(dimensions)
    distinct = random.normal(size=(7, dimensions))
    copies = random.integers(7, size=203)
    codes = random.integers(3, size=203)
    queries = random.normal(size=(45, dimensions))
    query_labels, gallery_labels = labels(random.integers(3, size=45)), labels(codes)
    gallery = distinct[copies]
    gallery[:, 0] = random.choice([0.0, -0.0], size=203)  # equal, though not in their bits
    found = collect(queries, gallery, query_labels, gallery_labels)
    distinct[:, 0] = 0.0
    units = distinct / np.linalg.norm(distinct, axis=1, keepdims=True)
    similarities = (queries @ units.T)[:, copies]
    assert found == naive(similarities, query_labels, gallery_labels)


def test_collapsed_representations_keep_the_gallery_order():
    gallery_labels = labels([0, 0, 1, 1] * 50)
    gallery, queries = np.full((200, 100), 0.1), np.full((31, 100), 0.3)
    expected = np.flatnonzero(gallery_labels.codes == 1).tolist()
    assert collect(queries, gallery, labels([1] * 31), gallery_labels) == [expected] * 31


@given(st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=20)
def test_several_labels_per_item(seed):
    random = np.random.default_rng(seed)

    def several(count):
        return Labels.from_sets([np.flatnonzero(random.random(3) < 0.4).tolist() for _ in range(count)], CLASSES)

    queries, gallery = random.normal(size=(9, 4)), random.normal(size=(23, 4))
    query_labels, gallery_labels = several(9), several(23)
    found = collect(queries, gallery, query_labels, gallery_labels, similarity="dot")
    assert found == naive(np.einsum("id,jd->ij", queries, gallery), query_labels, gallery_labels)


@pytest.mark.parametrize("memory_budget", [1, 40_000, 10**9])
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_budget_and_threads_change_nothing(memory_budget, workers):
    random = np.random.default_rng(0)
    queries, gallery = random.normal(size=(70, 5)).astype(np.float32), random.normal(size=(41, 5))
    problem = queries, gallery, labels(random.integers(3, size=70)), labels(random.integers(3, size=41))
    cosines = queries.astype(float) @ (gallery / np.linalg.norm(gallery, axis=1, keepdims=True)).T
    found = collect(*problem, memory_budget=memory_budget, workers=workers)
    assert found == naive(cosines, *problem[2:])


@pytest.mark.parametrize("factor", [1e-310, 1e-200, 1e200, 1e307])
def test_cosine_survives_very_large_and_very_small_rows(factor):
    random = np.random.default_rng(1)
    queries, gallery = random.integers(-3, 4, size=(5, 3)).astype(float), random.integers(-3, 4, size=(20, 3))
    problem = labels(random.integers(3, size=5)), labels(random.integers(3, size=20))
    scaled = collect(queries * factor, gallery * 2.0**500, *problem)
    assert scaled == collect(queries, gallery.astype(float), *problem)


def test_from_ranked_relevance_handles_no_hits_and_no_items():
    none = HitPositions.from_ranked_relevance(np.zeros((2, 3), dtype=bool))
    assert none.positions.shape == (2, 0) and none.counts.tolist() == [0, 0]
    assert HitPositions.from_ranked_relevance(np.zeros((2, 0), dtype=bool)).gallery_size == 0


@pytest.mark.parametrize(("queries", "items"), [(0, 4), (3, 0), (0, 0)])
def test_empty_sides_give_empty_rankings(queries, items):
    found = collect(np.ones((queries, 2)), np.ones((items, 2)), labels([0] * queries), labels([0] * items))
    assert found == [list(range(items))] * queries


def test_an_abandoned_ranking_stops():
    stream = hit_positions(np.eye(500), np.eye(500), *(labels([0] * 500),) * 2, memory_budget=1)
    next(stream)
    stream.close()
    with pytest.raises(StopIteration):
        next(stream)


def bad_problems():
    fine, two = np.eye(3), labels([0, 1, 2])
    infinite = fine.copy()
    infinite[2, 0] = np.inf
    nothing = fine.copy()
    nothing[1, 1] = np.nan
    yield (nothing, fine, two, two), "row 1 of queries holds a value that is not finite"
    yield (fine, infinite, two, two), "row 2 of gallery holds a value that is not finite"
    yield (fine, np.ones((3, 2)), two, two), "queries have 3 dimensions and the gallery 2"
    yield (fine, fine, labels([0]), two), "queries has 3 rows but 1 labels"
    yield (fine, fine, two, labels([0])), "gallery has 3 rows but 1 labels"
    yield (fine[0], fine, two, two), r"queries must be a table of numbers .* shape \(3,\)"
    yield ([[1.0]], fine, two, two), "queries must be a table of numbers .* not list"
    yield (fine.astype(str), fine, two, two), "queries must be a table of numbers"
    yield (fine, fine, two, Labels.from_codes([0, 1, 1], ["x", "y"])), "different lists of classes"
    yield (fine, fine, two, two, {"similarity": "l2"}), "similarity is 'l2'; choose one of cosine, dot"
    yield (fine, fine, two, two, {"memory_budget": 0}), "memory_budget is 0"
    yield (fine * 1e200, fine * 1e200, two, two, {"similarity": "dot"}), "exceeds the range of floats"


@pytest.mark.parametrize(("problem", "message"), list(bad_problems()))
def test_bad_input_is_named(problem, message):
    *arguments, last = problem
    arguments, options = (arguments, last) if isinstance(last, dict) else ([*arguments, last], {})
    with pytest.raises((DataError, ConfigError), match=message):
        collect(*arguments, **options)


def several_labels(codes):
    return Labels.from_sets([[int(a), 3 + int(b)] for a, b in codes], "abcdef")


@pytest.mark.parametrize(
    "make_labels",
    [
        lambda codes: labels(codes[:, 0]),
        lambda codes: labels(codes[:, 0] * 0),
        several_labels,
        lambda codes: Labels.from_sets([[0, 1]] * len(codes), "ab"),
    ],
    ids=["one label", "all relevant", "several labels", "several labels, all relevant"],
)
def test_memory_stays_within_the_budget(make_labels):
    """The table of 4000 × 4000 similarities alone would take 122 MiB."""
    random, budget = np.random.default_rng(0), 40 * 2**20
    rows, held = random.normal(size=(4000, 16)), make_labels(random.integers(3, size=(4000, 2)))
    tracemalloc.start()
    try:
        evaluate_direction(rows, rows[::-1], held, held, memory_budget=budget)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < budget + 4 * 2**20  # the scores, and the gallery's copy
