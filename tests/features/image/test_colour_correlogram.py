"""How far equal colours lie together: exact cases, and a loop over all pairs of pixels."""

import numpy as np
import pytest

from diptych._core.seeding import generator
from diptych.features.image import ColourCorrelogram
from diptych.features.image.colour_correlogram import DISTANCES, auto_correlogram, half_ring

BLACK, WHITE = 0, 7


def by_pairs(codes: np.ndarray) -> np.ndarray:
    """The definition, over every ordered pair of pixels."""
    equal, every = np.zeros((2, 4, 36))
    places = list(np.ndindex(*codes.shape))
    for here in places:
        for there in places:
            distance = max(abs(here[0] - there[0]), abs(here[1] - there[1]))
            if distance in DISTANCES:
                at = DISTANCES.index(distance), codes[here]
                every[at] += 1
                equal[at] += codes[here] == codes[there]
    return np.divide(equal, every, out=np.zeros_like(equal), where=every > 0)


@pytest.mark.parametrize(
    ("shape", "colours"), [((9, 12), 3), ((12, 5), 36), ((1, 20), 2), ((20, 1), 2), ((3, 3), 2), ((16, 15), 6)]
)
def test_it_is_the_loop_over_pairs(shape, colours: int) -> None:
    codes = generator(0, "correlogram", str(shape)).integers(colours, size=shape, dtype=np.uint8)
    np.testing.assert_allclose(auto_correlogram(codes), by_pairs(codes), atol=1e-12)


def test_a_flat_picture_scores_one_at_its_colour_for_every_distance() -> None:
    rows = ColourCorrelogram()([np.full((20, 9, 3), (255, 0, 0), dtype=np.uint8)])[0].reshape(4, 36)
    expected = np.zeros((4, 36))
    expected[:, 11] = 1
    np.testing.assert_array_equal(rows, expected)


def board(rows: int, columns: int) -> np.ndarray:
    """A chessboard of single pixels, black in the top left corner."""
    white = np.indices((rows, columns)).sum(axis=0) % 2
    return np.repeat(255 * white[..., None], 3, axis=2).astype(np.uint8)


def test_a_chessboard_of_four_pixels() -> None:
    rows = ColourCorrelogram()([board(2, 2)])[0].reshape(4, 36)
    np.testing.assert_allclose(rows[0, [BLACK, WHITE]], 1 / 3)  # of three neighbours, the one across the corner
    assert not rows[1:].any()  # nothing is three away


def test_a_chessboard_of_nine_pixels() -> None:
    rows = ColourCorrelogram()([board(3, 3)])[0].reshape(4, 36)
    # Black: centre (8 neighbours, 4 black) and 4 corners (3, 1 black). White: 4 sides (5 neighbours, 2 white).
    np.testing.assert_allclose(rows[0, [BLACK, WHITE]], [8 / 20, 8 / 20])


def test_a_large_chessboard_is_half_and_half_at_odd_distances() -> None:
    rows = ColourCorrelogram()([board(200, 200)])[0].reshape(4, 36)
    np.testing.assert_allclose(rows[:, [BLACK, WHITE]], 0.5, atol=0.01)
    assert not np.delete(rows, [BLACK, WHITE], axis=1).any()


def test_stripes_are_told_from_scattered_pixels_of_equal_number() -> None:
    stripes = np.zeros((40, 40, 3), dtype=np.uint8)
    stripes[:20] = 255
    scattered = generator(0, "scatter").permutation(stripes.reshape(-1, 3)).reshape(40, 40, 3)
    near, mixed = ColourCorrelogram()([stripes, scattered])[:, BLACK]
    assert near > 0.9
    assert mixed == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("distance", DISTANCES)
def test_half_a_ring_and_its_opposite_make_the_ring(distance: int) -> None:
    half = half_ring(distance)
    ring = set(half) | {(-down, -right) for down, right in half}
    assert len(half) == 4 * distance
    assert len(ring) == 8 * distance
    assert {max(map(abs, step)) for step in ring} == {distance}
