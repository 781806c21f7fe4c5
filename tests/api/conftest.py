"""Arrays as a notebook holds them, and deep methods that train for a moment."""

import numpy as np
import pytest

import synthetic
from short_training import shorten


@pytest.fixture(scope="session")
def draft():
    return synthetic.draft(counts_text=False)


@pytest.fixture(scope="session")
def arrays(draft) -> dict[str, np.ndarray]:
    return {name: rows.values for name, rows in draft.modalities.items()}


@pytest.fixture(scope="session")
def labels(draft) -> list:
    """Every fifth item has none."""
    return [label if row % 5 else None for row, label in enumerate(draft.labels)]


@pytest.fixture
def short_training(monkeypatch) -> None:
    """Let deep methods train for a moment."""
    shorten(monkeypatch)
