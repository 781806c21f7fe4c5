"""Edge histogram: stripes are edges of their own direction, in their own region."""

import cv2
import numpy as np
import pytest

from diptych._core.arrays import ImageArray
from diptych._core.seeding import generator
from diptych.features.image.mpeg7 import EdgeHistogram
from diptych.features.image.mpeg7.edge_histogram import KINDS

cv2.setNumThreads(1)
DOWN, RIGHT = np.mgrid[:192, :192]


def picture(bright: np.ndarray) -> ImageArray:
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
    found = shares(picture(bright))
    assert np.all(found.argmax(axis=2) == KINDS.index(kind))
    assert found[..., KINDS.index(kind)].min() > 0.4
    np.testing.assert_allclose(np.delete(found, KINDS.index(kind), axis=2), 0)


def test_an_edge_is_counted_in_its_region_only() -> None:
    bright = np.zeros((192, 192), dtype=bool)
    bright[48:96, 98:104] = True
    found = shares(picture(bright))
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
