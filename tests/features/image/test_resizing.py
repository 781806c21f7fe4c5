"""Shrinking keeps proportions, never enlarges, and happens both in fitting and in describing."""

from operator import length_hint

import numpy as np
import pytest

from diptych._core.errors import ConfigError, DataError
from diptych._core.seeding import generator
from diptych._core.state import pack, unpack
from diptych.features.image import ColourHistogram, Shrinking, shrink

RANDOM = generator(0, "shrinking")


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((100, 200), (25, 50)),
        ((200, 100), (50, 25)),
        ((50, 50), (50, 50)),
        ((1, 5000), (1, 50)),
        ((3000, 2), (50, 1)),
        ((7, 3), (7, 3)),
    ],
)
def test_the_longest_side_is_kept_to(shape, expected) -> None:
    picture = RANDOM.integers(256, size=(*shape, 3), dtype=np.uint8)
    small = shrink(picture, 50)
    assert small.shape == (*expected, 3)
    assert small.dtype == np.uint8


def test_small_pictures_come_back_untouched() -> None:
    picture = RANDOM.integers(256, size=(9, 50, 3), dtype=np.uint8)
    assert shrink(picture, 50) is picture


def test_each_pixel_is_the_mean_of_its_area() -> None:
    picture = RANDOM.integers(256, size=(40, 60, 3), dtype=np.uint8)
    means = picture.reshape(10, 4, 15, 4, 3).mean(axis=(1, 3))
    assert np.abs(shrink(picture, 15) - means).max() <= 0.5 + 1e-3


class ShapeRecorder:
    """A feature that only looks at how large the pictures it gets are."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, ...]] = []
        self.hint = -1

    def fit(self, items, *, seed=0, progress=None):
        self.hint = length_hint(items)
        self.seen = [item.shape for item in items]
        return ColourHistogram()


def test_fitting_sees_shrunk_pictures_and_how_many() -> None:
    recorder = ShapeRecorder()
    Shrinking(recorder, 8).fit([np.zeros((16, 32, 3), np.uint8)] * 3)
    assert recorder.seen == [(4, 8, 3)] * 3
    assert recorder.hint == 3


def test_describing_shrinks_first_and_survives_being_saved() -> None:
    picture = RANDOM.integers(256, size=(64, 32, 3), dtype=np.uint8)
    extractor = Shrinking(ColourHistogram(), 16).fit(())
    again = unpack(*pack(extractor))
    assert again == extractor
    assert again.blocks == ColourHistogram().blocks
    assert again.kind == "dense"
    np.testing.assert_array_equal(again([picture]), ColourHistogram()([shrink(picture, 16)]))


def test_a_side_without_pixels_is_refused() -> None:
    with pytest.raises(ConfigError, match="longest_side is 0; it must be at least 1"):
        Shrinking(ColourHistogram(), 0).fit(())


def test_what_is_no_picture_is_refused_before_it_is_shrunk() -> None:
    with pytest.raises(DataError, match="height × width × 3 bytes"):
        Shrinking(ColourHistogram(), 8).fit(())([np.zeros((20, 20), np.uint8)])
