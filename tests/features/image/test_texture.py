"""Edges point where they should, and wavelets see stripes of their own scale and direction."""

import numpy as np
import pytest
import pywt

from diptych._core.seeding import generator
from diptych.features.image.colour import grey
from diptych.features.image.texture import (
    BANDS,
    WAVELET,
    EdgeDirection,
    WaveletTexture,
    pyramid_nodes,
    split,
    tree_nodes,
)

SIDE = 60


def step_edge(degrees: float) -> np.ndarray:
    """Dark on one side of the centre and bright on the other, brighter towards the angle (0° right, 90° up)."""
    rows, columns = np.indices((SIDE, SIDE)) - (SIDE - 1) / 2
    along = columns * np.cos(np.radians(degrees)) - rows * np.sin(np.radians(degrees))
    soft = np.clip(along + 0.5, 0, 1)  # pixels on the line are partly bright, as a camera sees them
    return np.repeat(np.rint(40 + 170 * soft)[..., None], 3, axis=2).astype(np.uint8)


@pytest.mark.parametrize(("degrees", "column"), [(0, 0), (90, 18), (180, 36), (270, 54)])
def test_upright_edges_fall_into_one_bin(degrees: int, column: int) -> None:
    row = EdgeDirection()([step_edge(degrees)])[0]
    assert row[column] == pytest.approx(1)


@pytest.mark.parametrize("tilt", [-1.5, 1.5])
def test_bins_are_centred_so_that_a_slight_tilt_changes_nothing(tilt: float) -> None:
    assert EdgeDirection()([step_edge(tilt)])[0, 0] > 0.6


