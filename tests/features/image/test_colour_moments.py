"""Moments of each cell: exact for flat ones, and a loop over pixels for the others."""

import numpy as np
import pytest

from diptych._core.seeding import generator
from diptych.features.image import ColourMoments
from diptych.features.image.colour_spaces import LAB_ORIGIN, LAB_UNIT, lab_bytes


def by_loops(picture: np.ndarray) -> np.ndarray:
    """The definition, pixel by pixel, for sides of five pixels or more."""
    lab = LAB_ORIGIN + LAB_UNIT * lab_bytes(picture)
    height, width = lab.shape[:2]
    row = []
    for down in range(5):
        for right in range(5):
            cell = lab[down * height // 5 : (down + 1) * height // 5, right * width // 5 : (right + 1) * width // 5]
            pixels = [tuple(pixel) for line in cell for pixel in line]
            means = [sum(pixel[c] for pixel in pixels) / len(pixels) for c in range(3)]
            second = [sum((pixel[c] - means[c]) ** 2 for pixel in pixels) / len(pixels) for c in range(3)]
            third = [sum((pixel[c] - means[c]) ** 3 for pixel in pixels) / len(pixels) for c in range(3)]
            row += [*means, *(value**0.5 for value in second)]
            row += [np.sign(value) * abs(value) ** (1 / 3) for value in third]
    return np.array(row)


@pytest.mark.parametrize("shape", [(5, 5), (10, 15), (23, 17), (6, 41)])
def test_it_is_the_loop_over_pixels(shape) -> None:
    picture = generator(0, "moments", str(shape)).integers(256, size=(*shape, 3), dtype=np.uint8)
    expected = by_loops(picture)
    actual = ColourMoments()([picture])[0]
    skew = np.arange(225) % 9 >= 6  # a cube root blows up what rounding leaves of zero
    np.testing.assert_allclose(actual[~skew], expected[~skew], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(actual[skew] ** 3, expected[skew] ** 3, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shape", [(1, 1), (3, 2), (50, 50), (64, 3), (37, 101)])
def test_flat_red_has_its_mean_and_no_spread(shape) -> None:
    cells = ColourMoments()([np.full((*shape, 3), (255, 0, 0), dtype=np.uint8)]).reshape(25, 3, 3)
    np.testing.assert_allclose(cells[:, 0], [[53.2, 80.1, 67.2]] * 25, atol=0.6)
    assert not cells[:, 1:].any()


def test_cells_are_numbered_row_by_row_from_the_top_left() -> None:
    picture = np.zeros((50, 100, 3), dtype=np.uint8)
    picture[10:20, 60:80] = 255  # second row, fourth column
    lightness = ColourMoments()([picture]).reshape(25, 3, 3)[:, 0, 0]
    assert np.flatnonzero(lightness).tolist() == [5 * 1 + 3]
    assert lightness.max() == pytest.approx(100)


def test_the_third_moment_has_the_sign_of_the_longer_tail() -> None:
    picture = np.zeros((10, 10, 3), dtype=np.uint8)
    picture[::2, ::2] = 255  # of each cell's four pixels, one white
    for item, mean in ((picture, 25), (255 - picture, 75)):
        sign = 1 if mean == 25 else -1
        third = sign * (0.25 * 75**3 - 0.75 * 25**3) ** (1 / 3)
        cells = ColourMoments()([item]).reshape(25, 3, 3)
        np.testing.assert_allclose(cells[:, 0, 0], mean, rtol=1e-5)
        np.testing.assert_allclose(cells[:, 1, 0], 100 * np.sqrt(3) / 4, rtol=1e-5)
        np.testing.assert_allclose(cells[:, 2, 0], third, rtol=1e-4)


def test_two_pixels_are_shared_among_five_cells() -> None:
    picture = np.zeros((1, 2, 3), dtype=np.uint8)
    picture[0, 1] = 255
    lightness = ColourMoments()([picture]).reshape(5, 5, 3, 3)[:, :, 0, 0]
    np.testing.assert_allclose(lightness, [[0, 0, 50, 100, 100]] * 5, rtol=1e-5)
