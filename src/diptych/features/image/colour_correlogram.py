"""The 144-d colour auto-correlogram: how far equal colours lie together."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from diptych._core.arrays import Floats, ImageArray, Singles
from diptych._core.state import stateful
from diptych.features.contract import Block
from diptych.features.image.descriptor import FixedDescriptor
from diptych.features.image.hsv_palette import COLOURS, palette_codes

DISTANCES = (1, 3, 5, 7)


def half_ring(distance: int) -> list[tuple[int, int]]:
    """One of each two opposite steps (down, right) of chessboard length `distance`: 4 · distance of them."""
    steps = range(-distance, distance + 1)
    ring = [(down, right) for down in steps for right in steps if max(abs(down), abs(right)) == distance]
    return [step for step in ring if step > (0, 0)]


_HALF_RINGS = {distance: half_ring(distance) for distance in DISTANCES}
_MARGIN = max(DISTANCES)


@lru_cache(maxsize=16)
def _ring_sizes(height: int, width: int, distance: int) -> Floats:
    """For each pixel, how many pixels of the picture lie at a distance from it; margin pixels have none."""

    def within(side: int, reach: int) -> Floats:
        place = np.arange(side, dtype=np.float64)
        return np.minimum(place + reach, side - 1) - np.maximum(place - reach, 0) + 1

    squares = [np.multiply.outer(within(height, reach), within(width, reach)) for reach in (distance, distance - 1)]
    sizes = np.zeros((height, width + _MARGIN))
    sizes[:, :width] = squares[0] - squares[1]
    return sizes.ravel()


def auto_correlogram(codes: ImageArray) -> Floats:
    """P(a pixel at distance d has colour c | this pixel has colour c), for every d and c: (4, 36).

    Rows are laid end to end with a margin between them, so that a step is one shift of a flat array; margin pixels
    have a colour of their own, which is dropped. Equal pairs look the same from both ends: half the ring suffices.
    """
    height, width = codes.shape
    stride = width + _MARGIN
    padded = np.full((height + _MARGIN + 1, stride), COLOURS, dtype=np.uint8)
    padded[:height, :width] = codes
    flat, span = padded.ravel(), height * stride
    here, equal = flat[:span], np.empty(span, dtype=np.bool_)
    colours = here.astype(np.intp)
    result = np.zeros((len(DISTANCES), COLOURS))
    for row, distance in zip(result, DISTANCES, strict=True):
        partners = np.zeros(span, dtype=np.uint8)
        for down, right in _HALF_RINGS[distance]:
            shift = down * stride + right
            np.equal(here, flat[shift : shift + span], out=equal)
            partners += equal.view(np.uint8)
        equal_pairs = 2 * np.bincount(colours, partners, COLOURS + 1)[:COLOURS]
        all_pairs = np.bincount(colours, _ring_sizes(height, width, distance), COLOURS + 1)[:COLOURS]
        np.divide(equal_pairs, all_pairs, out=row, where=all_pairs > 0)
    return result


@stateful
@dataclass(frozen=True)
class ColourCorrelogram(FixedDescriptor):
    """The auto-correlogram of 36 colours of HSV at four distances (Huang et al., CVPR 1997; "CORR" in NUS-WIDE).

    Column `36 t + c` is, for the t-th distance d of 1, 3, 5 and 7: of all pixels that lie at d from a pixel of
    colour c, the share that have colour c too. Distance is that of the chessboard, max(|Δx|, |Δy|); pixels beyond
    the border do not count, so that one flat colour scores exactly 1. Colours that are absent, and distances the
    picture is too small for, score 0. See `palette_codes` for the colours.
    """

    @property
    def blocks(self) -> tuple[Block, ...]:
        """One block of 36 for each distance."""
        return tuple(
            Block(
                f"colour correlogram at {distance}",
                COLOURS * turn,
                COLOURS * (turn + 1),
                f"Share of the pixels {distance} away from those of a colour of the HSV palette that have it too.",
            )
            for turn, distance in enumerate(DISTANCES)
        )

    def describe(self, picture: ImageArray) -> Singles:
        """The row of one picture."""
        return auto_correlogram(palette_codes(picture)).ravel().astype(np.float32)
