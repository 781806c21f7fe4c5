"""An index of three modalities that came as numbers: built, calibrated and searched like any other."""

import numpy as np
import pytest

import synthetic
from diptych.data import Dataset
from diptych.methods import create, save_model
from diptych.search import Searcher, build_index
from diptych.search.probability.calibrator import calibrate

NAMES = ("image", "text", "audio")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with `dataset`, `model` and `index`; every second item lacks a modality."""
    folder = tmp_path_factory.mktemp("three")
    dataset = synthetic.write(folder / "dataset", synthetic.with_holes(synthetic.draft(NAMES, seed=6)))
    save_model(create("cca", weight_power=1.0).fit(dataset), folder / "model")
    build_index(folder / "model", dataset, folder / "index")
    return folder


@pytest.fixture
def searcher(folder):
    with Searcher.open(folder / "index") as opened:
        yield opened


@pytest.fixture(scope="module")
def dataset(folder):
    return Dataset.open(folder / "dataset")


def test_every_side_of_an_item_is_an_entry(searcher, dataset):
    info = searcher.info()
    assert info["modalities"] == {name: int(dataset.has(name).sum()) for name in NAMES}
    item = str(dataset.ids[np.flatnonzero(dataset.has("image") & dataset.has("audio") & ~dataset.has("text"))[0]])
    hit = searcher.get(f"audio:{item}")
    assert hit is not None and hit.modality == "audio"
    assert searcher.get(f"text:{item}") is None


@pytest.mark.parametrize("query", NAMES)
@pytest.mark.parametrize("into", NAMES)
def test_each_modality_finds_its_class_in_each(searcher, dataset, query, into):
    test = dataset.split("test").having(query)
    right = []
    for id, code in list(zip(test.ids.tolist(), test.labels.codes.tolist(), strict=True))[:12]:
        answer = searcher.similar(f"{query}:{id}", into=into, k=5)
        assert all(hit.modality == into for hit in answer.hits)
        right += [hit.metadata["label"] == dataset.classes[code] for hit in answer.hits if hit.metadata.get("label")]
    assert np.mean(right) > 0.5  # a sixth by chance


def test_whole_items_are_found_through_any_side_with_probabilities(searcher, dataset):
    item = str(dataset.split("test").having("audio").ids[0])
    answer = searcher.similar(f"audio:{item}", k=20)
    assert len({hit.item for hit in answer.hits}) == len(answer.hits) == 20
    assert item not in {hit.item for hit in answer.hits}
    sides = {side for hit in answer.hits for side in hit.entries}
    assert sides == set(NAMES)
    likely = [hit.probability for hit in answer.hits]
    assert all(each is not None for each in likely) and likely == sorted(likely, reverse=True)


def test_all_nine_directions_are_calibrated(folder, dataset):
    model = create("cca", weight_power=1.0).fit(dataset)
    found = calibrate(model, dataset)
    assert set(found.maps) == {(a, b) for a in NAMES for b in NAMES}
    for facts in found.facts.values():
        assert facts["pairs"] > 0 and 0 < facts["relevant_share"] < 1
    assert set(found.documents.asked) == set(NAMES)


def test_pages_of_whole_items_have_no_gaps_and_no_repeats(searcher, dataset):
    item = str(dataset.split("test").having("image").ids[0])
    pages = [searcher.similar(f"image:{item}", k=30, offset=offset).hits for offset in range(0, 210, 30)]
    found = [hit.item for page in pages for hit in page]
    assert len(found) == len(set(found)) == len(dataset) - 1
