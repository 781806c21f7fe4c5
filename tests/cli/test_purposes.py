"""`--purpose` of the commands that embed, index and search."""

import json

import numpy as np
import pytest

from diptych.methods import load_model, registry
from diptych.search import Searcher
from search.gallery import make
from two_spaces import ENTRY


@pytest.fixture(scope="module", autouse=True)
def _registered():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry._METHODS, "two-spaces", ENTRY)
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory, _registered):
    folder = tmp_path_factory.mktemp("purposes")
    make(folder, method="two-spaces")
    return folder


@pytest.fixture
def index(diptych, made):
    if not (made / "index").exists():
        ended = diptych("index", made / "model", made / "dataset", "--out", made / "index", "--projection", "none")
        assert ended.status == 0, ended.err
        assert "purposes: class, partner, both" in ended.err
        assert "probabilities text → image for partner: off by 0." in ended.err
    return made / "index"


@pytest.mark.parametrize(("purpose", "width"), [("auto", 4), ("class", 4), ("partner", 5), ("both", 9)])
def test_embedding_takes_a_purpose(diptych, made, tmp_path, purpose, width) -> None:
    out = tmp_path / "codes.npy"
    command = ["embed", made / "model", made / "dataset", "--modality", "text", "--out", out, "--purpose", purpose]
    ended = diptych(*command)
    assert ended.status == 0, ended.err
    assert np.load(out).shape == (16, width)
    told = diptych("embed-file", made / "model", "--text", "a red wall", "--purpose", purpose, "--json")
    expected = load_model(made / "model").embed_raw("text", "a red wall", purpose)[0]
    np.testing.assert_allclose(json.loads(told.out)[0]["embedding"], expected, rtol=1e-6)


def test_an_index_is_searched_for_a_purpose(diptych, index) -> None:
    asked = ["search", index, "--text", "a green wall", "--in", "image", "--top", 80, "--json"]
    found = {purpose: json.loads(diptych(*asked, "--purpose", purpose).out) for purpose in ("class", "partner", "auto")}
    assert [answer["purpose"] for answer in found.values()] == ["class", "partner", "both"]
    with Searcher.open(index) as searcher:
        ids = [hit["id"] for hit in found["class"]["hits"]]
        assert sorted(ids) == sorted(hit.id for hit in searcher.list(modality="image", limit=100))
    scores = [hit["score"] for hit in found["partner"]["hits"]]
    assert scores == sorted(scores, reverse=True)


def test_an_index_of_one_space_refuses_the_other(diptych, made, tmp_path) -> None:
    command = ["index", made / "model", made / "dataset", "--out", tmp_path / "i", "--projection", "none"]
    ended = diptych(*command, "--purpose", "partner")
    assert ended.status == 0, ended.err
    assert "purposes: partner" in ended.err
    refused = diptych("search", tmp_path / "i", "--text", "red", "--purpose", "class")
    assert refused.status == 2
    assert "this index has no class space" in refused.err


def test_reliability_tells_of_every_purpose(diptych, index, tmp_path) -> None:
    shown = diptych("reliability", index, "--plot", tmp_path / "curves.svg")
    assert shown.status == 0, shown.err
    for purpose in ("both", "class", "partner"):
        assert f"│ {purpose} " in shown.out
    assert "partner: belong to one document" in " ".join(shown.out.split())
    assert (tmp_path / "curves.svg").stat().st_size > 1000
