"""What lies beside a reader of the documentation: images, a table of products, a dataset, a model and an index."""

import csv
import shutil

import pytest

from diptych.ingest import IngestOptions, ingest
from diptych.methods import create, save_model
from diptych.search import build_index
from search.gallery import COLOURS, THINGS, png, write_raw
from short_training import shorten


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    """The folder that every page with a comment `needs` starts from; pages work on copies of it."""
    folder = tmp_path_factory.mktemp("reader")
    pairs = write_raw(folder)
    options = IngestOptions(pairs, folder / "data/mine", features={"image": "colour-moments", "text": "bow:30"})
    dataset = ingest(options).dataset
    save_model(create("cca", components=4).fit(dataset), folder / "models/mine")
    build_index(folder / "models/mine", dataset, folder / "indexes/mine")
    (folder / "new.jpg").write_bytes(png("blue", "new"))
    (folder / "photos").mkdir()
    with (folder / "products.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["sku", "title", "photo", "category", "price"])
        for number, (colour, thing) in enumerate((colour, thing) for colour in COLOURS for thing in THINGS):
            (folder / f"photos/{number}.png").write_bytes(png(colour, number))
            table.writerow([f"P-{number:03d}", f"{colour} {thing} for the wall", f"photos/{number}.png", colour, 10])
    return folder


@pytest.fixture
def reader(tmp_path, monkeypatch):
    """An empty working folder, and deep methods that train for a moment."""
    monkeypatch.chdir(tmp_path)
    shorten(monkeypatch)
    return tmp_path


@pytest.fixture
def bring(request, reader):
    """Bring what a page needs into the working folder."""

    def bring(names: list[str]) -> None:
        shutil.copytree(request.getfixturevalue("prepared"), reader, dirs_exist_ok=True)
        absent = [name for name in names if not (reader / name).exists()]
        assert not absent, f"nothing is prepared under {absent}"

    return bring
