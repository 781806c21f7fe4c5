"""The 73-d edge direction histogram: where the edges of a picture point."""

from dataclasses import dataclass

import cv2
import numpy as np

from diptych._core.arrays import ImageArray, Singles
from diptych._core.state import stateful
from diptych.features.contract import Block
from diptych.features.image.colour_spaces import grey
from diptych.features.image.descriptor import FixedDescriptor

DIRECTIONS = 72
DEGREES = 360 // DIRECTIONS


@stateful
@dataclass(frozen=True)
class EdgeDirection(FixedDescriptor):
    """Directions of the points on Canny's edges, and how much of the picture is no edge (NUS-WIDE's "EDH").

    Columns 0 to 71: of the edge points, the share whose grey gradient (Sobel) points within 2.5° of `5 · column`
    degrees. 0° is brighter to the right and 90° brighter upwards, as the picture is seen; bins are centred on these
    so that upright edges do not straddle two. They sum to 1, or are all 0 where there is no edge.
    Column 72: of all pixels, the share that lie on no edge.

    The picture is turned grey and blurred a little (Gaussian), since Canny's detector (PAMI 1986) expects it.

    Attributes:
        blur: the standard deviation of the Gaussian, in pixels.
        weak: the gradient from which a point continues an edge, in grey levels times the Sobel operator's gain of 4.
        strong: the gradient from which a point starts one.
    """

    blur: float = 1.0
    weak: float = 50.0
    strong: float = 125.0

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Seventy-two directions and one for the rest."""
        direction = "Share of edge points whose gradient points within 2.5° of 5° times the column."
        rest = "Share of pixels that lie on no edge."
        return Block("edge directions", 0, DIRECTIONS, direction), Block("no edge", DIRECTIONS, DIRECTIONS + 1, rest)

    def describe(self, picture: ImageArray) -> Singles:
        """The row of one picture."""
        smooth = cv2.GaussianBlur(grey(picture), (0, 0), self.blur, borderType=cv2.BORDER_REPLICATE)
        right, down = (
            cv2.Sobel(smooth, cv2.CV_16S, *order, borderType=cv2.BORDER_REPLICATE) for order in ((1, 0), (0, 1))
        )
        edge = np.asarray(cv2.Canny(right, down, self.weak, self.strong, L2gradient=True)) > 0
        degrees = np.degrees(np.arctan2(-down[edge].astype(np.float64), right[edge].astype(np.float64)))
        bins = np.rint(degrees / DEGREES).astype(np.int64) % DIRECTIONS
        counts = np.bincount(bins, minlength=DIRECTIONS)
        shares = counts / max(bins.size, 1)
        return np.append(shares, 1 - bins.size / edge.size).astype(np.float32)
