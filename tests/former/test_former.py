"""Datasets, models and indexes that a former version wrote still open and give what they gave."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from diptych.data import Dataset
from diptych.methods import load_model, save_model
from diptych.search import NewItem, QueryPart, Searcher

FORMER = Path(__file__).parent
EXPECTED = np.load(FORMER / "embeddings.npz")
RAW_EXPECTED = np.load(FORMER / "raw_embeddings.npz")
ITEMS = [json.loads(line) for line in (FORMER / "raw" / "pairs.jsonl").read_text().splitlines()]
ANSWERS = json.loads((FORMER / "answers.json").read_text())


@pytest.fixture(scope="module")
def pairs():
    return Dataset.open(FORMER / "pairs")


@pytest.fixture
def index(tmp_path):
    """A copy of the index, with the images where it expects them: opening one may write beside its files."""
    shutil.copytree(FORMER / "raw", tmp_path / "raw")
    return shutil.copytree(FORMER / "index", tmp_path / "index")


def check_embeddings(model, name, pairs):
    purposes = model.purposes or ("auto",)
    known = {key.split("/")[2] for key in EXPECTED if key.startswith(f"{name}/")}
    assert set(purposes) == known
    for modality in ("image", "text"):
        rows = pairs.split("test").features(modality)
        for purpose in purposes:
            expected = EXPECTED[f"{name}/{modality}/{purpose}"]
            np.testing.assert_allclose(model.embed(modality, rows, purpose), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", sorted({key.partition("/")[0] for key in EXPECTED}))
def test_a_model_embeds_as_it_did(name, pairs, tmp_path):
    model = load_model(FORMER / "models" / name)
    assert model.registry_name == name
    check_embeddings(model, name, pairs)
    save_model(model, tmp_path / "again")
    check_embeddings(load_model(tmp_path / "again"), name, pairs)


@pytest.mark.parametrize("folder", ["index/model", "models/exported"])
def test_a_model_with_a_pipeline_embeds_raw_items_as_it_did(folder):
    model = load_model(FORMER / folder)
    images = [FORMER / "raw" / item["image"] for item in ITEMS]
    texts = [item["text"] for item in ITEMS]
    np.testing.assert_allclose(model.embed_raw("image", images), RAW_EXPECTED["image"], rtol=0, atol=1e-6)
    np.testing.assert_allclose(model.embed_raw("text", texts), RAW_EXPECTED["text"], rtol=0, atol=1e-6)


def test_a_dataset_of_numbers_opens(pairs):
    counts = {name: len(pairs.split(name)) for name in ("train", "val", "test")}
    assert counts == {"train": 36, "val": 12, "test": 12}
    assert {name: pairs.modalities[name].kind for name in pairs.modalities} == {"image": "dense", "text": "counts"}
    assert pairs.fingerprint == load_model(FORMER / "models" / "cca").record_["dataset"]["fingerprint"]


def test_a_dataset_of_raw_items_opens_and_its_pipeline_gives_its_rows():
    dataset = Dataset.open(FORMER / "items")
    model = load_model(FORMER / "index" / "model")
    assert model.record_["dataset"]["fingerprint"] == dataset.fingerprint
    model.check_rows_of(dataset)
    everything = dataset.everything
    places = {item["id"]: item for item in ITEMS}
    images = [FORMER / "raw" / places[str(id)]["image"] for id in everything.ids]
    rows = model.pipeline.describe("image", images)
    np.testing.assert_allclose(rows, everything.features("image"), rtol=0, atol=1e-6)
    texts = model.pipeline.describe("text", [places[str(id)]["text"] for id in everything.ids])
    np.testing.assert_array_equal(texts.toarray(), everything.features("text").toarray())


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: json.dumps(answer["query"]["parts"]))
def test_an_index_answers_as_it_did(answer, index):
    options = dict(answer["query"])
    parts = [_part(*part) for part in options.pop("parts")]
    with Searcher.open(index) as searcher:
        found = searcher.search(parts, k=5, **options)
    if answer["query"]["parts"] == [["text", "light"]]:
        # Every training text holds this word, so that its embedding is rounding error, which processors disagree on.
        assert {hit.id for hit in found.hits} == {hit["id"] for hit in answer["hits"]}
        return
    assert [hit.id for hit in found.hits] == [hit["id"] for hit in answer["hits"]]
    for name in ("item", "score", "probability"):
        now, then = [getattr(hit, name) for hit in found.hits], [hit[name] for hit in answer["hits"]]
        assert now == (then if name == "item" else pytest.approx(then, abs=1e-6))
    assert [hit.metadata["text"] for hit in found.hits] == [hit["text"] for hit in answer["hits"]]
    assert (found.did_you_mean, found.mode, found.total) == (answer["did_you_mean"], answer["mode"], answer["total"])


def test_an_index_tells_what_it_holds_and_shows_it(index):
    with Searcher.open(index) as searcher:
        info = searcher.info()
        assert info["modalities"] == {"image": 20, "text": 20}
        assert info["classes"] == dict.fromkeys(("blue", "green", "grey", "red"), 5)
        assert len(searcher.projection()) == 40
        assert searcher.thumbnail("image:red-0")[8:12] == b"WEBP"
        assert searcher.original("image:red-0")[0] == (FORMER / "raw" / "images" / "red-0.png").read_bytes()


def test_an_index_can_be_written(index):
    new = NewItem("crimson", "text", "a red lantern", {"label": "red"})
    with Searcher.open(index, writable=True) as searcher:
        assert searcher.add([new]) == 1
        assert searcher.remove(["text:red-1"]) == 1
    with Searcher.open(index) as searcher:
        assert searcher.search([QueryPart("text", "lantern")], mode="lexical").hits[0].metadata["text"] == new.value
        assert searcher.count(modality="text") == 20


def _part(kind, value, weight=1.0):
    return QueryPart(kind, (FORMER / "raw" / value).read_bytes() if kind == "image" else value, weight)
