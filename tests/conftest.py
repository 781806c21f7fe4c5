"""Datasets that many tests read, written once for the whole run, and a limit to how long the run may take."""

import os
import time

import pytest
from hypothesis import settings

import synthetic
from diptych.data import Dataset

# How long an example takes says more of the machine than of the code.
settings.register_profile("diptych", deadline=None)
settings.load_profile("diptych")

# Rows of earlier runs are not reused, unless a test asks for that.
os.environ.setdefault("DIPTYCH_ROW_CACHE_GB", "0")

_STARTED = time.monotonic()
_BUDGET_S = float(os.environ.get("DIPTYCH_TEST_SECONDS", "inf"))


def pytest_runtest_setup(item) -> None:
    """Skip what is left when DIPTYCH_TEST_SECONDS have passed, so that a slow suite fails by its tests only."""
    if time.monotonic() - _STARTED > _BUDGET_S:
        pytest.skip(f"the {_BUDGET_S:.0f} seconds given to this run are over")


def pytest_collection_modifyitems(items) -> None:
    """Run the contract of the methods first: with a limited time it matters most."""
    items.sort(key=lambda item: "contract/test_methods.py" not in item.nodeid)


@pytest.fixture(scope="session")
def counts_dataset(tmp_path_factory) -> Dataset:
    """Dense images and counted words."""
    return synthetic.write(tmp_path_factory.mktemp("data") / "counts", synthetic.draft())


@pytest.fixture(scope="session")
def dense_dataset(tmp_path_factory) -> Dataset:
    """Two dense modalities."""
    return synthetic.write(tmp_path_factory.mktemp("data") / "dense", synthetic.draft(counts_text=False, seed=1))


@pytest.fixture(scope="session")
def shared_dataset(tmp_path_factory) -> Dataset:
    """Two dense modalities whose features share a space, as those of encoders trained together."""
    return synthetic.write(tmp_path_factory.mktemp("data") / "shared", synthetic.draft(shared=True))


@pytest.fixture(scope="session")
def three_dataset(tmp_path_factory) -> Dataset:
    """Three modalities."""
    content = synthetic.draft(("image", "text", "audio"), seed=2)
    return synthetic.write(tmp_path_factory.mktemp("data") / "three", content)


@pytest.fixture(scope="session")
def gaps_dataset(tmp_path_factory) -> Dataset:
    """Items that lack a modality, and training items without a label."""
    return synthetic.write(tmp_path_factory.mktemp("data") / "gaps", synthetic.with_gaps(synthetic.draft(seed=3)))


@pytest.fixture(scope="session")
def three_gaps_dataset(tmp_path_factory) -> Dataset:
    """Three modalities, of which half of the items lack one, and training items without a label."""
    content = synthetic.with_holes(synthetic.draft(("image", "text", "audio"), seed=6))
    return synthetic.write(tmp_path_factory.mktemp("data") / "three-gaps", content)


@pytest.fixture(scope="session")
def unjudged_dataset(tmp_path_factory) -> Dataset:
    """No validation split."""
    content = synthetic.draft(seed=4, counts={"train": 120, "val": 0, "test": 60})
    return synthetic.write(tmp_path_factory.mktemp("data") / "unjudged", content)
