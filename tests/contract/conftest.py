"""Every registered method, fitted once on every dataset a contract test asks for."""

from importlib.util import find_spec

import pytest

import synthetic
from diptych.data import Dataset, Protocol
from diptych.methods import Method, create, entry, method_class, names

_QUICK = {"profile": "fast", "device": "cpu", "cache": None}
"""Parameters by which any method that has them is made quick and leaves nothing behind."""


def every_method() -> list:
    """The registered names; a method that needs an optional package trains long and is marked so."""
    return [pytest.param(name, marks=[pytest.mark.slow] if entry(name).extra else []) for name in names()]


def pytest_generate_tests(metafunc) -> None:
    if "name" in metafunc.fixturenames:
        metafunc.parametrize("name", every_method(), scope="session")


@pytest.fixture(autouse=True)
def _written(request) -> None:
    """Pass over a registered method whose file is not there yet, and over no other."""
    if "name" in request.fixturenames:
        module = entry(request.getfixturevalue("name")).target.partition(":")[0]
        if find_spec(module) is None:
            pytest.skip(f"{module} is not written yet")


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
    """Write a changed copy of the easy dataset, once: `variant(change, *arguments)`."""
    folder, done = tmp_path_factory.mktemp("variants"), {}

    def written(change, *arguments) -> Dataset:
        key = (change.__name__, *arguments)
        if key not in done:
            done[key] = synthetic.write(folder / str(len(done)), change(synthetic.draft(), *arguments))
        return done[key]

    return written
