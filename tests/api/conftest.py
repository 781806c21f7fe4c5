"""Arrays as a notebook holds them, and deep methods that train for a moment."""

import inspect

import numpy as np
import pytest

import synthetic
from diptych import CDMLMR


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
def short_training(monkeypatch):
    """Give CDMLMR the profile "fast" and no cache where nothing else is asked for."""
    defaults = {name: each.default for name, each in inspect.signature(CDMLMR).parameters.items()}
    quick = tuple({"profile": "fast", "cache": None}.get(name, value) for name, value in defaults.items())
    monkeypatch.setattr(CDMLMR.__init__, "__defaults__", quick)
