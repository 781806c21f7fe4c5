"""Bags of visual words: learned from dense SIFT descriptors, and counted in any image."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import length_hint
from typing import ClassVar

import cv2
import numpy as np
import scipy.sparse as sp
from sklearn.cluster import MiniBatchKMeans

from diptych._core.arrays import Floats, ImageArray, Integers, Singles
from diptych._core.errors import ConfigError, FitError
from diptych._core.progress import Progress, silent
from diptych._core.seeding import generator
from diptych._core.state import stateful
from diptych.data.modality import Kind
from diptych.features.contract import Block
from diptych.features.image import check_image

BINS = 4
ORIENTATIONS = 8
DIMENSION = BINS * BINS * ORIENTATIONS
_CLIP = 0.2
_BIN_PER_SIGMA = 6.0
"""A patch is seen at the scale at which one of its bins is six standard deviations of the smoothing wide."""


def dense_sift(
    image: ImageArray, *, step: int = 6, sizes: tuple[int, ...] = (4, 6, 8, 10), contrast: float = 0.005
) -> tuple[Singles, Singles]:
    """Describe patches on a grid by histograms of their gradients (Lowe 2004, without detection or rotation).

    For each size s the grey image in [0, 1] is smoothed with σ = s/6. A patch has 4 × 4 bins of s × s pixels and 8
    orientations. Each pixel adds its gradient's magnitude to the two nearest orientations and the four nearest bins by
    linear interpolation, under a Gaussian window of σ = 2s around the patch's centre. The 128 numbers are divided by
    their norm, clipped at 0.2 and divided again. Bins add pixels by weights that are a product of a row's and a
    column's, so all patches of one size are two products with sparse matrices.

    Args:
        image: height × width × 3.
        step: pixels between neighbouring patches.
        sizes: sides of one bin in pixels; every size is described at every grid point.
        contrast: a patch whose histogram, a weighted mean of gradient per pixel, has a smaller norm is all zeros, so
            that noise in flat areas is not blown up to look like structure.

    Returns:
        One descriptor a row (bin row, bin column, orientation k at k·45° from right towards down), size after size,
        and each one's centre as (row, column). An image smaller than a patch has one, at its middle.
    """
    if step < 1 or not sizes or min(sizes) < 1:
        raise ConfigError(
            f"step is {step} and sizes are {sizes}; all must be whole numbers from 1, and one size at least."
        )
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).astype(np.float32) / 255.0
    margin = (BINS - 1) / 2 * max(sizes)
    height, width = grey.shape
    descriptors = []
    for size in sizes:
        maps = _orientation_maps(_smoothed(grey, size))
        pooled = _pool(maps, _pooling(height, step, margin, size), _pooling(width, step, margin, size))
        descriptors.append(_normalised(pooled, contrast))
    grid = np.meshgrid(grid_line(height, step, margin), grid_line(width, step, margin), indexing="ij")
    centres = np.stack(grid, axis=-1).reshape(-1, 2).astype(np.float32)
    return np.concatenate(descriptors), np.tile(centres, (len(sizes), 1))


def grid_line(length: int, step: int, margin: float) -> Floats:
    """The grid's coordinates along one side: as many as fit between the margins, centred, and one at least."""
    room = max(length - 1 - 2 * margin, 0.0)
    count = int(room // step) + 1
    return np.asarray((length - 1) / 2 + step * (np.arange(count) - (count - 1) / 2), dtype=np.float64)


def _smoothed(grey: Singles, size: int) -> Singles:
    return np.asarray(cv2.GaussianBlur(grey, (0, 0), size / _BIN_PER_SIGMA, borderType=cv2.BORDER_REPLICATE))


def _orientation_maps(grey: Singles) -> Singles:
    """Gradient magnitude divided between the two nearest of eight orientations: height × width × 8."""
    right = cv2.Sobel(grey, cv2.CV_32F, 1, 0, ksize=1, scale=0.5, borderType=cv2.BORDER_REPLICATE)
    down = cv2.Sobel(grey, cv2.CV_32F, 0, 1, ksize=1, scale=0.5, borderType=cv2.BORDER_REPLICATE)
    magnitude, angle = (part.ravel() for part in cv2.cartToPolar(right, down))
    turn = angle * np.float32(ORIENTATIONS / (2 * np.pi))
    lower = turn.astype(np.int32)
    upper_part = magnitude * (turn - lower.astype(np.float32))
    maps = np.zeros(grey.size * ORIENTATIONS, dtype=np.float32)
    first = np.arange(0, maps.size, ORIENTATIONS)
    maps[first + (lower & (ORIENTATIONS - 1))] = magnitude - upper_part
    maps[first + ((lower + 1) & (ORIENTATIONS - 1))] = upper_part
    return maps.reshape(*grey.shape, ORIENTATIONS)


@lru_cache(maxsize=256)
def _pooling(length: int, step: int, margin: float, size: int) -> sp.csr_array:
    """The weights that add pixels of one side to bins: a row for each grid point and bin, grid point first."""
    centres = np.repeat(grid_line(length, step, margin), BINS)
    bins = centres + size * np.tile(np.arange(BINS) - (BINS - 1) / 2, len(centres) // BINS)
    reach = np.arange(2 * size + 1) - size
    pixels = np.rint(bins)[:, None] + reach
    weights = np.maximum(1 - np.abs(pixels - bins[:, None]) / size, 0.0) / size
    weights *= np.exp(-((pixels - centres[:, None]) ** 2) / (2 * (2.0 * size) ** 2))
    weights[(pixels < 0) | (pixels >= length)] = 0.0
    starts = np.arange(len(bins) + 1) * len(reach)
    content = (weights.astype(np.float32).ravel(), np.clip(pixels, 0, length - 1).astype(np.int64).ravel(), starts)
    return sp.csr_array(content, shape=(len(bins), length))


def _pool(maps: Singles, rows: sp.csr_array, columns: sp.csr_array) -> Singles:
    """Add pixels to bins along both sides and gather each patch's 128 numbers."""
    height, width, _ = maps.shape
    along_rows = (rows @ maps.reshape(height, -1)).reshape(-1, width, ORIENTATIONS)
    along_both = columns @ np.ascontiguousarray(along_rows.transpose(1, 0, 2)).reshape(width, -1)
    patches = along_both.reshape(-1, BINS, rows.shape[0] // BINS, BINS, ORIENTATIONS)
    return np.asarray(patches.transpose(2, 0, 3, 1, 4)).reshape(-1, DIMENSION)


def _normalised(histograms: Singles, contrast: float) -> Singles:
    norms = np.linalg.norm(histograms, axis=1, keepdims=True)
    clear = norms >= max(contrast, np.finfo(np.float32).tiny)
    unit = np.where(clear, histograms / np.where(clear, norms, 1), 0)
    clipped = np.minimum(unit, _CLIP)
    again = np.linalg.norm(clipped, axis=1, keepdims=True)
    return np.asarray(clipped / np.where(again > 0, again, 1), dtype=np.float32)


_CHUNK = 4096
_BATCH = 4096
_PASSES = 15
_REPORT_EVERY = 50


def sample_descriptors(batches: Iterable[Singles], size: int, *, seed: int = 0) -> Singles:
    """Keep a uniform sample of a stream of rows, in memory that the stream's length does not change.

    Vitter's algorithm R: row t (from 0) takes a random place of 0…t, and stays if that place is one of the sample's.
    """
    random = generator(seed, "descriptor sample")
    sample: Singles | None = None
    seen = 0
    for batch in batches:
        if sample is None:
            sample = np.empty((size, batch.shape[1]), dtype=np.float32)
        first = min(max(size - seen, 0), len(batch))
        sample[seen : seen + first] = batch[:first]
        late = np.arange(seen + first, seen + len(batch))
        places = (random.random(len(late)) * (late + 1)).astype(np.int64)
        stays = places < size
        sample[places[stays]] = batch[first:][stays]
        seen += len(batch)
    return np.empty((0, 0), dtype=np.float32) if sample is None else sample[:seen]


def learn_words(sample: Singles, words: int, *, seed: int = 0) -> Singles:
    """Cluster a sample into words by mini-batch k-means (Sculley 2010); the centres are the words.

    Where patches without contrast (rows of zeros) occur, they are a word of their own, the last: there are too many
    of them to leave to the clustering, which would spend several words on the same point.

    Raises:
        FitError: when there are fewer descriptors than words.
    """
    textured = sample[sample.any(axis=1)]
    flat_words = int(len(textured) < len(sample) and words > 1)
    if len(textured) < words - flat_words:
        raise FitError(
            f"{len(textured)} descriptors cannot make {words} visual words; give more images or fewer words."
        )
    kmeans = MiniBatchKMeans(
        n_clusters=words - flat_words,
        batch_size=_BATCH,
        max_iter=_PASSES,
        init_size=max(3 * words, _BATCH),
        n_init=1,
        random_state=int(generator(seed, "visual words").integers(2**31)),
    )
    centres = kmeans.fit(textured).cluster_centers_
    return np.pad(np.asarray(centres, dtype=np.float32), ((0, flat_words), (0, 0)))


def nearest_words(descriptors: Singles, words: Singles) -> Integers:
    """Find each descriptor's nearest word: argmin |x − c|² = argmax (x·c − |c|²/2), a chunk at a time."""
    half_norms = 0.5 * np.einsum("ij,ij->i", words, words)
    nearest = np.empty(len(descriptors), dtype=np.int64)
    for start in range(0, len(descriptors), _CHUNK):
        closeness = descriptors[start : start + _CHUNK] @ words.T
        closeness -= half_norms
        nearest[start : start + _CHUNK] = closeness.argmax(axis=1)
    return nearest


@stateful
@dataclass(frozen=True)
class VisualWordHistogram:
    """Learned words and how to look for them; rows add up to 1.

    Each level of the pyramid divides the image into level × level cells with a histogram each, and all levels weigh
    the same.

    Attributes:
        centres: words × 128.
        step: pixels between patches.
        sizes: sides of a patch's bins.
        levels: sides of the grids of cells; (1,) is one histogram of the whole image.
    """

    centres: Singles
    step: int
    sizes: tuple[int, ...]
    levels: tuple[int, ...]

    kind: ClassVar[Kind] = "dense"

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
        """One histogram for each image."""
        rows = np.empty((len(items), self.blocks[-1].stop), dtype=np.float32)
        for row, image in zip(rows, items, strict=True):
            row[:] = self._histogram(check_image(image))
        return rows

    def _histogram(self, image: ImageArray) -> Singles:
        descriptors, positions = dense_sift(image, step=self.step, sizes=self.sizes)
        nearest = nearest_words(descriptors, self.centres)
        words = len(self.centres)
        shares = positions / np.array(image.shape[:2])
        histograms = []
        for level in self.levels:
            cells = np.minimum((shares * level).astype(np.int64), level - 1)
            cell = cells[:, 0] * level + cells[:, 1]
            histograms.append(np.bincount(cell * words + nearest, minlength=words * level**2))
        return np.concatenate(histograms).astype(np.float32) / np.float32(len(nearest) * len(self.levels))


@dataclass(frozen=True)
class VisualWords:
    """A bag of visual words over dense SIFT (Csurka et al. 2004); several sizes of patch make it a PHOW.

    Patches are measured in pixels: bring large images to one size first (`Shrinking`).
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
        """Learn the words from training images, streamed once."""
        if self.words < 1 or not self.levels or min(self.levels) < 1:
            raise ConfigError(f"words is {self.words} and levels are {self.levels}; all must be whole numbers from 1.")
        size = self.words * self.sample_per_word
        sample = sample_descriptors(self._descriptors(items, progress), size, seed=seed)
        centres = learn_words(sample, self.words, seed=seed)
        return VisualWordHistogram(centres, self.step, self.sizes, self.levels)

    def _descriptors(self, items: Iterable[ImageArray], progress: Progress) -> Iterator[Singles]:
        total, done = length_hint(items), 0
        for done, image in enumerate(items, start=1):
            yield dense_sift(check_image(image), step=self.step, sizes=self.sizes)[0]
            if done % _REPORT_EVERY == 0:
                progress("visual words", done, max(total, done))
        progress("visual words", done, done)


def phow(words: int = 1000) -> VisualWords:
    """The visual words of the Wikipedia experiments: four sizes of patch, one histogram of the whole image."""
    return VisualWords(words=words, sizes=(4, 6, 8, 10))
