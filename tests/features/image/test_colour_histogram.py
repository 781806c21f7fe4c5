"""Which box of L*a*b* a colour falls into, and shares that add up."""

import numpy as np
import pytest
from skimage.color import rgb2lab

from diptych._core.seeding import generator
from diptych.features.image import ColourHistogram
from diptych.features.image.colour_histogram import GAMUT, bin_edges
from diptych.features.image.colour_spaces import LAB_ORIGIN, LAB_UNIT, lab_bytes


def flat(*colour: int) -> np.ndarray:
    return np.full((6, 9, 3), colour, dtype=np.uint8)


@pytest.mark.parametrize(
    ("colour", "bins"),
    [
        ((255, 0, 0), (2, 3, 3)),  # L*a*b* 53, 80, 67
        ((0, 255, 0), (3, 0, 3)),  # 88, -86, 83
        ((0, 0, 255), (1, 3, 0)),  # 32, 79, -108
        ((0, 0, 0), (0, 1, 2)),
        ((128, 128, 128), (2, 1, 2)),
        ((255, 255, 255), (3, 1, 2)),
    ],
)
def test_one_colour_fills_one_box(colour, bins) -> None:
    row = ColourHistogram()([flat(*colour)])[0]
    assert np.flatnonzero(row).tolist() == [16 * bins[0] + 4 * bins[1] + bins[2]]
    assert row.max() == 1


def test_the_gamut_is_what_srgb_reaches() -> None:
    levels = np.arange(0, 256, 15, dtype=np.uint8)
    cube = np.stack(np.meshgrid(levels, levels, levels), axis=-1).reshape(1, -1, 3)
    lab = rgb2lab(cube)[0]
    for channel, (low, high) in enumerate(GAMUT):
        assert lab[:, channel].min() == pytest.approx(low, abs=0.1)
        assert lab[:, channel].max() == pytest.approx(high, abs=0.1)


def test_shares_are_those_of_a_loop_over_pixels() -> None:
    picture = generator(0, "histogram").integers(256, size=(13, 21, 3), dtype=np.uint8)
    expected = np.zeros(64)
    for pixel in (LAB_ORIGIN + LAB_UNIT * lab_bytes(picture)).reshape(-1, 3):
        place = [sum(value >= edge for edge in bin_edges(channel)) for channel, value in enumerate(pixel)]
        expected[16 * place[0] + 4 * place[1] + place[2]] += 1 / (13 * 21)
    row = ColourHistogram()([picture])[0]
    np.testing.assert_allclose(row, expected, atol=1e-7)
    assert row.sum() == pytest.approx(1)


def test_two_halves_weigh_a_half_each() -> None:
    picture = np.concatenate([flat(255, 0, 0), flat(0, 0, 255)])
    row = ColourHistogram()([picture])[0]
    assert sorted(row[row > 0].tolist()) == [0.5, 0.5]


def test_where_a_colour_is_does_not_matter() -> None:
    picture = generator(1, "histogram").integers(256, size=(12, 12, 3), dtype=np.uint8)
    shuffled = generator(2, "histogram").permutation(picture.reshape(-1, 3)).reshape(6, 24, 3)
    np.testing.assert_array_equal(ColourHistogram()([picture]), ColourHistogram()([shuffled]))
