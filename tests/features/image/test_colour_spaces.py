"""Colour spaces as bytes, and the palette of thirty-six colours: known ones, and a plain reading of the definitions."""

import colorsys
from itertools import product

import numpy as np
import pytest
from skimage.color import rgb2lab

from diptych._core.seeding import generator
from diptych.features.image.colour import (
    COLOURS,
    LAB_ORIGIN,
    LAB_UNIT,
    grey,
    hsv_bytes,
    lab_bytes,
    look_up,
    palette_indices,
)

PICTURE = generator(0, "colour spaces").integers(256, size=(40, 40, 3), dtype=np.uint8)


def test_lab_is_that_of_another_library() -> None:
    difference = np.abs(LAB_ORIGIN + LAB_UNIT * lab_bytes(PICTURE) - rgb2lab(PICTURE))
    assert difference.max() < 1.5
    assert difference.mean() < 0.4


def test_hsv_is_that_of_the_standard_library() -> None:
    expected = np.array([colorsys.rgb_to_hsv(*(pixel / 255)) for pixel in PICTURE.reshape(-1, 3)])
    actual = hsv_bytes(PICTURE).reshape(-1, 3).astype(float)
    turn = np.abs(actual[:, 0] - 180 * expected[:, 0])
    assert np.minimum(turn, 180 - turn).max() <= 1
    assert np.abs(actual[:, 1:] - 255 * expected[:, 1:]).max() <= 1


def test_grey_weighs_green_most() -> None:
    expected = PICTURE @ np.array([0.299, 0.587, 0.114])
    assert np.abs(grey(PICTURE) - expected).max() <= 1


def test_each_channel_has_its_own_table() -> None:
    same = np.arange(256, dtype=np.uint8)
    first, second, third = look_up(PICTURE, (same, same[::-1].copy(), np.zeros(256, np.uint8)))
    np.testing.assert_array_equal(first, PICTURE[..., 0])
    np.testing.assert_array_equal(second, 255 - PICTURE[..., 1])
    assert not third.any()


def by_definition(hue: float, saturation: float, value: float) -> int:
    """Degrees and shares into a colour, written as the docstring says it."""
    if value < 0.2:
        return 0
    if saturation < 0.2:
        return 7 if value >= 0.8 else 1 + int((value - 0.2) * 10)
    names = [(22, 0), (45, 1), (70, 2), (155, 3), (186, 4), (278, 5), (330, 6), (361, 0)]
    place = next(code for end, code in names if hue % 360 < end)
    return 8 + 4 * place + 2 * (saturation >= 0.65) + (value >= 0.7)


@pytest.mark.parametrize(
    ("colour", "code"),
    [
        ((0, 0, 0), 0),
        ((40, 0, 0), 0),
        ((60, 60, 60), 1),
        ((128, 128, 128), 4),
        ((255, 255, 255), 7),
        ((255, 0, 0), 8 + 3),
        ((255, 0, 30), 8 + 3),  # 353°: red lies on both sides of 0°
        ((255, 128, 0), 12 + 3),
        ((255, 255, 0), 16 + 3),
        ((0, 255, 0), 20 + 3),
        ((0, 255, 255), 24 + 3),
        ((0, 0, 255), 28 + 3),
        ((255, 0, 255), 32 + 3),
        ((100, 0, 100), 32 + 2),
        ((130, 255, 130), 20 + 1),
        ((60, 120, 60), 20),
    ],
)
def test_named_colours(colour, code: int) -> None:
    assert palette_indices(np.array([[colour]], dtype=np.uint8)).item() == code


def test_random_colours_are_as_defined_up_to_the_rounding_of_bytes() -> None:
    pixels = generator(0, "palette").integers(256, size=(1500, 1, 3), dtype=np.uint8)
    for pixel, code in zip(pixels[:, 0], palette_indices(pixels)[:, 0], strict=True):
        hue, saturation, value = colorsys.rgb_to_hsv(*(pixel / 255))
        nearby = product((-1.5, 0, 1.5), (-1 / 255, 0, 1 / 255), (-1e-9, 1e-9))
        assert code in {by_definition(360 * hue + h, saturation + s, value + v) for h, s, v in nearby}


def test_all_colours_can_be_reached_and_no_others() -> None:
    levels = np.arange(0, 256, 5, dtype=np.uint8)
    cube = np.stack(np.meshgrid(levels, levels, levels), axis=-1).reshape(1, -1, 3)
    np.testing.assert_array_equal(np.unique(palette_indices(cube)), np.arange(COLOURS))
