"""The 2,296-d picture features of the Wikipedia experiments."""

from diptych._core.arrays import ImageArray
from diptych.features.composition import Composition
from diptych.features.image.gist import Gist
from diptych.features.image.mpeg7 import ColourLayout, ColourStructure, EdgeHistogram, ScalableColour
from diptych.features.image.resizing import Shrinking
from diptych.features.image.visual_words import phow

WORDS = 1000
LONGEST_SIDE = 256


def wikipedia_pictures(words: int = WORDS, longest_side: int = LONGEST_SIDE) -> Shrinking:
    """PHOW (1,000), GIST (512) and MPEG-7 descriptors (784) side by side.

    The papers that use these features (F. Feng, X. Wang and R. Li, ACM Multimedia 2014, and those after them) state
    the three sizes, but neither the settings of the first two nor which descriptors make up the third. 784 is the sum
    of four of the standard's usual sizes, and that reading is taken here: colour structure (256), scalable colour
    (256), colour layout with all its coefficients (3 × 64 = 192) and the local edge histogram (80). Figures are
    therefore not comparable with the papers' number by number. Columns differ in unit by orders of magnitude; scale
    each before learning.

    Args:
        words: visual words, 1,000 in the experiments.
        longest_side: larger pictures are shrunk to it, so that patches of one size mean the same in all.
    """
    parts = (phow(words), Gist(), ColourStructure(), ScalableColour(), ColourLayout(), EdgeHistogram())
    return Shrinking(Composition[ImageArray](parts), longest_side)
