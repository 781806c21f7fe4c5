"""Bags of visual words: how often each learned word occurs among a picture's dense SIFT descriptors."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import length_hint

import numpy as np

from diptych._core.arrays import ImageArray, Singles
from diptych._core.errors import ConfigError
from diptych._core.progress import Progress, silent
from diptych._core.state import stateful
from diptych.data.modality import Kind
from diptych.features.contract import Block
from diptych.features.image.codebook import learn_words, nearest_words, sample_descriptors
from diptych.features.image.dense_sift import dense_sift
from diptych.features.image.descriptor import check_picture

_REPORT_EVERY = 50


@stateful
@dataclass(frozen=True)
class VisualWordHistogram:
    """Learned words and how to look for them; rows add up to 1.

    Each level of the pyramid divides the picture into level × level cells with a histogram each, and all levels weigh
    the same.

    Attributes:
        centres: words × 128.
        step: pixels between patches.
        sizes: sides of a patch's bins.
        levels: sides of the grids of cells; (1,) is one histogram of the whole picture.
    """

    centres: Singles
    step: int
    sizes: tuple[int, ...]
    levels: tuple[int, ...]

    @property
    def kind(self) -> Kind:
        """Proportions, hence dense."""
        return "dense"

    @property
    def blocks(self) -> tuple[Block, ...]:
        """One block a level."""
        words, start, blocks = len(self.centres), 0, []
        for level in self.levels:
            name = "visual words" if len(self.levels) == 1 else f"visual words {level}×{level}"
            meaning = f"share of dense SIFT patches nearest to one of {words} words, cell by cell of {level}×{level}"
            blocks.append(Block(name, start, start + words * level**2, meaning))
            start += words * level**2
        return tuple(blocks)

    def __call__(self, items: Sequence[ImageArray]) -> Singles:
        """One histogram for each picture."""
        rows = np.empty((len(items), self.blocks[-1].stop), dtype=np.float32)
        for row, picture in zip(rows, items, strict=True):
            row[:] = self._histogram(check_picture(picture))
        return rows

    def _histogram(self, picture: ImageArray) -> Singles:
        descriptors, positions = dense_sift(picture, step=self.step, sizes=self.sizes)
        nearest = nearest_words(descriptors, self.centres)
        words = len(self.centres)
        shares = positions / np.array(picture.shape[:2])
        histograms = []
        for level in self.levels:
            cells = np.minimum((shares * level).astype(np.int64), level - 1)
            cell = cells[:, 0] * level + cells[:, 1]
            histograms.append(np.bincount(cell * words + nearest, minlength=words * level**2))
        return np.concatenate(histograms).astype(np.float32) / np.float32(len(nearest) * len(self.levels))


@dataclass(frozen=True)
class VisualWords:
    """A bag of visual words over dense SIFT (Csurka et al. 2004); several sizes of patch make it a PHOW.

    Patches are measured in pixels: bring large pictures to one size first (`Shrinking`).
    With `levels` it is the spatial pyramid of Lazebnik et al. (2006) with hard assignment and equal weights.

    Attributes:
        words: how many words are learned.
        step: pixels between patches.
        sizes: sides of a patch's bins in pixels; Bosch et al. (2007) take several so that words see several scales.
        levels: sides of the pyramid's grids.
        sample_per_word: how many training descriptors are kept for each word, drawn uniformly from all.
    """

    words: int = 500
    step: int = 6
    sizes: tuple[int, ...] = (4, 6, 8, 10)
    levels: tuple[int, ...] = (1,)
    sample_per_word: int = 100

    def fit(self, items: Iterable[ImageArray], *, seed: int = 0, progress: Progress = silent) -> VisualWordHistogram:
        """Learn the words from training pictures, streamed once."""
        if self.words < 1 or not self.levels or min(self.levels) < 1:
            raise ConfigError(f"words is {self.words} and levels are {self.levels}; all must be whole numbers from 1.")
        size = self.words * self.sample_per_word
        sample = sample_descriptors(self._descriptors(items, progress), size, seed=seed)
        centres = learn_words(sample, self.words, seed=seed)
        return VisualWordHistogram(centres, self.step, self.sizes, self.levels)

    def _descriptors(self, items: Iterable[ImageArray], progress: Progress) -> Iterator[Singles]:
        total, done = length_hint(items), 0
        for done, picture in enumerate(items, start=1):
            yield dense_sift(check_picture(picture), step=self.step, sizes=self.sizes)[0]
            if done % _REPORT_EVERY == 0:
                progress("visual words", done, max(total, done))
        progress("visual words", done, done)


def phow(words: int = 1000) -> VisualWords:
    """The visual words of the Wikipedia experiments: four sizes of patch, one histogram of the whole picture."""
    return VisualWords(words=words, sizes=(4, 6, 8, 10))
