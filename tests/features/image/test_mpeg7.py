"""Descriptors of MPEG-7: stripes, patches and layouts give what the definitions say."""

import colorsys

import cv2
import numpy as np
import pytest
import scipy.fft

from diptych._core.arrays import ImageArray
from diptych._core.seeding import generator
from diptych._core.state import pack, unpack
from diptych.features.contract import width
from diptych.features.image import FixedDescriptor
from diptych.features.image.mpeg7 import (
    KINDS,
    ColourLayout,
    ColourStructure,
    EdgeHistogram,
    ScalableColour,
    haar,
    hmmd_cells,
    hsv_histogram,
    window_shares,
    zigzag,
)

cv2.setNumThreads(1)
SIZES = [(ScalableColour(), 256), (ColourStructure(), 256), (ColourLayout(), 192), (EdgeHistogram(), 80)]


@pytest.mark.parametrize(("descriptor", "size"), SIZES, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("shape", [(1, 1), (1, 3000), (2500, 2), (13, 7), (100, 150)])
def test_rows_are_finite_for_any_shape(descriptor: FixedDescriptor, size: int, shape: tuple[int, int]) -> None:
    noise = generator(0, "shape").integers(0, 256, (*shape, 3), dtype=np.uint8)
    rows = descriptor([noise, np.zeros_like(noise), np.full_like(noise, 255)])
    assert rows.shape == (3, size)
    assert rows.dtype == np.float32
    assert np.isfinite(rows).all()


@pytest.mark.parametrize(("descriptor", "size"), SIZES, ids=lambda value: type(value).__name__)
def test_blocks_tile_and_state_comes_back(descriptor: FixedDescriptor, size: int) -> None:
    starts, stops = zip(*((block.start, block.stop) for block in descriptor.blocks), strict=True)
    assert (0, *stops) == (*starts, size)
    assert width(descriptor.blocks) == size
    assert unpack(*pack(descriptor)) == descriptor


def test_the_four_add_up_to_784() -> None:
    assert sum(width(descriptor.blocks) for descriptor, _ in SIZES) == 784


cv2.setNumThreads(1)


def test_the_order_is_that_of_jpeg() -> None:
    assert zigzag(8)[:15].tolist() == [0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4]
    assert sorted(zigzag(8)) == list(range(64))


@pytest.mark.parametrize("shape", [(1, 1), (3, 900), (192, 192), (9, 7)])
def test_a_flat_image_has_only_means(shape: tuple[int, int]) -> None:
    image = np.empty((*shape, 3), dtype=np.uint8)
    image[:] = (200, 100, 50)
    rows = ColourLayout().describe(image).reshape(3, 64)
    luma = 0.299 * 200 + 0.587 * 100 + 0.114 * 50
    expected = [luma, 0.5 * (50 - luma) / (1 - 0.114), 0.5 * (200 - luma) / (1 - 0.299)]
    np.testing.assert_allclose(rows[:, 0], expected, rtol=1e-4)
    np.testing.assert_allclose(rows[:, 1:], 0, atol=1e-4)


def test_coefficients_are_those_of_block_means() -> None:
    image = generator(0, "layout").integers(0, 256, (64, 40, 3), dtype=np.uint8)
    means = image.reshape(8, 8, 8, 5, 3).mean(axis=(1, 3))
    luma = means @ [0.299, 0.587, 0.114]
    coefficients = scipy.fft.dctn(luma, norm="ortho") / 8
    row = ColourLayout().describe(image)
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


def test_a_flat_image_is_one_colour_everywhere_and_large_ones_are_thinned() -> None:
    row = ColourStructure().describe(np.full((900, 700, 3), 77, dtype=np.uint8))
    assert np.count_nonzero(row) == 1
    assert row.max() == 255


cv2.setNumThreads(1)
DOWN, RIGHT = np.mgrid[:192, :192]


def image(bright: np.ndarray) -> ImageArray:
    return np.repeat(np.where(bright, 220, 30).astype(np.uint8)[..., None], 3, axis=2)


def shares(image: ImageArray) -> np.ndarray:
    return EdgeHistogram().describe(image).reshape(4, 4, 5)


@pytest.mark.parametrize(
    ("bright", "kind"),
    [
        ((RIGHT + 2) % 8 < 4, "vertical"),
        ((DOWN + 2) % 8 < 4, "horizontal"),
        ((RIGHT + DOWN) % 8 < 4, "45°"),
        ((RIGHT - DOWN) % 8 < 4, "135°"),
        ((RIGHT // 2 + DOWN // 2) % 2 == 0, "no direction"),
    ],
)
def test_stripes_have_edges_of_their_direction_everywhere(bright: np.ndarray, kind: str) -> None:
    found = shares(image(bright))
    assert np.all(found.argmax(axis=2) == KINDS.index(kind))
    assert found[..., KINDS.index(kind)].min() > 0.4
    np.testing.assert_allclose(np.delete(found, KINDS.index(kind), axis=2), 0)


def test_an_edge_is_counted_in_its_region_only() -> None:
    bright = np.zeros((192, 192), dtype=bool)
    bright[48:96, 98:104] = True
    found = shares(image(bright))
    assert found[1, 2, 0] > 0
    found[1, 2] = 0
    assert found.max() == 0


def test_shares_are_those_of_a_loop_over_blocks() -> None:
    image = generator(0, "edges").integers(0, 256, (70, 90, 3), dtype=np.uint8)
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).astype(float)
    root = 2**0.5
    weights = ((1, -1, 1, -1), (1, 1, -1, -1), (root, 0, 0, -root), (0, root, -root, 0), (2, -2, -2, 2))
    counts, totals = np.zeros((4, 4, 5)), np.zeros((4, 4, 1))
    for y in range(35):
        for x in range(45):
            quarters = grey[2 * y : 2 * y + 2, 2 * x : 2 * x + 2].ravel()
            answers = [abs(np.dot(quarters, weight)) for weight in weights]
            totals[y * 4 // 35, x * 4 // 45] += 1
            if max(answers) >= 11:
                counts[y * 4 // 35, x * 4 // 45, int(np.argmax(answers))] += 1
    np.testing.assert_allclose(shares(image), counts / totals, rtol=1e-5)


def test_faint_edges_are_none() -> None:
    faint = np.where((RIGHT + 2) % 8 < 4, 100, 103).astype(np.uint8)
    assert shares(np.repeat(faint[..., None], 3, axis=2)).max() == 0
    assert EdgeHistogram(threshold=1).describe(np.repeat(faint[..., None], 3, axis=2)).max() > 0


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
