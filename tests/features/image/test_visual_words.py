"""Bags of visual words: counts of a brute-force search, learned from training pictures alone."""

import cv2
import numpy as np
import pytest
from scipy.spatial.distance import cdist

from diptych._core.arrays import ImageArray
from diptych._core.errors import ConfigError, DataError, FitError
from diptych._core.seeding import generator
from diptych._core.state import pack, unpack
from diptych.features.contract import width
from diptych.features.image.dense_sift import dense_sift
from diptych.features.image.visual_words import VisualWords, phow

cv2.setNumThreads(1)


def texture(seed: int, side: int = 48) -> ImageArray:
    """Noise of a coarseness that depends on the seed."""
    noise = generator(seed, "texture").random((side, side, 3)) * 255
    return cv2.GaussianBlur(noise, (0, 0), 0.5 + seed % 4).astype(np.uint8)


TRAINING = [texture(seed) for seed in range(8)]
SMALL = VisualWords(words=12, step=5, sizes=(4, 6))


def test_a_histogram_counts_nearest_words() -> None:
    extractor = SMALL.fit(TRAINING, seed=1)
    picture = texture(77)
    descriptors, _ = dense_sift(picture, step=5, sizes=(4, 6))
    nearest = cdist(descriptors, extractor.centres).argmin(axis=1)
    expected = [np.mean(nearest == word) for word in range(12)]
    np.testing.assert_allclose(extractor([picture])[0], expected, atol=1e-6)


def test_a_pyramid_counts_cell_by_cell() -> None:
    extractor = VisualWords(words=7, step=5, sizes=(4,), levels=(1, 2)).fit(TRAINING)
    picture = texture(78, side=50)
    descriptors, positions = dense_sift(picture, step=5, sizes=(4,))
    nearest = cdist(descriptors, extractor.centres).argmin(axis=1)
    whole = np.array([np.mean(nearest == word) for word in range(7)])
    lower, right = positions[:, 0] >= 25, positions[:, 1] >= 25
    cells = [
        np.mean((nearest == word) & (lower == down) & (right == across))
        for down in (False, True)
        for across in (False, True)
        for word in range(7)
    ]
    np.testing.assert_allclose(extractor([picture])[0], np.concatenate([whole, cells]) / 2, atol=1e-6)
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


def test_training_pictures_are_drawn_once_and_not_kept() -> None:
    drawn, reported = [], []
    stream = (drawn.append(index) or picture for index, picture in enumerate(TRAINING))
    SMALL.fit(stream, progress=lambda stage, done, total, figures=None: reported.append((stage, done, total)))
    assert drawn == list(range(8))
    assert reported[-1] == ("visual words", 8, 8)


def test_state_comes_back() -> None:
    extractor = SMALL.fit(TRAINING)
    again = unpack(*pack(extractor))
    np.testing.assert_array_equal(again(TRAINING[:2]), extractor(TRAINING[:2]))
    assert again.blocks == extractor.blocks


@pytest.mark.parametrize("shape", [(1, 1), (1, 400), (300, 3)])
def test_rows_of_odd_pictures_add_up_to_one(shape: tuple[int, int]) -> None:
    extractor = SMALL.fit(TRAINING)
    flat = np.full((*shape, 3), 90, dtype=np.uint8)
    np.testing.assert_allclose(extractor([flat]).sum(axis=1), 1, rtol=1e-5)


def test_no_pictures_no_rows() -> None:
    assert SMALL.fit(TRAINING)([]).shape == (0, 12)


def test_what_cannot_be_learned_is_said() -> None:
    with pytest.raises(FitError, match="visual words; give more pictures"):
        VisualWords(words=100_000, sample_per_word=1).fit(TRAINING[:1])
    with pytest.raises(FitError, match="0 descriptors"):
        SMALL.fit([])
    with pytest.raises(ConfigError, match="words is 0"):
        VisualWords(words=0).fit(TRAINING)
    with pytest.raises(DataError, match="a picture is an array"):
        SMALL.fit([np.zeros((4, 4), dtype=np.uint8)])


def test_phow_is_a_thousand_words_at_four_sizes() -> None:
    feature = phow()
    assert (feature.words, len(feature.sizes)) == (1000, 4)
    assert width(phow(9).fit(TRAINING).blocks) == 9
