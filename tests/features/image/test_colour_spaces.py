"""Bytes of L*a*b* and HSV against independent conversions."""

import colorsys

import numpy as np
from skimage.color import rgb2lab

from diptych._core.seeding import generator
from diptych.features.image.colour_spaces import LAB_ORIGIN, LAB_UNIT, grey, hsv_bytes, lab_bytes, look_up

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
