"""Edges point where they should, turn with the picture, and are counted in shares."""

import numpy as np
import pytest

from diptych.features.image import EdgeDirection

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


def test_a_quarter_turn_of_the_picture_moves_directions_by_eighteen() -> None:
    picture = step_edge(25)
    before, after = EdgeDirection()([picture, np.rot90(picture)])
    np.testing.assert_allclose(after[:72], np.roll(before[:72], 18), atol=0.04)
    assert after[72] == pytest.approx(before[72], abs=0.002)


def test_inverting_brightness_turns_directions_round() -> None:
    picture = step_edge(40)
    before, after = EdgeDirection()([picture, 255 - picture])
    np.testing.assert_allclose(after[:72], np.roll(before[:72], 36), atol=0.04)


def test_a_flat_picture_is_all_no_edge() -> None:
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
