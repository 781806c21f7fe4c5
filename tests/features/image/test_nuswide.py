"""The recipe: 1,134 columns without gaps, in the published order, learned from training pictures only."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from diptych._core.seeding import generator
from diptych._core.state import pack, unpack
from diptych.features.contract import width
from diptych.features.image import ColourMoments, VisualWords, nuswide, shrink

cv2.setNumThreads(1)
RANDOM = generator(0, "nus-wide")
IMAGES = Path(__file__).parents[3].parent / "shared" / "data" / "rsicd" / "images.tar"


def scenes(count: int, side: int = 72) -> list[np.ndarray]:
    """Blurred noise with a bright box: edges, texture and colour."""
    pictures = []
    for _ in range(count):
        picture = cv2.GaussianBlur(RANDOM.integers(256, size=(side, side, 3), dtype=np.uint8), (0, 0), 2)
        top, left = RANDOM.integers(side // 2, size=2)
        picture[top : top + 20, left : left + 20] = RANDOM.integers(256, size=3)
        pictures.append(picture)
    return pictures


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
    pictures = [*scenes(2), np.zeros((1, 1, 3), np.uint8), np.full((3, 700, 3), 200, np.uint8)]
    rows = extractor(pictures)
    assert rows.shape == (4, 1134)
    assert rows.dtype == np.float32
    assert np.isfinite(rows).all()
    small = [shrink(picture, 256) for picture in pictures]
    np.testing.assert_array_equal(rows[:, 409:634], ColourMoments()(small))
    np.testing.assert_allclose(rows[:, :64].sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(rows[:2, 634:].sum(axis=1), 1, atol=1e-4)


def test_it_survives_being_saved(extractor) -> None:
    picture = scenes(1)
    again = unpack(*pack(extractor))
    assert again.blocks == extractor.blocks
    np.testing.assert_array_equal(again(picture), extractor(picture))


def test_any_feature_can_stand_in_for_the_visual_words() -> None:
    assert width(nuswide(ColourMoments()).fit(()).blocks) == 634 + 225


@pytest.mark.real_data
def test_real_pictures_are_told_apart() -> None:
    if not IMAGES.exists():
        pytest.skip(f"{IMAGES} is absent")
    import tarfile

    with tarfile.open(IMAGES) as archive:
        members = [member for member in archive.getmembers() if member.isfile()][:12]
        raw = [archive.extractfile(member).read() for member in members]
    pictures = [cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)[..., ::-1] for data in raw]
    rows = nuswide(VisualWords(40, sample_per_word=20)).fit(pictures)(pictures)
    assert np.isfinite(rows).all()
    assert len(np.unique(rows, axis=0)) == len(pictures)
