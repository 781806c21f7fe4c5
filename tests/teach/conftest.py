"""An index of items without any labels, and copies of it to teach."""

import json
import shutil

import pytest

from diptych.ingest import IngestOptions, ingest
from diptych.methods import create, save_model
from diptych.search import Searcher, build_index
from diptych.teach import Teacher
from search.gallery import write_raw


@pytest.fixture(scope="session")
def unlabelled(tmp_path_factory):
    """A folder with `raw`, `dataset`, `model` and `index`; no item has a label."""
    folder = tmp_path_factory.mktemp("unlabelled")
    pairs = write_raw(folder / "raw")
    rows = [json.loads(line) for line in pairs.read_text().splitlines()]
    pairs.write_text("\n".join(json.dumps({k: v for k, v in row.items() if k != "label"}) for row in rows) + "\n")
    features = {"image": "colour-moments", "text": "bow:30"}
    dataset = ingest(IngestOptions(pairs, folder / "dataset", features=features, name="fields")).dataset
    save_model(create("cca", components=4).fit(dataset), folder / "model")
    build_index(folder / "model", dataset, folder / "index")
    return folder


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
