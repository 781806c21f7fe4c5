"""An index of items without any labels, and copies of it to teach."""

import shutil

import pytest

from diptych.search import Searcher
from diptych.teach import Teacher
from search.gallery import build_unlabelled


@pytest.fixture(scope="session")
def unlabelled(tmp_path_factory):
    """A folder with `raw`, `dataset`, `model` and `index`; no item has a label."""
    return build_unlabelled(tmp_path_factory.mktemp("unlabelled"))


@pytest.fixture
def own(unlabelled, tmp_path):
    """A copy of all of it, to change."""
    for name in ("raw", "dataset", "model", "index"):
        shutil.copytree(unlabelled / name, tmp_path / name)
    return tmp_path / "index"


@pytest.fixture
def searcher(own):
    with Searcher.open(own, writable=True) as opened:
        yield opened


@pytest.fixture
def teacher(searcher):
    made = Teacher(searcher)
    yield made
    made.close()


def truth(item: str) -> str:
    """The colour that an item is named for."""
    return item.partition("-")[0]


def by_colour(teacher, per_colour=1, **options) -> None:
    """Answer for the first training items of every colour."""
    for colour in ("red", "green", "blue", "grey"):
        teacher.answer([f"{colour}-{number:02d}" for number in range(per_colour)], colour, who="ann", **options)
