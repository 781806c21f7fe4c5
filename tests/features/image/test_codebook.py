"""Visual words: the sample is uniform, the words are clusters, the nearest word is the nearest."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from diptych._core.errors import FitError
from diptych._core.seeding import generator
from diptych.features.image.codebook import learn_words, nearest_words, sample_descriptors


def stream(rows: np.ndarray, *cuts: int):
    return iter(np.split(rows, cuts))


def test_a_short_stream_is_kept_whole_and_in_order() -> None:
    rows = np.arange(20, dtype=np.float32).reshape(10, 2)
    np.testing.assert_array_equal(sample_descriptors(stream(rows, 3, 3, 7), 50), rows)


def test_every_row_has_the_same_chance() -> None:
    rows = np.arange(30, dtype=np.float32)[:, None]
    kept = np.zeros(30)
    for seed in range(600):
        sample = sample_descriptors(stream(rows, 4, 11, 12, 25), 10, seed=seed)
        assert len(np.unique(sample)) == 10
        kept[sample[:, 0].astype(int)] += 1
    # Each count is binomial (600, 1/3), standard deviation 11.5: five of them is far in the tail.
    assert np.abs(kept - 200).max() < 58


def test_how_the_stream_is_cut_changes_nothing() -> None:
    rows = generator(0, "rows").random((200, 3), dtype=np.float32)
    np.testing.assert_array_equal(
        sample_descriptors(stream(rows, 1, 40, 41, 150), 20, seed=5), sample_descriptors(stream(rows, 99), 20, seed=5)
    )


def test_an_empty_stream_gives_no_rows_and_no_words() -> None:
    empty = sample_descriptors(iter(()), 10)
    assert len(empty) == 0
    with pytest.raises(FitError, match="0 descriptors cannot make 4 visual words; give more pictures or fewer words"):
        learn_words(empty, 4)


def test_separate_clusters_become_the_words() -> None:
    random = generator(1, "clusters")
    truth = random.random((6, 128)) * 10
    sample = (np.repeat(truth, 200, axis=0) + random.normal(0, 0.01, (1200, 128))).astype(np.float32)
    words = learn_words(sample, 6, seed=3)
    np.testing.assert_allclose(cdist(truth, words).min(axis=1), 0, atol=0.05)
    np.testing.assert_array_equal(learn_words(sample, 6, seed=3), words)


def test_flat_patches_are_a_word_of_their_own() -> None:
    random = generator(4, "textured")
    textured = random.random((300, 128), dtype=np.float32)
    sample = random.permutation(np.concatenate([textured, np.zeros((700, 128), dtype=np.float32)]))
    words = learn_words(sample, 9)
    assert words.shape == (9, 128)
    assert not words[-1].any()
    assert words[:-1].any(axis=1).all()
    assert set(nearest_words(np.zeros((2, 128), dtype=np.float32), words)) == {8}
    assert learn_words(textured, 9).any(axis=1).all()


def test_identical_descriptors_still_make_finite_words() -> None:
    assert np.isfinite(learn_words(np.ones((50, 128), dtype=np.float32), 5)).all()
    with pytest.raises(FitError, match="0 descriptors cannot make 5"):
        learn_words(np.zeros((50, 128), dtype=np.float32), 5)


def test_nearest_is_what_all_distances_say_across_chunks() -> None:
    random = generator(2, "descriptors")
    descriptors = random.random((5000, 16), dtype=np.float32)
    words = random.random((37, 16), dtype=np.float32) * 1.5
    np.testing.assert_array_equal(nearest_words(descriptors, words), cdist(descriptors, words).argmin(axis=1))
    assert nearest_words(descriptors[:0], words).shape == (0,)
