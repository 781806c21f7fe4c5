"""GIST: gratings answer at their own orientation, scale and place; the filters are the formula's."""

import cv2
import numpy as np
import pytest

from diptych._core.arrays import ImageArray
from diptych._core.seeding import generator
from diptych._core.state import pack, unpack
from diptych.features.contract import width
from diptych.features.image.texture import Gist, _cell_means, _gabor_filters, _without_lighting

cv2.setNumThreads(1)


def grating(degrees: float, cycles_a_pixel: float, side: int = 128) -> ImageArray:
    """Bars whose brightness changes along a direction (0 is to the right, 90 down)."""
    down, right = np.mgrid[:side, :side]
    along = right * np.cos(np.radians(degrees)) + down * np.sin(np.radians(degrees))
    bars = 128 + 80 * np.sin(2 * np.pi * cycles_a_pixel * along)
    return np.repeat(bars[..., None], 3, axis=2).astype(np.uint8)


def answers(image: ImageArray) -> np.ndarray:
    return Gist().describe(image).reshape(4, 8, 4, 4)


@pytest.mark.parametrize("orientation", range(8))
def test_a_grating_answers_at_its_orientation(orientation: int) -> None:
    by_orientation = answers(grating(22.5 * orientation, 0.162))[1].mean(axis=(1, 2))
    assert by_orientation.argmax() == orientation


@pytest.mark.parametrize("scale", range(4))
def test_a_grating_answers_at_its_scale(scale: int) -> None:
    by_scale = answers(grating(45, 0.3 / 1.85**scale)).mean(axis=(1, 2, 3))
    assert by_scale.argmax() == scale


def test_a_quarter_turn_moves_the_answer_four_orientations_on() -> None:
    image = grating(22.5, 0.162)
    before = answers(image)[1].mean(axis=(1, 2))
    after = answers(np.ascontiguousarray(np.rot90(image, -1)))[1].mean(axis=(1, 2))
    np.testing.assert_allclose(after, np.roll(before, 4), rtol=0.15, atol=0.02 * before.max())
    assert after.argmax() == 5


def test_a_cell_answers_for_its_own_part() -> None:
    image = np.full((128, 128, 3), 128, dtype=np.uint8)
    image[64:96, 32:64] = grating(0, 0.162)[64:96, 32:64]
    by_cell = answers(image)[1, 0]
    assert np.unravel_index(by_cell.argmax(), (4, 4)) == (2, 1)


def test_brighter_light_changes_little() -> None:
    image = (generator(0, "gist").random((128, 128, 3)) * 80 + 40).astype(np.uint8)
    np.testing.assert_allclose(answers(image * 2), answers(image), rtol=0.05, atol=1e-3)


def test_rows_are_magnitudes_of_a_convolution_averaged_over_cells() -> None:
    """The same by numpy's Fourier transform in double precision, filter by filter and cell by cell."""
    image = generator(1, "gist").integers(0, 256, (128, 128, 3), dtype=np.uint8)
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    signal = np.fft.fft2(np.pad(_without_lighting(grey).astype(np.float64), 32, mode="symmetric"))
    frequency = np.fft.fftfreq(192)
    for scale, orientation in ((0, 0), (1, 3), (3, 7)):
        transfer = np.empty((192, 192))
        for i, f_down in enumerate(frequency):
            for j, f_right in enumerate(frequency):
                angle = np.arctan2(f_down, f_right) - np.pi * orientation / 8
                angle = (angle + np.pi) % (2 * np.pi) - np.pi
                radius = np.hypot(f_down, f_right) / (0.3 / 1.85**scale)
                transfer[i, j] = np.exp(-3.5 * (radius - 1) ** 2 - 2 * np.pi * angle**2)
        magnitude = np.abs(np.fft.ifft2(signal * transfer))[32:160, 32:160]
        expected = [[magnitude[i : i + 32, j : j + 32].mean() for j in range(0, 128, 32)] for i in range(0, 128, 32)]
        np.testing.assert_allclose(answers(image)[scale, orientation], expected, rtol=1e-3)


def test_filters_pass_no_constant_of_note_and_cover_half_the_plane() -> None:
    filters = _gabor_filters(4, 8, 64)
    assert filters.shape == (32, 64, 64)
    assert filters[:, 0, 0].max() < 0.04
    assert 0.9 < filters.max() <= 1


def test_cells_need_not_divide_the_side() -> None:
    magnitudes = np.arange(100, dtype=np.float32).reshape(1, 10, 10)
    means = _cell_means(magnitudes, 3).reshape(3, 3)
    assert means[0, 0] == magnitudes[0, :3, :3].mean()
    assert means[2, 2] == magnitudes[0, 6:, 6:].mean()


@pytest.mark.parametrize("shape", [(1, 1), (1, 700), (400, 3), (128, 128), (500, 600)])
def test_rows_are_finite_and_512_long(shape: tuple[int, int]) -> None:
    noise = generator(2, "gist").integers(0, 256, (*shape, 3), dtype=np.uint8)
    rows = Gist()([noise, np.zeros_like(noise)])
    assert rows.shape == (2, 512)
    assert rows.dtype == np.float32
    assert np.isfinite(rows).all()
    assert rows[1].max() < 1e-3


def test_blocks_tile_and_state_comes_back() -> None:
    gist = Gist(scales=2, orientations=6, cells=3)
    assert [(block.start, block.stop) for block in gist.blocks] == [(0, 54), (54, 108)]
    assert width(Gist().blocks) == 512
    assert unpack(*pack(gist)) == gist
    assert gist.fit(iter(())) is gist
