"""The 225-d block-wise colour moments: roughly which colours are where."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from diptych._core.arrays import Floats, ImageArray, Singles
from diptych._core.state import stateful
from diptych.features.contract import Block
from diptych.features.image.colour_spaces import LAB_ORIGIN, LAB_UNIT, lab_bytes
from diptych.features.image.descriptor import FixedDescriptor

GRID = 5
MOMENTS = 3
CHANNELS = 3


def bounds(side: int) -> list[int]:
    """Where five nearly equal parts of a side start, and where the last ends."""
    return [part * side // GRID for part in range(GRID + 1)]


def strip_moments(strip: ImageArray) -> Floats:
    """Moments of the five cells of one row of the grid: (5 columns, 3 moments, channels).

    They are the mean, the standard deviation and the cube root of the third central moment. The mean of a flat cell
    is exact (whole numbers, double precision), and so its other moments are exactly 0.
    """
    edges = bounds(strip.shape[1])
    widths = np.diff(edges)
    sizes = strip.shape[0] * widths[:, None]

    def average(values: Floats) -> Floats:
        return np.asarray(np.add.reduceat(values.sum(axis=0), edges[:-1], axis=0) / sizes)

    values = strip.astype(np.float64)
    mean = average(values)
    deviations = values - mean.repeat(widths, axis=0)
    squares = deviations * deviations
    return np.stack([mean, np.sqrt(average(squares)), np.cbrt(average(squares * deviations))], axis=1)


def grid_moments(channels: ImageArray) -> Floats:
    """Moments of all cells: (5 rows, 5 columns, 3 moments, channels).

    A side shorter than five pixels has each of them repeated five times first, so that no cell is empty.
    """
    for axis in (0, 1):
        channels = np.repeat(channels, GRID, axis=axis) if channels.shape[axis] < GRID else channels
    rows = pairwise(bounds(channels.shape[0]))
    return np.stack([strip_moments(channels[top:bottom]) for top, bottom in rows])


@stateful
@dataclass(frozen=True)
class ColourMoments(FixedDescriptor):
    """Three moments of L*, a* and b* in each cell of a 5 × 5 grid (Stricker & Orengo 1995; NUS-WIDE's "CM55").

    Column `9 (5 row + column) + 3 m + c` is, in the grid's cell (row, column) from the top left, moment m of channel
    c: m = 0 the mean, 1 the standard deviation, 2 the cube root of the third central moment (negative for a tail of
    low values); c = 0 for L*, 1 for a*, 2 for b*. All are in units of L*a*b*.
    """

    @property
    def blocks(self) -> tuple[Block, ...]:
        """One block of 225."""
        meaning = (
            "Mean, standard deviation or cube root of the third central moment of L*, a* or b* in a cell of a 5 × 5 "
            "grid; column 9 cell + 3 moment + channel."
        )
        return (Block("colour moments", 0, GRID * GRID * MOMENTS * CHANNELS, meaning),)

    def describe(self, picture: ImageArray) -> Singles:
        """The row of one picture."""
        cells = LAB_UNIT * grid_moments(lab_bytes(picture))
        cells[..., 0, :] += LAB_ORIGIN
        return cells.ravel().astype(np.float32)
