"""The recipe of NUS-WIDE: six low-level features of a picture, 1,134 numbers."""

from diptych._core.arrays import ImageArray
from diptych.features.composition import Composition
from diptych.features.contract import Feature
from diptych.features.image.colour_correlogram import ColourCorrelogram
from diptych.features.image.colour_histogram import ColourHistogram
from diptych.features.image.colour_moments import ColourMoments
from diptych.features.image.edge_direction import EdgeDirection
from diptych.features.image.resizing import Shrinking
from diptych.features.image.visual_words import VisualWords
from diptych.features.image.wavelet_texture import WaveletTexture

WORDS = 500
LONGEST_SIDE = 256


def nuswide(visual_words: Feature[ImageArray] | None = None, *, longest_side: int = LONGEST_SIDE) -> Shrinking:
    """The features of T.-S. Chua et al., "NUS-WIDE: a real-world web image database" (CIVR 2009), side by side.

    | columns      | what                                                          | NUS-WIDE |
    |--------------|---------------------------------------------------------------|----------|
    | 0 – 63       | colour histogram of L*a*b*                                    | CH       |
    | 64 – 207     | colour auto-correlogram of 36 colours at distances 1, 3, 5, 7 | CORR     |
    | 208 – 280    | edge directions in steps of 5°, and no edge                   | EDH      |
    | 281 – 408    | wavelet texture: pyramid and tree                             | WT       |
    | 409 – 633    | colour moments of L*a*b* on a 5 × 5 grid                      | CM55     |
    | 634 – 1,133  | visual words of SIFT                                          | BoW      |

    The layout is that of the paper, and every class says what each of its columns is. The numbers are not those of
    the files published with it, since the paper leaves settings open: which 36 colours, Canny's thresholds, the
    wavelet, the pictures' size, and the words themselves, which are learned from your own training pictures.

    Args:
        visual_words: another feature in the place of the 500 visual words.
        longest_side: larger pictures are shrunk to it first, so that distances in pixels are comparable.
    """
    words = VisualWords(WORDS) if visual_words is None else visual_words
    parts = (ColourHistogram(), ColourCorrelogram(), EdgeDirection(), WaveletTexture(), ColourMoments(), words)
    return Shrinking(Composition[ImageArray](parts), longest_side)
