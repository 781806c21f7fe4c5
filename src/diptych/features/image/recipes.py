"""Recipes of papers: descriptors side by side, of images scaled down to one size."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import length_hint

import cv2
import numpy as np

from diptych._core.arrays import Features, ImageArray
from diptych._core.errors import ConfigError
from diptych._core.progress import Progress, silent
from diptych._core.state import stateful
from diptych.data.modality import Kind
from diptych.features.contract import Block, Composition, Extractor, Feature, learns, restarts
from diptych.features.image import check_image
from diptych.features.image.colour import ColourCorrelogram, ColourHistogram, ColourMoments
from diptych.features.image.mpeg7 import ColourLayout, ColourStructure, EdgeHistogram, ScalableColour
from diptych.features.image.texture import EdgeDirection, Gist, WaveletTexture
from diptych.features.image.visual_words import VisualWords, phow

NUSWIDE_WORDS, WIKIPEDIA_WORDS = 500, 1000
LONGEST_SIDE = 256


def shrink(image: ImageArray, longest_side: int) -> ImageArray:
    """Scale an image down, its proportions kept, so that its longer side has at most `longest_side` pixels.

    Every pixel of the result is the mean of the area it covers. Smaller images come back as they are: enlarging
    would only invent smoothness. A side never falls below one pixel, however long the other is.
    """
    height, width = image.shape[:2]
    longest = max(height, width)
    if longest <= longest_side:
        return image
    size = max(1, round(width * longest_side / longest)), max(1, round(height * longest_side / longest))
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


@dataclass(frozen=True)
class _ShrunkStream:
    """Images shrunk one at a time; it has a length if the original has, for progress."""

    items: Iterable[ImageArray]
    longest_side: int

    def __iter__(self) -> Iterator[ImageArray]:
        return (shrink(check_image(item), self.longest_side) for item in self.items)

    def __length_hint__(self) -> int:
        return length_hint(self.items)

    @property
    def restarts(self) -> bool:
        """Whether the original can be read again."""
        return restarts(self.items)


@dataclass(frozen=True)
class Shrinking:
    """A feature of images that are first scaled down to a longest side, in fitting and in extraction.

    Attributes:
        feature: what describes the shrunk images.
        longest_side: the most pixels either side may have.
    """

    feature: Feature[ImageArray]
    longest_side: int

    @property
    def learns(self) -> bool:
        """Whether the inner feature reads items."""
        return learns(self.feature)

    def fit(self, items: Iterable[ImageArray], *, seed: int = 0, progress: Progress = silent) -> "ShrinkingExtractor":
        """Learn from shrunk images, one at a time."""
        if self.longest_side < 1:
            raise ConfigError(f"longest_side is {self.longest_side}; it must be at least 1.")
        shrunk = _ShrunkStream(items, self.longest_side)
        return ShrinkingExtractor(self.feature.fit(shrunk, seed=seed, progress=progress), self.longest_side)


@stateful
@dataclass(frozen=True)
class ShrinkingExtractor:
    """A fitted `Shrinking`.

    Attributes:
        extractor: what describes the shrunk images.
        longest_side: the most pixels either side may have.
    """

    extractor: Extractor[ImageArray]
    longest_side: int

    @property
    def kind(self) -> Kind:
        """That of the inner feature."""
        return self.extractor.kind

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Those of the inner feature."""
        return self.extractor.blocks

    def __call__(self, items: Sequence[ImageArray]) -> Features:
        """One row for each image."""
        return self.extractor([shrink(check_image(item), self.longest_side) for item in items])


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
    wavelet, the images' size, and the words themselves, which are learned from your own training images.

    Args:
        visual_words: another feature in the place of the 500 visual words.
        longest_side: larger images are shrunk to it first, so that distances in pixels are comparable.
    """
    words = VisualWords(NUSWIDE_WORDS) if visual_words is None else visual_words
    parts = (ColourHistogram(), ColourCorrelogram(), EdgeDirection(), WaveletTexture(), ColourMoments(), words)
    return Shrinking(Composition[ImageArray](parts), longest_side)


def wikipedia_images(words: int = WIKIPEDIA_WORDS, longest_side: int = LONGEST_SIDE) -> Shrinking:
    """PHOW (1,000), GIST (512) and MPEG-7 descriptors (784) side by side.

    The papers that use these features (F. Feng, X. Wang and R. Li, ACM Multimedia 2014, and those after them) state
    the three sizes, but neither the settings of the first two nor which descriptors make up the third. 784 is the sum
    of four of the standard's usual sizes, and that reading is taken here: colour structure (256), scalable colour
    (256), colour layout with all its coefficients (3 × 64 = 192) and the local edge histogram (80). Figures are
    therefore not comparable with the papers' number by number. Columns differ in unit by orders of magnitude; scale
    each before learning.

    Args:
        words: visual words, 1,000 in the experiments.
        longest_side: larger images are shrunk to it, so that patches of one size mean the same in all.
    """
    parts = (phow(words), Gist(), ColourStructure(), ScalableColour(), ColourLayout(), EdgeHistogram())
    return Shrinking(Composition[ImageArray](parts), longest_side)
