"""Every registered method, fitted once on every dataset a contract test asks for."""

import pytest

import synthetic
from diptych.data import Dataset, Protocol
from diptych.methods import Method, create, entry, method_class, names

_QUICK = {"profile": "fast", "device": "cpu", "cache": None}
"""Parameters by which any method that has them is made quick and leaves nothing behind."""


def every_method() -> list:
    """The registered names; a method that needs an optional package trains long and is marked so."""
    long = [name for name in names() if entry(name).extra or entry(name).chooses]
    return [pytest.param(name, marks=[pytest.mark.slow] if name in long else []) for name in names()]


NEEDS_SHARED_SPACE = {"identity"}
"""Methods that take features of one width only: every dataset of theirs holds views of the latent in one space."""


def pytest_generate_tests(metafunc) -> None:
    if "name" in metafunc.fixturenames:
        metafunc.parametrize("name", every_method(), scope="session")


@pytest.fixture(scope="session")
def make():
    """Make a method by name, quick where it can be."""

    def made(name: str, **params) -> Method:
        known = method_class(name).parameter_defaults()
        return create(name, **{key: value for key, value in _QUICK.items() if key in known} | params)

    return made


@pytest.fixture(scope="session")
def fitted(make):
    """Fit a method by name on a dataset, once."""
    done: dict[tuple, Method] = {}

    def fit(name: str, dataset: Dataset, protocol: Protocol | None = None) -> Method:
        key = (name, dataset.fingerprint, protocol)
        if key not in done:
            done[key] = make(name).fit(dataset, protocol)
        return done[key]

    return fit


@pytest.fixture(scope="session")
def variant(tmp_path_factory):
    """Write a changed copy of the easy dataset, once: `variant(name, change, *arguments)`, for a method's name."""
    folder, done = tmp_path_factory.mktemp("variants"), {}

    def written(name: str, change, *arguments) -> Dataset:
        shared = name in NEEDS_SHARED_SPACE
        key = (shared, change.__name__, *arguments)
        if key not in done:
            done[key] = synthetic.write(folder / str(len(done)), change(synthetic.draft(shared=shared), *arguments))
        return done[key]

    return written


@pytest.fixture(scope="session")
def shared_space(tmp_path_factory):
    """Write a dataset whose modalities share a space, once."""
    folder, done = tmp_path_factory.mktemp("shared"), {}

    def written(key: str, change=lambda draft: draft, **options) -> Dataset:
        if key not in done:
            done[key] = synthetic.write(folder / key, change(synthetic.draft(shared=True, **options)))
        return done[key]

    return written


@pytest.fixture
def counts_dataset(name, counts_dataset, shared_space) -> Dataset:
    """Dense images and counted words."""
    return shared_space("counts") if name in NEEDS_SHARED_SPACE else counts_dataset


@pytest.fixture
def dense_dataset(name, dense_dataset, shared_space) -> Dataset:
    """Two dense modalities."""
    return shared_space("dense", seed=1) if name in NEEDS_SHARED_SPACE else dense_dataset


@pytest.fixture
def three_dataset(name, three_dataset, shared_space) -> Dataset:
    """Three modalities."""
    wanted = ("image", "text", "audio")
    return shared_space("three", modalities=wanted, seed=2) if name in NEEDS_SHARED_SPACE else three_dataset


@pytest.fixture
def three_gaps_dataset(name, three_gaps_dataset, shared_space) -> Dataset:
    """Three modalities, of which half of the items lack one, and training items without a label."""
    wanted = ("image", "text", "audio")
    if name in NEEDS_SHARED_SPACE:
        return shared_space("three gaps", synthetic.with_holes, modalities=wanted, seed=6)
    return three_gaps_dataset


@pytest.fixture
def gaps_dataset(name, gaps_dataset, shared_space) -> Dataset:
    """Items that lack a modality, and training items without a label."""
    return shared_space("gaps", synthetic.with_gaps, seed=3) if name in NEEDS_SHARED_SPACE else gaps_dataset


@pytest.fixture
def unjudged_dataset(name, unjudged_dataset, shared_space) -> Dataset:
    """No validation split."""
    counts = {"train": 120, "val": 0, "test": 60}
    return shared_space("unjudged", counts=counts, seed=4) if name in NEEDS_SHARED_SPACE else unjudged_dataset


@pytest.fixture(scope="session")
def joined_texts(tmp_path_factory) -> Dataset:
    """Dense images, and texts with counts and dense columns side by side."""
    return synthetic.write(tmp_path_factory.mktemp("data") / "mixed", synthetic.draft(mixed_text=True, seed=5))


@pytest.fixture
def mixed_dataset(name, joined_texts) -> Dataset:
    """Texts with counts and dense columns side by side."""
    if name in NEEDS_SHARED_SPACE:
        pytest.skip("columns of several kinds share no space with an encoder's")
    return joined_texts
