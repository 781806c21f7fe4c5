"""Scalable colour: an invertible transform of the histogram, whose prefixes are coarser histograms."""

import colorsys

import cv2
import numpy as np

from diptych._core.seeding import generator
from diptych.features.image.mpeg7 import ScalableColour
from diptych.features.image.mpeg7.scalable_colour import haar, hsv_histogram

cv2.setNumThreads(1)
NOISE = generator(0, "colours").integers(0, 256, (20, 30, 3), dtype=np.uint8)


def test_the_histogram_counts_pixels_by_hue_saturation_and_value() -> None:
    expected = np.zeros((16, 4, 4))
    for red, green, blue in NOISE.reshape(-1, 3):
        hue, saturation, value = colorsys.rgb_to_hsv(red / 255, green / 255, blue / 255)
        expected[int(hue * 16) % 16, min(int(saturation * 4), 3), min(int(value * 4), 3)] += 1 / 600
    found = hsv_histogram(NOISE)
    assert np.abs(found - expected).sum() < 0.06  # bytes round a few pixels over a border
    np.testing.assert_allclose(found.sum(), 1, rtol=1e-5)


def test_the_first_sixteen_are_the_coarse_histogram() -> None:
    histogram = generator(1, "histogram").random((16, 4, 4)).astype(np.float32)
    coarse = histogram.reshape(4, 4, 2, 2, 2, 2).sum(axis=(1, 3, 5))
    np.testing.assert_allclose(haar(histogram)[:16], coarse.ravel(), rtol=1e-5)


def test_nothing_is_lost() -> None:
    basis = np.stack([haar(unit.reshape(16, 4, 4)) for unit in np.eye(256, dtype=np.float32)])
    assert basis.shape == (256, 256)
    assert np.linalg.matrix_rank(basis) == 256
    assert set(np.unique(basis)) == {-1, 0, 1}
    np.testing.assert_array_equal(np.abs(basis).sum(axis=0)[[0, 16, 32, 64, 128, 255]], [16, 16, 8, 4, 2, 2])


def test_one_colour_fills_one_bin() -> None:
    blue = np.zeros((5, 5, 3), dtype=np.uint8)
    blue[..., 2] = 255
    histogram = hsv_histogram(blue)
    assert histogram[10, 3, 3] == 1  # hue 240° of 360° is bin 10.67 of 16
    row = ScalableColour().describe(blue)
    assert np.count_nonzero(row) == 5  # one sum, one difference a level
    assert set(np.abs(row[row != 0])) == {15}
