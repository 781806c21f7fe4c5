"""A small draft that tests change one thing of."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from diptych.data import Draft, ModalityRows

DraftMaker = Callable[..., Draft]


def small_draft(**changes: Any) -> Draft:
    """Six items, two modalities; item d has no label, item e no image, item f no text."""
    random = np.random.default_rng(3)
    counts = sp.csr_array(random.integers(0, 4, size=(5, 7)))
    draft = Draft(
        name="small",
        ids=["a", "b", "c", "d", "e", "f"],
        splits=["train", "train", "val", "train", "test", "test"],
        labels=["cat", "dog", "cat", None, "dog", "cat"],
        classes=["cat", "dog"],
        modalities={
            "image": ModalityRows("dense", random.normal(size=(5, 3)), np.array([1, 1, 1, 1, 0, 1], bool), "image.npy"),
            "text": ModalityRows("counts", counts, np.array([1, 1, 1, 1, 1, 0], bool), "text.npz"),
        },
        metadata={"year": [1, 2, None, 4, 5, 6]},
        source={"made": "by hand"},
    )
    return replace(draft, **changes)


@pytest.fixture
def make_draft() -> DraftMaker:
    return small_draft
