"""Images are brought to one size, and recipes put descriptors side by side in the published order."""

from itertools import pairwise
from operator import length_hint
from pathlib import Path

import cv2
import numpy as np
import pytest

from diptych._core.errors import ConfigError, DataError
from diptych._core.seeding import generator
from diptych._core.state import pack, unpack
from diptych.features.contract import width
from diptych.features.image.colour import ColourHistogram, ColourMoments
from diptych.features.image.recipes import Shrinking, nuswide, shrink, wikipedia_images
from diptych.features.image.visual_words import VisualWords

NOISE = generator(0, "shrinking")


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((100, 200), (25, 50)),
        ((200, 100), (50, 25)),
        ((50, 50), (50, 50)),
        ((1, 5000), (1, 50)),
        ((3000, 2), (50, 1)),
        ((7, 3), (7, 3)),
    ],
)
def test_the_longest_side_is_kept_to(shape, expected) -> None:
    image = NOISE.integers(256, size=(*shape, 3), dtype=np.uint8)
    small = shrink(image, 50)
    assert small.shape == (*expected, 3)
    assert small.dtype == np.uint8


def test_small_images_come_back_untouched() -> None:
    image = NOISE.integers(256, size=(9, 50, 3), dtype=np.uint8)
    assert shrink(image, 50) is image


def test_each_pixel_is_the_mean_of_its_area() -> None:
    image = NOISE.integers(256, size=(40, 60, 3), dtype=np.uint8)
    means = image.reshape(10, 4, 15, 4, 3).mean(axis=(1, 3))
    assert np.abs(shrink(image, 15) - means).max() <= 0.5 + 1e-3


class ShapeRecorder:
    """A feature that only looks at how large the images it gets are."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, ...]] = []
        self.hint = -1

    def fit(self, items, *, seed=0, progress=None):
        self.hint = length_hint(items)
        self.seen = [item.shape for item in items]
        return ColourHistogram()


def test_fitting_sees_shrunk_images_and_how_many() -> None:
    recorder = ShapeRecorder()
    Shrinking(recorder, 8).fit([np.zeros((16, 32, 3), np.uint8)] * 3)
    assert recorder.seen == [(4, 8, 3)] * 3
    assert recorder.hint == 3


def test_describing_shrinks_first_and_survives_being_saved() -> None:
    image = NOISE.integers(256, size=(64, 32, 3), dtype=np.uint8)
    extractor = Shrinking(ColourHistogram(), 16).fit(())
    again = unpack(*pack(extractor))
    assert again == extractor
    assert again.blocks == ColourHistogram().blocks
    assert again.kind == "dense"
    np.testing.assert_array_equal(again([image]), ColourHistogram()([shrink(image, 16)]))


def test_a_side_without_pixels_is_refused() -> None:
    with pytest.raises(ConfigError, match="longest_side is 0; it must be at least 1"):
        Shrinking(ColourHistogram(), 0).fit(())


def test_what_is_no_picture_is_refused_before_it_is_shrunk() -> None:
    with pytest.raises(DataError, match="height × width × 3 bytes"):
        Shrinking(ColourHistogram(), 8).fit(())([np.zeros((20, 20), np.uint8)])


cv2.setNumThreads(1)
RANDOM = generator(0, "nus-wide")
IMAGES = Path(__file__).parents[3].parent / "shared" / "data" / "rsicd" / "images.tar"


def scenes(count: int, side: int = 72) -> list[np.ndarray]:
    """Blurred noise with a bright box: edges, texture and colour."""
    images = []
    for _ in range(count):
        image = cv2.GaussianBlur(RANDOM.integers(256, size=(side, side, 3), dtype=np.uint8), (0, 0), 2)
        top, left = RANDOM.integers(side // 2, size=2)
        image[top : top + 20, left : left + 20] = RANDOM.integers(256, size=3)
        images.append(image)
    return images


@pytest.fixture(scope="module")
def extractor():
    return nuswide(VisualWords(500, sample_per_word=4)).fit(iter(scenes(12)))


def test_blocks_tile_1134_columns_in_the_published_order(extractor) -> None:
    starts = [block.start for block in extractor.blocks]
    stops = [block.stop for block in extractor.blocks]
    assert starts == [0, *stops[:-1]]
    assert width(extractor.blocks) == 1134
    assert {0, 64, 208, 281, 409, 634} <= set(starts)
    assert extractor.blocks[-1].start == 634


def test_rows_are_finite_and_made_of_the_parts(extractor) -> None:
    images = [*scenes(2), np.zeros((1, 1, 3), np.uint8), np.full((3, 700, 3), 200, np.uint8)]
    rows = extractor(images)
    assert rows.shape == (4, 1134)
    assert rows.dtype == np.float32
    assert np.isfinite(rows).all()
    small = [shrink(image, 256) for image in images]
    np.testing.assert_array_equal(rows[:, 409:634], ColourMoments()(small))
    np.testing.assert_allclose(rows[:, :64].sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(rows[:2, 634:].sum(axis=1), 1, atol=1e-4)


def test_it_survives_being_saved(extractor) -> None:
    image = scenes(1)
    again = unpack(*pack(extractor))
    assert again.blocks == extractor.blocks
    np.testing.assert_array_equal(again(image), extractor(image))


def test_any_feature_can_stand_in_for_the_visual_words() -> None:
    assert width(nuswide(ColourMoments()).fit(()).blocks) == 634 + 225


@pytest.mark.real_data
def test_real_images_are_told_apart() -> None:
    if not IMAGES.exists():
        pytest.skip(f"{IMAGES} is absent")
    import tarfile

    with tarfile.open(IMAGES) as archive:
        members = [member for member in archive.getmembers() if member.isfile()][:12]
        raw = [archive.extractfile(member).read() for member in members]
    images = [cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)[..., ::-1] for data in raw]
    rows = nuswide(VisualWords(40, sample_per_word=20)).fit(images)(images)
    assert np.isfinite(rows).all()
    assert len(np.unique(rows, axis=0)) == len(images)


cv2.setNumThreads(1)
PICTURES = [generator(seed, "pictures").integers(0, 256, (60, 80, 3), dtype=np.uint8) for seed in range(12)]


def test_columns_add_up_to_2296_and_state_comes_back() -> None:
    extractor = wikipedia_images().fit(iter(PICTURES), seed=1)
    blocks = extractor.blocks
    assert width(blocks) == 2296
    assert all(left.stop == right.start for left, right in pairwise(blocks))
    starts = {block.name: block.start for block in blocks}
    assert starts["visual words"] == 0
    assert starts["gist scale 0"] == 1000
    assert min(starts["colour structure"], starts["scalable colour"]) == 1512
    large = generator(50, "pictures").integers(0, 256, (300, 700, 3), dtype=np.uint8)
    rows = extractor([*PICTURES[:2], large])
    assert rows.shape == (3, 2296)
    assert np.isfinite(rows).all()
    np.testing.assert_allclose(rows[:, :1000].sum(axis=1), 1, rtol=1e-4)
    np.testing.assert_array_equal(unpack(*pack(extractor))(PICTURES[:2]), rows[:2])
