"""One index for the tests that only read, and copies of it for those that write."""

import shutil

import pytest

from diptych.search import Searcher, build_index
from search.gallery import make


@pytest.fixture(scope="session")
def fields(tmp_path_factory):
    """A folder with `dataset`, `model` and `index`."""
    folder = tmp_path_factory.mktemp("search")
    build_index(folder / "model", make(folder, components=4), folder / "index")
    return folder


@pytest.fixture
def searcher(fields):
    with Searcher.open(fields / "index") as opened:
        yield opened


@pytest.fixture
def own_index(fields, tmp_path):
    """A copy to change, whose pictures lie where the index expects them."""
    shutil.copytree(fields / "raw", tmp_path / "raw")
    return shutil.copytree(fields / "index", tmp_path / "index")


@pytest.fixture
def own(own_index):
    with Searcher.open(own_index, writable=True) as opened:
        yield opened
