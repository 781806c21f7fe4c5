"""Which colours an image has, and where: exact cases, and loops over pixels, pairs and cells."""

import numpy as np
import pytest
from skimage.color import rgb2lab

from diptych._core.seeding import generator
from diptych.features.image.colour import (
    DISTANCES,
    GAMUT,
    LAB_ORIGIN,
    LAB_UNIT,
    ColourCorrelogram,
    ColourHistogram,
    ColourMoments,
    auto_correlogram,
    bin_edges,
    half_ring,
    lab_bytes,
)


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
    image = generator(0, "histogram").integers(256, size=(13, 21, 3), dtype=np.uint8)
    expected = np.zeros(64)
    for pixel in (LAB_ORIGIN + LAB_UNIT * lab_bytes(image)).reshape(-1, 3):
        place = [sum(value >= edge for edge in bin_edges(channel)) for channel, value in enumerate(pixel)]
        expected[16 * place[0] + 4 * place[1] + place[2]] += 1 / (13 * 21)
    row = ColourHistogram()([image])[0]
    np.testing.assert_allclose(row, expected, atol=1e-7)
    assert row.sum() == pytest.approx(1)


def test_two_halves_weigh_a_half_each() -> None:
    image = np.concatenate([flat(255, 0, 0), flat(0, 0, 255)])
    row = ColourHistogram()([image])[0]
    assert sorted(row[row > 0].tolist()) == [0.5, 0.5]


def test_where_a_colour_is_does_not_matter() -> None:
    image = generator(1, "histogram").integers(256, size=(12, 12, 3), dtype=np.uint8)
    shuffled = generator(2, "histogram").permutation(image.reshape(-1, 3)).reshape(6, 24, 3)
    np.testing.assert_array_equal(ColourHistogram()([image]), ColourHistogram()([shuffled]))


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


def test_a_flat_image_scores_one_at_its_colour_for_every_distance() -> None:
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


def by_loops(image: np.ndarray) -> np.ndarray:
    """The definition, pixel by pixel, for sides of five pixels or more."""
    lab = LAB_ORIGIN + LAB_UNIT * lab_bytes(image)
    height, width = lab.shape[:2]
    row = []
    for down in range(5):
        for right in range(5):
            cell = lab[down * height // 5 : (down + 1) * height // 5, right * width // 5 : (right + 1) * width // 5]
            pixels = [tuple(pixel) for line in cell for pixel in line]
            means = [sum(pixel[c] for pixel in pixels) / len(pixels) for c in range(3)]
            second = [sum((pixel[c] - means[c]) ** 2 for pixel in pixels) / len(pixels) for c in range(3)]
            third = [sum((pixel[c] - means[c]) ** 3 for pixel in pixels) / len(pixels) for c in range(3)]
            row += [*means, *(value**0.5 for value in second)]
            row += [np.sign(value) * abs(value) ** (1 / 3) for value in third]
    return np.array(row)


@pytest.mark.parametrize("shape", [(5, 5), (10, 15), (23, 17), (6, 41)])
def test_it_is_the_loop_over_pixels(shape) -> None:
    image = generator(0, "moments", str(shape)).integers(256, size=(*shape, 3), dtype=np.uint8)
    expected = by_loops(image)
    actual = ColourMoments()([image])[0]
    skew = np.arange(225) % 9 >= 6  # a cube root blows up what rounding leaves of zero
    np.testing.assert_allclose(actual[~skew], expected[~skew], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(actual[skew] ** 3, expected[skew] ** 3, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shape", [(1, 1), (3, 2), (50, 50), (64, 3), (37, 101)])
def test_flat_red_has_its_mean_and_no_spread(shape) -> None:
    cells = ColourMoments()([np.full((*shape, 3), (255, 0, 0), dtype=np.uint8)]).reshape(25, 3, 3)
    np.testing.assert_allclose(cells[:, 0], [[53.2, 80.1, 67.2]] * 25, atol=0.6)
    assert not cells[:, 1:].any()


def test_cells_are_numbered_row_by_row_from_the_top_left() -> None:
    image = np.zeros((50, 100, 3), dtype=np.uint8)
    image[10:20, 60:80] = 255  # second row, fourth column
    lightness = ColourMoments()([image]).reshape(25, 3, 3)[:, 0, 0]
    assert np.flatnonzero(lightness).tolist() == [5 * 1 + 3]
    assert lightness.max() == pytest.approx(100)


def test_the_third_moment_has_the_sign_of_the_longer_tail() -> None:
    image = np.zeros((10, 10, 3), dtype=np.uint8)
    image[::2, ::2] = 255  # of each cell's four pixels, one white
    for item, mean in ((image, 25), (255 - image, 75)):
        sign = 1 if mean == 25 else -1
        third = sign * (0.25 * 75**3 - 0.75 * 25**3) ** (1 / 3)
        cells = ColourMoments()([item]).reshape(25, 3, 3)
        np.testing.assert_allclose(cells[:, 0, 0], mean, rtol=1e-5)
        np.testing.assert_allclose(cells[:, 1, 0], 100 * np.sqrt(3) / 4, rtol=1e-5)
        np.testing.assert_allclose(cells[:, 2, 0], third, rtol=1e-4)


def test_two_pixels_are_shared_among_five_cells() -> None:
    image = np.zeros((1, 2, 3), dtype=np.uint8)
    image[0, 1] = 255
    lightness = ColourMoments()([image]).reshape(5, 5, 3, 3)[:, :, 0, 0]
    np.testing.assert_allclose(lightness, [[0, 0, 50, 100, 100]] * 5, rtol=1e-5)
