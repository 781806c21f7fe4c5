"""Datasets that many tests read: written once for the whole run."""

import pytest
from hypothesis import settings

import synthetic
from diptych.data import Dataset

# How long an example takes says more of the machine than of the code.
settings.register_profile("diptych", deadline=None)
settings.load_profile("diptych")


@pytest.fixture(scope="session")
def counts_dataset(tmp_path_factory) -> Dataset:
    """Dense images and counted words."""
    return synthetic.write(tmp_path_factory.mktemp("data") / "counts", synthetic.draft())


@pytest.fixture(scope="session")
def dense_dataset(tmp_path_factory) -> Dataset:
    """Two dense modalities."""
    return synthetic.write(tmp_path_factory.mktemp("data") / "dense", synthetic.draft(counts_text=False, seed=1))


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
def unjudged_dataset(tmp_path_factory) -> Dataset:
    """No validation split."""
    content = synthetic.draft(seed=4, counts={"train": 120, "val": 0, "test": 60})
    return synthetic.write(tmp_path_factory.mktemp("data") / "unjudged", content)
