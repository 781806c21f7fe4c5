"""Visual words: the sample, the clustering, and the histograms of images."""

import cv2
import numpy as np
import pytest
from scipy.spatial.distance import cdist

from diptych._core.arrays import ImageArray
from diptych._core.errors import ConfigError, DataError, FitError
from diptych._core.seeding import generator
from diptych._core.state import pack, unpack
from diptych.features.contract import width
from diptych.features.image.visual_words import (
    VisualWords,
    dense_sift,
    learn_words,
    nearest_words,
    phow,
    sample_descriptors,
)


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
    with pytest.raises(FitError, match="0 descriptors cannot make 4 visual words; give more images or fewer words"):
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


cv2.setNumThreads(1)


def texture(seed: int, side: int = 48) -> ImageArray:
    """Noise of a coarseness that depends on the seed."""
    noise = generator(seed, "texture").random((side, side, 3)) * 255
    return cv2.GaussianBlur(noise, (0, 0), 0.5 + seed % 4).astype(np.uint8)


TRAINING = [texture(seed) for seed in range(8)]
SMALL = VisualWords(words=12, step=5, sizes=(4, 6))


def test_a_histogram_counts_nearest_words() -> None:
    extractor = SMALL.fit(TRAINING, seed=1)
    image = texture(77)
    descriptors, _ = dense_sift(image, step=5, sizes=(4, 6))
    nearest = cdist(descriptors, extractor.centres).argmin(axis=1)
    expected = [np.mean(nearest == word) for word in range(12)]
    np.testing.assert_allclose(extractor([image])[0], expected, atol=1e-6)


def test_a_pyramid_counts_cell_by_cell() -> None:
    extractor = VisualWords(words=7, step=5, sizes=(4,), levels=(1, 2)).fit(TRAINING)
    image = texture(78, side=50)
    descriptors, positions = dense_sift(image, step=5, sizes=(4,))
    nearest = cdist(descriptors, extractor.centres).argmin(axis=1)
    whole = np.array([np.mean(nearest == word) for word in range(7)])
    lower, right = positions[:, 0] >= 25, positions[:, 1] >= 25
    cells = [
        np.mean((nearest == word) & (lower == down) & (right == across))
        for down in (False, True)
        for across in (False, True)
        for word in range(7)
    ]
    np.testing.assert_allclose(extractor([image])[0], np.concatenate([whole, cells]) / 2, atol=1e-6)
    assert [(block.start, block.stop) for block in extractor.blocks] == [(0, 7), (7, 35)]


def test_extracting_learns_nothing() -> None:
    extractor = SMALL.fit(TRAINING)
    before = extractor.centres.copy()
    alone = extractor([texture(50)])
    among = extractor([texture(90), texture(50), texture(91)])[1:2]
    np.testing.assert_array_equal(alone, among)
    np.testing.assert_array_equal(extractor.centres, before)


def test_the_seed_decides() -> None:
    np.testing.assert_array_equal(SMALL.fit(iter(TRAINING), seed=4).centres, SMALL.fit(TRAINING, seed=4).centres)
    assert not np.array_equal(SMALL.fit(TRAINING, seed=5).centres, SMALL.fit(TRAINING, seed=4).centres)


def test_training_images_are_drawn_once_and_not_kept() -> None:
    drawn, reported = [], []
    stream = (drawn.append(index) or image for index, image in enumerate(TRAINING))
    SMALL.fit(stream, progress=lambda stage, done, total, figures=None: reported.append((stage, done, total)))
    assert drawn == list(range(8))
    assert reported[-1] == ("visual words", 8, 8)


def test_state_comes_back() -> None:
    extractor = SMALL.fit(TRAINING)
    again = unpack(*pack(extractor))
    np.testing.assert_array_equal(again(TRAINING[:2]), extractor(TRAINING[:2]))
    assert again.blocks == extractor.blocks


@pytest.mark.parametrize("shape", [(1, 1), (1, 400), (300, 3)])
def test_rows_of_odd_images_add_up_to_one(shape: tuple[int, int]) -> None:
    extractor = SMALL.fit(TRAINING)
    flat = np.full((*shape, 3), 90, dtype=np.uint8)
    np.testing.assert_allclose(extractor([flat]).sum(axis=1), 1, rtol=1e-5)


def test_no_pictures_no_rows() -> None:
    assert SMALL.fit(TRAINING)([]).shape == (0, 12)


def test_what_cannot_be_learned_is_said() -> None:
    with pytest.raises(FitError, match="visual words; give more images"):
        VisualWords(words=100_000, sample_per_word=1).fit(TRAINING[:1])
    with pytest.raises(FitError, match="0 descriptors"):
        SMALL.fit([])
    with pytest.raises(ConfigError, match="words is 0"):
        VisualWords(words=0).fit(TRAINING)
    with pytest.raises(DataError, match="an image is an array"):
        SMALL.fit([np.zeros((4, 4), dtype=np.uint8)])


def test_phow_is_a_thousand_words_at_four_sizes() -> None:
    feature = phow()
    assert (feature.words, len(feature.sizes)) == (1000, 4)
    assert width(phow(9).fit(TRAINING).blocks) == 9
