"""Codes that know nothing, and know it reproducibly."""

import numpy as np
import pytest
import scipy.sparse as sp

import synthetic
from diptych._core.errors import ConfigError
from diptych.methods import create


@pytest.fixture(scope="module")
def chance(counts_dataset):
    return create("chance").fit(counts_dataset)


def test_scores_scatter_around_the_expectation(counts_dataset) -> None:
    scores = [synthetic.score_on_test(create("chance", seed=s).fit(counts_dataset), counts_dataset) for s in range(30)]
    error = np.std(scores, ddof=1) / np.sqrt(len(scores))
    assert abs(np.mean(scores) - synthetic.chance_score(counts_dataset)) < 4 * error


def test_codes_depend_on_content_seed_and_modality(counts_dataset, chance) -> None:
    rows = np.arange(24.0).reshape(2, 12)
    codes = chance.embed("image", rows)
    np.testing.assert_array_equal(chance.embed("image", rows[::-1]), codes[::-1])
    changed = rows.copy()
    changed[0, 3] += 1e-3
    assert not np.isclose(chance.embed("image", changed)[0], codes[0], atol=1e-3).any()
    assert not np.isclose(create("chance", seed=1).fit(counts_dataset).embed("image", rows), codes, atol=1e-6).all()


def test_sparse_dense_and_negative_zero_are_one_content(chance) -> None:
    rows = np.zeros((1, 20))
    rows[0, 4] = 2.0
    np.testing.assert_array_equal(chance.embed("text", rows), chance.embed("text", sp.csr_array(rows)))
    signed = rows.copy()
    signed[0, 0] = -0.0
    np.testing.assert_array_equal(chance.embed("text", rows), chance.embed("text", signed))


def test_values_are_uniform(chance) -> None:
    codes = chance.embed("image", np.random.default_rng(0).normal(size=(2000, 12)))
    assert codes.min() >= -1
    assert codes.max() <= 1
    assert np.abs(codes.mean(axis=0)).max() < 0.06
    np.testing.assert_allclose(codes.var(axis=0), 1 / 3, atol=0.03)


def test_numbers_too_large_for_singles_are_embedded(chance) -> None:
    assert np.isfinite(chance.embed("image", np.full((1, 12), 1e300))).all()


def test_dimensions_are_checked(counts_dataset) -> None:
    assert create("chance", dimensions=3).fit(counts_dataset).embed("image", np.zeros((2, 12))).shape == (2, 3)
    with pytest.raises(ConfigError, match="dimensions is 0"):
        create("chance", dimensions=0).fit(counts_dataset)
