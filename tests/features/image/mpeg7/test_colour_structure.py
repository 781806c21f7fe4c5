"""Colour structure: counts of a loop over window positions; scattered colour counts more than gathered."""

import cv2
import numpy as np
import pytest

from diptych._core.seeding import generator
from diptych.features.image.mpeg7 import ColourStructure
from diptych.features.image.mpeg7.colour_structure import hmmd_cells, window_shares

cv2.setNumThreads(1)


@pytest.mark.parametrize("shape", [(17, 23), (8, 8), (5, 30), (1, 1)])
def test_shares_are_those_of_a_loop_over_positions(shape: tuple[int, int]) -> None:
    cells = generator(0, "cells").integers(0, 256, shape)
    height, width = min(8, shape[0]), min(8, shape[1])
    seen = np.zeros(256)
    positions = [(y, x) for y in range(shape[0] - height + 1) for x in range(shape[1] - width + 1)]
    for y, x in positions:
        seen[np.unique(cells[y : y + height, x : x + width])] += 1
    np.testing.assert_allclose(window_shares(cells), seen / len(positions), rtol=1e-6)


def test_scattered_pixels_are_seen_more_than_a_patch() -> None:
    patch, scattered = np.zeros((2, 80, 80), dtype=np.int64)
    patch[:10, :10] = 7
    scattered[4::8, 4::8] = 7
    assert np.count_nonzero(patch) == np.count_nonzero(scattered) == 100
    assert window_shares(scattered)[7] == 1
    assert window_shares(patch)[7] < 0.05


def test_all_256_cells_are_reached_and_none_beyond() -> None:
    values = np.arange(0, 256, 5, dtype=np.uint8)
    colours = np.stack(np.meshgrid(values, values, values), axis=-1).reshape(1, -1, 3)
    greys = np.repeat(np.arange(256, dtype=np.uint8)[None, :, None], 3, axis=2)
    cells = np.unique(np.concatenate([hmmd_cells(colours), hmmd_cells(greys)], axis=1))
    assert cells.min() == 0 and cells.max() == 255
    assert len(cells) > 250


def test_greys_are_told_apart_by_brightness_only() -> None:
    greys = np.repeat(np.arange(256, dtype=np.uint8)[None, :, None], 3, axis=2)
    cells = hmmd_cells(greys)[0]
    assert np.all(np.diff(cells) >= 0)
    assert set(cells) == set(range(32))


def test_hue_and_chroma_choose_the_cell() -> None:
    def cell(*colour: int) -> int:
        return int(hmmd_cells(np.array([[colour]], dtype=np.uint8))[0, 0])

    assert cell(255, 0, 0) == 192 + 0 * 4 + 255 * 4 // 511
    assert cell(0, 255, 0) == 192 + 5 * 4 + 255 * 4 // 511
    assert 128 <= cell(140, 60, 60) < 192
    assert 64 <= cell(140, 100, 100) < 128
    assert 32 <= cell(140, 130, 130) < 64


def test_a_flat_picture_is_one_colour_everywhere_and_large_ones_are_thinned() -> None:
    row = ColourStructure().describe(np.full((900, 700, 3), 77, dtype=np.uint8))
    assert np.count_nonzero(row) == 1
    assert row.max() == 255
