"""The Wikipedia recipe: 2,296 columns in the order of the experiments, learned from training pictures alone."""

from itertools import pairwise

import cv2
import numpy as np

from diptych._core.seeding import generator
from diptych._core.state import pack, unpack
from diptych.features.contract import width
from diptych.features.image.wikipedia_recipe import wikipedia_pictures

cv2.setNumThreads(1)
PICTURES = [generator(seed, "pictures").integers(0, 256, (60, 80, 3), dtype=np.uint8) for seed in range(12)]


def test_columns_add_up_to_2296_and_state_comes_back() -> None:
    extractor = wikipedia_pictures().fit(iter(PICTURES), seed=1)
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