@pytest.mark.parametrize("degrees", range(0, 360, 15))
def test_slanted_edges_fall_near_their_angle(degrees: int) -> None:
    row = EdgeDirection()([step_edge(degrees)])[0]
    near = [(degrees // 5 + turn) % 72 for turn in (-1, 0, 1)]
    assert row[near].sum() > 0.9


def test_a_quarter_turn_of_the_image_moves_directions_by_eighteen() -> None:
    image = step_edge(25)
    before, after = EdgeDirection()([image, np.rot90(image)])
    np.testing.assert_allclose(after[:72], np.roll(before[:72], 18), atol=0.04)
    assert after[72] == pytest.approx(before[72], abs=0.002)


def test_inverting_brightness_turns_directions_round() -> None:
    image = step_edge(40)
    before, after = EdgeDirection()([image, 255 - image])
    np.testing.assert_allclose(after[:72], np.roll(before[:72], 36), atol=0.04)


def test_a_flat_image_is_all_no_edge() -> None:
    row = EdgeDirection()([np.full((10, 10, 3), 90, dtype=np.uint8)])[0]
    assert row[72] == 1
    assert not row[:72].any()


def test_the_last_column_counts_pixels_off_the_edge() -> None:
    row = EdgeDirection()([step_edge(0)])[0]
    assert row[:72].sum() == pytest.approx(1)
    assert row[72] == pytest.approx(1 - 1 / SIDE, abs=2 / SIDE)


def test_higher_thresholds_see_fewer_edges() -> None:
    faint = step_edge(0) // 12
    assert EdgeDirection()([faint])[0, 72] == 1
    assert EdgeDirection(weak=5, strong=10)([faint])[0, 72] < 1


WAVE_SIDE = 96


def grating(period: float, *, upright: bool) -> np.ndarray:
    """Upright stripes vary from left to right."""
    wave = np.rint(128 + 100 * np.cos(2 * np.pi * (np.arange(WAVE_SIDE) + 0.3) / period))
    lines = np.broadcast_to(wave if upright else wave[:, None], (WAVE_SIDE, WAVE_SIDE))
    return np.repeat(lines[..., None], 3, axis=2).astype(np.uint8)


def named(image: np.ndarray) -> dict[str, float]:
    """The mean magnitude of each of the tree's bands by name."""
    row = WaveletTexture()([image])[0]
    return dict(zip(tree_nodes(), row[24::2].tolist(), strict=True))


@pytest.mark.parametrize(
    ("period", "level"),
    [(2.7, ""), (5.5, "LL/"), (11.0, "LL/LL/")],
)
@pytest.mark.parametrize(("upright", "band"), [(True, "HL"), (False, "LH")])
def test_a_grating_lands_in_the_band_of_its_scale_and_orientation(period, level, upright, band) -> None:
    energies = named(grating(period, upright=upright))
    details = {name: energies[name] for name in pyramid_nodes() if not name.endswith("LL")}
    assert max(details, key=details.__getitem__) == level + band
    other = "LH" if band == "HL" else "HL"
    assert energies[level + other] < 1e-3 * energies[level + band]


def test_both_directions_at_once_land_in_hh() -> None:
    wave = np.cos(2 * np.pi * (np.arange(WAVE_SIDE) + 0.3) / 2.7)
    plaid = np.repeat(np.rint(128 + 100 * np.outer(wave, wave))[..., None], 3, axis=2).astype(np.uint8)
    energies = named(plaid)
    assert max(("LH", "HL", "HH"), key=energies.__getitem__) == "HH"


def test_turning_the_image_over_its_diagonal_swaps_lh_and_hl() -> None:
    image = generator(0, "wavelet").integers(256, size=(40, 64, 3), dtype=np.uint8)
    before, after = named(image), named(image.swapaxes(0, 1))
    swap = {"LL": "LL", "LH": "HL", "HL": "LH", "HH": "HH"}
    for name, value in before.items():
        mirrored = "/".join(swap[band] for band in name.split("/"))
        assert after[mirrored] == pytest.approx(value, rel=1e-4, abs=1e-6)


def middle(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Drop the coefficients that lie beyond the border, as many on both sides."""
    starts = [(have - want) // 2 for have, want in zip(values.shape, shape, strict=True)]
    return values[tuple(slice(start, start + want) for start, want in zip(starts, shape, strict=True))]


def by_pywavelets(image: np.ndarray) -> dict[str, np.ndarray]:
    half = tuple(-(-side // 2) for side in image.shape)
    low, (top_bottom, left_right, both) = pywt.dwt2(image, WAVELET, mode="symmetric")
    return {name: middle(band, half) for name, band in zip(BANDS, (low, top_bottom, left_right, both), strict=True)}


@pytest.mark.parametrize("shape", [(32, 32), (33, 20), (7, 50), (1, 9), (1, 1)])
def test_one_split_is_that_of_pywavelets_without_its_margin(shape) -> None:
    image = generator(1, "wavelet", str(shape)).random(shape)
    bands = split(image[None].astype(np.float32))[0]
    for ours, theirs in zip(bands, by_pywavelets(image).values(), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=2e-5)


def test_the_row_is_that_of_a_recursion_over_named_bands() -> None:
    image = generator(2, "wavelet").integers(256, size=(50, 37, 3), dtype=np.uint8)

    def magnitudes(name: str) -> np.ndarray:
        node = grey(image) / 255
        for band in name.split("/"):
            node = by_pywavelets(node)[band]
        return np.abs(node)

    bands = [magnitudes(name) for name in (*pyramid_nodes(), *tree_nodes())]
    expected = np.array([[band.mean(), band.std()] for band in bands]).ravel()
    np.testing.assert_allclose(WaveletTexture()([image])[0], expected, rtol=1e-4, atol=1e-6)


def test_names_say_how_many_bands_there_are() -> None:
    names = tree_nodes()
    assert [sum(name.count("/") == level for name in names) for level in range(3)] == [4, 12, 36]
    assert len(set(names)) == 52
    assert not any("HH/" in name for name in names)
    assert pyramid_nodes() == (*BANDS, *(f"LL/{band}" for band in BANDS), *(f"LL/LL/{band}" for band in BANDS))


def test_a_flat_image_has_no_details() -> None:
    energies = named(np.full((WAVE_SIDE, WAVE_SIDE, 3), 255, dtype=np.uint8))
    for name, value in energies.items():
        bands = name.split("/")
        expected = 2.0 ** len(bands) if set(bands) == {"LL"} else 0.0  # each split doubles what is constant
        assert value == pytest.approx(expected, abs=1e-4)
