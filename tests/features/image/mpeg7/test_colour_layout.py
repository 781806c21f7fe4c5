"""Colour layout: a flat picture is its mean, a ramp is the first cosine, and the order is JPEG's."""

import cv2
import numpy as np
import pytest
import scipy.fft

from diptych._core.seeding import generator
from diptych.features.image.mpeg7 import ColourLayout
from diptych.features.image.mpeg7.colour_layout import zigzag

cv2.setNumThreads(1)


def test_the_order_is_that_of_jpeg() -> None:
    assert zigzag(8)[:15].tolist() == [0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4]
    assert sorted(zigzag(8)) == list(range(64))


@pytest.mark.parametrize("shape", [(1, 1), (3, 900), (192, 192), (9, 7)])
def test_a_flat_picture_has_only_means(shape: tuple[int, int]) -> None:
    picture = np.empty((*shape, 3), dtype=np.uint8)
    picture[:] = (200, 100, 50)
    rows = ColourLayout().describe(picture).reshape(3, 64)
    luma = 0.299 * 200 + 0.587 * 100 + 0.114 * 50
    expected = [luma, 0.5 * (50 - luma) / (1 - 0.114), 0.5 * (200 - luma) / (1 - 0.299)]
    np.testing.assert_allclose(rows[:, 0], expected, rtol=1e-4)
    np.testing.assert_allclose(rows[:, 1:], 0, atol=1e-4)


def test_coefficients_are_those_of_block_means() -> None:
    picture = generator(0, "layout").integers(0, 256, (64, 40, 3), dtype=np.uint8)
    means = picture.reshape(8, 8, 8, 5, 3).mean(axis=(1, 3))
    luma = means @ [0.299, 0.587, 0.114]
    coefficients = scipy.fft.dctn(luma, norm="ortho") / 8
    row = ColourLayout().describe(picture)
    np.testing.assert_allclose(row[:64], coefficients.ravel()[zigzag(8)], atol=1e-3)


def test_a_ramp_to_the_right_is_in_the_first_row_of_coefficients() -> None:
    ramp = np.repeat(np.tile(np.arange(0, 240, dtype=np.uint8), (80, 1))[..., None], 3, axis=2)
    luma = ColourLayout().describe(ramp)[:64]
    across = [position for position, index in enumerate(zigzag(8)) if index < 8]
    assert np.abs(luma[1:]).argmax() == 0
    np.testing.assert_allclose(np.delete(luma, across), 0, atol=1e-3)
    # The same ramp downwards is in the first column.
    assert np.abs(ColourLayout().describe(np.ascontiguousarray(ramp.transpose(1, 0, 2)))[1:64]).argmax() == 1
    np.testing.assert_allclose(ColourLayout().describe(ramp)[64:], 0, atol=1e-3)
