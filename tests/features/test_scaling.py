"""Scaling: every recipe against its formula, and statistics of the training rows only."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from diptych._core.errors import ConfigError
from diptych._core.seeding import generator
from diptych._core.state import pack, unpack
from diptych.features import Scaling, fit_scaling

ROWS = generator(0, "scaling").gamma(2.0, size=(40, 5))
OTHERS = generator(1, "scaling").gamma(2.0, size=(7, 5))


@pytest.mark.parametrize(
    ("recipe", "transform"),
    [
        ("zscore", lambda x: x),
        ("sqrt+zscore", np.sqrt),
        ("log+zscore", lambda x: np.log(np.maximum(x, ROWS.min()))),
        ("log1p+zscore", np.log1p),
        ("tf+zscore", lambda x: x / x.sum(axis=1, keepdims=True)),
    ],
)
def test_z_scores_are_scikit_learns_after_the_transform(recipe: str, transform) -> None:
    expected = StandardScaler().fit(transform(ROWS)).transform(transform(OTHERS))
    np.testing.assert_allclose(fit_scaling(ROWS, "dense", recipe)(OTHERS), expected, atol=1e-12)


def test_minmax_clips_to_the_training_range() -> None:
    expected = MinMaxScaler(clip=True).fit(ROWS).transform(OTHERS * 3 - 1)
    np.testing.assert_allclose(fit_scaling(ROWS, "dense", "minmax")(OTHERS * 3 - 1), expected, atol=1e-12)


def words(seed: int, count: int = 30) -> np.ndarray:
    """Counts of eight words, rare ones last; the first text is empty, and the last word occurs in none."""
    counts = generator(seed, "words").poisson([3.0, 2.0, 1.0, 1.0, 0.5, 0.2, 0.1, 0.0], size=(count, 8))
    counts[0] = 0
    return counts


def naive_tfidf(rows: np.ndarray, training: np.ndarray) -> np.ndarray:
    """log(1 + count) times 1 + log((1 + texts) / (1 + texts with the word)), each text at length one."""
    result = np.zeros(rows.shape)
    for place, row in enumerate(rows):
        for word, count in enumerate(row):
            having = sum(text[word] > 0 for text in training)
            result[place, word] = np.log(1 + count) * (1 + np.log((1 + len(training)) / (1 + having)))
        length = np.sqrt(sum(value**2 for value in result[place]))
        result[place] = result[place] / length if length else 0.0
    return result


def test_tfidf_follows_its_formula_word_by_word() -> None:
    training, others = words(3), words(4, 7)
    scaling = fit_scaling(training, "counts", "tfidf+none")
    np.testing.assert_allclose(scaling(others), naive_tfidf(others, training), atol=1e-12)


def test_tfidf_is_scikit_learns_on_damped_counts() -> None:
    training, others = words(3), words(4, 7)
    expected = TfidfTransformer().fit(np.log1p(training)).transform(np.log1p(others)).toarray()
    np.testing.assert_allclose(fit_scaling(training, "counts", "tfidf+none")(others), expected, atol=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_centre_subtracts_means_and_divides_all_columns_by_one_number(sparse: bool) -> None:
    training, others = words(3), words(4, 7)
    plain = naive_tfidf(training, training)
    spread = np.sqrt(np.mean([np.var(column) for column in plain.T]))
    expected = (naive_tfidf(others, training) - plain.mean(axis=0)) / spread
    rows = (sp.csr_array(training), sp.csr_array(others)) if sparse else (training, others)
    scaling = fit_scaling(rows[0], "counts", "tfidf+centre")
    np.testing.assert_allclose(scaling(rows[1]), expected, atol=1e-12)
    scaled = scaling(rows[0])
    np.testing.assert_allclose(scaled.mean(axis=0), 0.0, atol=1e-12)
    assert scaled.var(axis=0).mean() == pytest.approx(1.0)
    assert scaled.var(axis=0)[:7].std() > 0.1  # rare words stay small
    assert np.isfinite(scaling(rows[1])).all()


def test_rows_that_are_all_alike_can_be_centred() -> None:
    np.testing.assert_array_equal(fit_scaling(np.full((5, 3), 2.0), "dense", "centre")(np.full((1, 3), 2.0)), 0.0)


def test_none_changes_nothing() -> None:
    np.testing.assert_array_equal(fit_scaling(ROWS, "dense", "none")(OTHERS), OTHERS)


def test_a_bare_transform_with_none_is_only_the_transform() -> None:
    np.testing.assert_allclose(fit_scaling(ROWS, "dense", "sqrt+none")(OTHERS), np.sqrt(OTHERS))


@pytest.mark.parametrize(
    ("rows", "kind", "recipe"),
    [
        (np.array([[1, 0], [3, 2]]), "counts", "tfidf+centre"),
        (np.array([[-1.0, 0.5], [0.2, 3.0]]), "dense", "zscore"),
        (np.array([[0.25, 0.75], [0.5, 0.5]]), "dense", "log+zscore"),
        (np.array([[0.0, 1.0], [0.5, 0.5]]), "dense", "sqrt+zscore"),
        (np.array([[0.0, 0.9], [0.5, 0.5]]), "dense", "zscore"),
    ],
)
def test_auto_reads_what_rows_are(rows, kind, recipe: str) -> None:
    assert fit_scaling(rows, kind).recipe == recipe


def test_statistics_come_from_the_fitted_rows_alone() -> None:
    scaling = fit_scaling(ROWS, "dense")
    before = scaling(OTHERS[:1])
    scaling(1e6 * OTHERS)
    np.testing.assert_array_equal(scaling(OTHERS[:1]), before)


def test_sparse_and_dense_rows_are_scaled_alike() -> None:
    counts = generator(2, "scaling").poisson(1.0, size=(30, 6))
    sparse = sp.csr_array(counts)
    for recipe in ("log1p+zscore", "tf+zscore", "minmax", "log+zscore", "tfidf+centre"):
        expected = fit_scaling(counts, "counts", recipe)(counts)
        actual = fit_scaling(sparse, "counts", recipe)(sparse)
        np.testing.assert_allclose(actual, expected, atol=1e-12)
        assert actual.dtype == np.float64


def test_constant_columns_stay_at_zero() -> None:
    rows = np.column_stack([ROWS[:, 0], np.full(40, 0.1), np.full(40, 1e8)])
    for recipe in ("zscore", "minmax"):
        np.testing.assert_allclose(fit_scaling(rows, "dense", recipe)(rows)[:, 1:], 0.0, atol=1e-6)


@pytest.mark.parametrize("value", [0.1, 342808.0423874833, 1e12, 1e-9])
def test_rounding_in_a_constant_column_is_not_blown_up(value: float) -> None:
    rows = np.full((6, 3), value)
    np.testing.assert_allclose(fit_scaling(rows, "dense", "zscore")(rows), 0.0, atol=1e-9 * max(1.0, value))


def test_small_units_beside_large_ones_are_scaled_too() -> None:
    rows = ROWS[:, :2] * [1e-9, 1e9]
    np.testing.assert_allclose(fit_scaling(rows, "dense", "zscore")(rows).std(axis=0), 1.0)


def test_empty_documents_are_kept() -> None:
    rows = np.array([[0, 0], [1, 3]])
    assert np.isfinite(fit_scaling(rows, "counts", "tf+zscore")(rows)).all()
    assert np.isfinite(fit_scaling(rows, "counts", "log+zscore")(rows)).all()


@pytest.mark.parametrize("recipe", ["zscores", "sqrt", "sqrt+log+zscore", "zscore+sqrt", "", "cube+zscore"])
def test_unknown_recipes_are_refused(recipe: str) -> None:
    with pytest.raises(ConfigError, match="is unknown; write one of zscore, minmax, centre, none"):
        fit_scaling(ROWS, "dense", recipe)


def test_a_scaling_survives_being_saved() -> None:
    for recipe in ("log+zscore", "tfidf+centre"):
        scaling = fit_scaling(ROWS, "dense", recipe)
        again = unpack(*pack(scaling))
        assert isinstance(again, Scaling)
        np.testing.assert_array_equal(again(OTHERS), scaling(OTHERS))


@settings(max_examples=60, deadline=None)
@given(
    hnp.arrays(np.float64, (6, 3), elements=st.floats(-1e6, 1e6)),
    st.sampled_from(["auto", "zscore", "minmax", "sqrt+zscore", "log1p+zscore"]),
)
def test_scaled_training_rows_are_finite_and_centred(rows, recipe: str) -> None:
    scaled = fit_scaling(rows, "dense", recipe)(rows)
    assert np.isfinite(scaled).all()
    if recipe == "zscore":
        assert np.abs(scaled.mean(axis=0)).max() < 1e-3
        assert scaled.std(axis=0).max() < 1 + 1e-3
    if recipe == "minmax":
        assert scaled.min() >= 0
        assert scaled.max() <= 1


def mixed(seed: int, count: int = 30) -> np.ndarray:
    """Eight columns of counts before three dense ones, as float32."""
    dense = generator(seed, "mixed").normal(5.0, 2.0, size=(count, 3))
    return np.concatenate([words(seed, count), dense], axis=1).astype(np.float32)


KIND = "counts:8+dense:3"


def test_blocks_are_scaled_as_each_alone_and_balanced() -> None:
    training, others = mixed(3), mixed(4, 7)
    scaling = fit_scaling(training, KIND)
    assert scaling.recipe == "tfidf+centre|zscore"
    scaled = scaling(others)
    for columns, kind in ((slice(0, 8), "counts"), (slice(8, 11), "dense")):
        alone = fit_scaling(training[:, columns], kind)(others[:, columns])
        ratio = scaled[:, columns] / np.where(alone == 0, 1, alone)
        factor = ratio[alone != 0].mean()
        np.testing.assert_allclose(scaled[:, columns], factor * alone, atol=1e-9)
    totals = [scaling(training)[:, columns].var(axis=0).sum() for columns in (slice(0, 8), slice(8, 11))]
    np.testing.assert_allclose(totals, [11 / 2, 11 / 2], rtol=1e-6)


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        ("zscore", "zscore|zscore"),
        ("tf+zscore", "tf+zscore|zscore"),
        ("tfidf+centre|minmax", "tfidf+centre|minmax"),
        ({"counts": "tf+minmax", "dense": "minmax"}, "tf+minmax|minmax"),
        ({"dense": "centre"}, "tfidf+centre|centre"),
    ],
)
def test_each_block_has_its_recipe(recipe, expected: str) -> None:
    assert fit_scaling(mixed(3), KIND, recipe).recipe == expected


def test_ranges_are_not_balanced_away() -> None:
    scaled = fit_scaling(mixed(3), KIND, {"counts": "tf+minmax", "dense": "minmax"})(mixed(3))
    assert scaled.min() == 0 and scaled.max() == 1


def test_a_recipe_for_each_block_must_fit_their_number() -> None:
    with pytest.raises(ConfigError, match=r"'zscore\|zscore\|none' is for 3 blocks of columns; there are 2"):
        fit_scaling(mixed(3), KIND, "zscore|zscore|none")
    with pytest.raises(ConfigError, match="is for 2 blocks of columns; there are 1"):
        fit_scaling(ROWS, "dense", "zscore|zscore")


def test_a_scaling_of_blocks_is_saved() -> None:
    scaling = fit_scaling(mixed(3), KIND)
    again = unpack(*pack(scaling))
    np.testing.assert_array_equal(again(mixed(4)), scaling(mixed(4)))


def test_a_short_query_finds_the_texts_that_hold_its_words() -> None:
    """Under z-scored logarithms a query of one word is mostly minus the mean, and finds the shortest texts."""
    random = generator(5, "short queries")
    rates = 3.0 / np.arange(1, 301) ** 0.7
    texts = random.poisson(rates * random.uniform(0.3, 6.0, size=(400, 1)))
    shares = {}
    for recipe in ("auto", "log1p+zscore"):
        scaling = fit_scaling(texts, "counts", recipe)
        rows, queries = scaling(texts), scaling(np.eye(300)[100:200])
        cosines = queries @ rows.T / np.linalg.norm(rows, axis=1)
        first = np.argsort(-cosines, axis=1)[:, :5]
        shares[recipe] = np.mean([texts[found, 100 + word] > 0 for word, found in enumerate(first)])
    assert shares["auto"] > 0.99 and shares["log1p+zscore"] < 0.9, shares
