"""What holds for every descriptor that learns nothing: any image at all, the same row every time."""

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from diptych._core.errors import DataError
from diptych._core.seeding import generator
from diptych._core.state import pack, unpack
from diptych.features.contract import width
from diptych.features.image.colour import ColourCorrelogram, ColourHistogram, ColourMoments
from diptych.features.image.texture import EdgeDirection, WaveletTexture

cv2.setNumThreads(1)
DESCRIPTORS = {
    64: ColourHistogram(),
    144: ColourCorrelogram(),
    73: EdgeDirection(),
    128: WaveletTexture(),
    225: ColourMoments(),
}
ALL = pytest.mark.parametrize(
    ("columns", "descriptor"), DESCRIPTORS.items(), ids=lambda value: type(value).__name__ if value else ""
)
RANDOM = generator(0, "descriptors")
PICTURES = [RANDOM.integers(256, size=(*shape, 3), dtype=np.uint8) for shape in ((20, 30), (31, 17), (48, 48))]


@ALL
def test_blocks_tile_the_columns(columns: int, descriptor) -> None:
    stops = [block.stop for block in descriptor.blocks]
    assert [block.start for block in descriptor.blocks] == [0, *stops[:-1]]
    assert width(descriptor.blocks) == columns
    assert all(block.name and block.meaning.endswith(".") for block in descriptor.blocks)


@ALL
def test_rows_do_not_depend_on_their_neighbours(columns: int, descriptor) -> None:
    together = descriptor(PICTURES)
    assert together.shape == (3, columns)
    assert together.dtype == np.float32
    np.testing.assert_array_equal(together, np.concatenate([descriptor([image]) for image in PICTURES]))
    np.testing.assert_array_equal(together, descriptor(PICTURES))
    assert descriptor([]).shape == (0, columns)


@ALL
def test_views_are_described_like_copies(columns: int, descriptor) -> None:
    for view in (np.rot90(PICTURES[0]), PICTURES[1][:, ::-1], PICTURES[2][::2, 1::3], PICTURES[0][..., ::-1]):
        np.testing.assert_array_equal(descriptor([view]), descriptor([view.copy()]))


@ALL
def test_images_are_left_as_they_were(columns: int, descriptor) -> None:
    image = PICTURES[0].copy()
    image.setflags(write=False)
    descriptor([image])
    np.testing.assert_array_equal(image, PICTURES[0])


@ALL
@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (2, 1), (3, 3), (1, 900), (900, 1), (4, 7), (5, 301)])
def test_odd_shapes_give_finite_rows(columns: int, descriptor, shape) -> None:
    flat = [np.full((*shape, 3), level, dtype=np.uint8) for level in (0, 128, 255)]
    rows = descriptor([*flat, RANDOM.integers(256, size=(*shape, 3), dtype=np.uint8)])
    assert np.isfinite(rows).all()


@ALL
def test_fitting_draws_no_item_and_changes_nothing(columns: int, descriptor) -> None:
    items = iter(PICTURES)
    assert descriptor.fit(items, seed=3) is descriptor
    assert len(list(items)) == 3


@ALL
def test_descriptors_survive_being_saved(columns: int, descriptor) -> None:
    assert unpack(*pack(descriptor)) == descriptor


@ALL
@pytest.mark.parametrize(
    "wrong",
    [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 4), np.uint8), np.zeros((4, 4, 3)), np.zeros((0, 4, 3), np.uint8)],
)
def test_what_is_no_picture_is_refused(columns: int, descriptor, wrong) -> None:
    with pytest.raises(DataError, match=r"give height × width × 3 bytes \(uint8, sRGB\)"):
        descriptor([wrong])


@settings(max_examples=40, deadline=None)
@given(hnp.arrays(np.uint8, st.tuples(st.integers(1, 20), st.integers(1, 20), st.just(3))))
def test_any_image_gives_finite_rows_in_range(image) -> None:
    for columns, descriptor in DESCRIPTORS.items():
        row = descriptor([image])
        assert np.isfinite(row).all()
        if columns in (64, 144, 73):
            assert row.min() >= 0
            assert row.max() <= 1 + 1e-6
