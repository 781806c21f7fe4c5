"""What all MPEG-7 descriptors promise: finite rows of their length for any picture, blocks without gaps, state."""

import cv2
import numpy as np
import pytest

from diptych._core.seeding import generator
from diptych._core.state import pack, unpack
from diptych.features.contract import width
from diptych.features.image.descriptor import FixedDescriptor
from diptych.features.image.mpeg7 import ColourLayout, ColourStructure, EdgeHistogram, ScalableColour

cv2.setNumThreads(1)
SIZES = [(ScalableColour(), 256), (ColourStructure(), 256), (ColourLayout(), 192), (EdgeHistogram(), 80)]


@pytest.mark.parametrize(("descriptor", "size"), SIZES, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("shape", [(1, 1), (1, 3000), (2500, 2), (13, 7), (100, 150)])
def test_rows_are_finite_for_any_shape(descriptor: FixedDescriptor, size: int, shape: tuple[int, int]) -> None:
    noise = generator(0, "shape").integers(0, 256, (*shape, 3), dtype=np.uint8)
    rows = descriptor([noise, np.zeros_like(noise), np.full_like(noise, 255)])
    assert rows.shape == (3, size)
    assert rows.dtype == np.float32
    assert np.isfinite(rows).all()


@pytest.mark.parametrize(("descriptor", "size"), SIZES, ids=lambda value: type(value).__name__)
def test_blocks_tile_and_state_comes_back(descriptor: FixedDescriptor, size: int) -> None:
    starts, stops = zip(*((block.start, block.stop) for block in descriptor.blocks), strict=True)
    assert (0, *stops) == (*starts, size)
    assert width(descriptor.blocks) == size
    assert unpack(*pack(descriptor)) == descriptor


def test_the_four_add_up_to_784() -> None:
    assert sum(width(descriptor.blocks) for descriptor, _ in SIZES) == 784
