"""Bring large pictures to one size, so that distances in pixels mean the same in all of them."""

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
from diptych.features.composition import learns, restarts
from diptych.features.contract import Block, Extractor, Feature
from diptych.features.image.descriptor import check_picture


def shrink(picture: ImageArray, longest_side: int) -> ImageArray:
    """Scale a picture down, its proportions kept, so that its longer side has at most `longest_side` pixels.

    Every pixel of the result is the mean of the area it covers. Smaller pictures come back as they are: enlarging
    would only invent smoothness. A side never falls below one pixel, however long the other is.
    """
    height, width = picture.shape[:2]
    longest = max(height, width)
    if longest <= longest_side:
        return picture
    size = max(1, round(width * longest_side / longest)), max(1, round(height * longest_side / longest))
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


@dataclass(frozen=True)
class _ShrunkStream:
    """Pictures shrunk one at a time; it knows how many there are if the original does, for progress."""

    items: Iterable[ImageArray]
    longest_side: int

    def __iter__(self) -> Iterator[ImageArray]:
        return (shrink(check_picture(item), self.longest_side) for item in self.items)

    def __length_hint__(self) -> int:
        return length_hint(self.items)

    @property
    def restarts(self) -> bool:
        """Whether the original can be read again."""
        return restarts(self.items)


@dataclass(frozen=True)
class Shrinking:
    """A feature of pictures that are first brought to a longest side, both when it learns and when it describes.

    Attributes:
        feature: what describes the shrunk pictures.
        longest_side: the most pixels either side may have.
    """

    feature: Feature[ImageArray]
    longest_side: int

    @property
    def learns(self) -> bool:
        """Whether the inner feature reads items."""
        return learns(self.feature)

    def fit(self, items: Iterable[ImageArray], *, seed: int = 0, progress: Progress = silent) -> "ShrinkingExtractor":
        """Learn from shrunk pictures, one at a time."""
        if self.longest_side < 1:
            raise ConfigError(f"longest_side is {self.longest_side}; it must be at least 1.")
        shrunk = _ShrunkStream(items, self.longest_side)
        return ShrinkingExtractor(self.feature.fit(shrunk, seed=seed, progress=progress), self.longest_side)


@stateful
@dataclass(frozen=True)
class ShrinkingExtractor:
    """A fitted `Shrinking`.

    Attributes:
        extractor: what describes the shrunk pictures.
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
        """One row for each picture."""
        return self.extractor([shrink(check_picture(item), self.longest_side) for item in items])
