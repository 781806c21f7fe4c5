"""One index of two spaces answers as an index of each space alone would."""

import json
import shutil

import numpy as np
import pytest

from diptych._core.errors import ConfigError, DataError
from diptych.data import Dataset
from diptych.methods import load_model, registry
from diptych.search import NewItem, Query, QueryPart, Searcher, build_index
from diptych.search.index_folder import FILE
from diptych.search.probability import ProbabilityMap
from diptych.search.probability.calibration import read_calibration
from diptych.search.probability.calibrator import calibrate
from diptych.search.spaces import IndexSpaces
from search.gallery import make, png
from two_spaces import ENTRY

QUERIES = {
    "words": [QueryPart("text", "a green wall")],
    "picture": [QueryPart("image", png("blue", "asked"))],
    "item": [QueryPart("item", "text:red-03")],
    "mixture": [
        QueryPart("text", "a green wall", 2.0),
        QueryPart("item", "image:red-03", 0.7),
        QueryPart("image", png("blue", "asked"), -0.4),
    ],
}


@pytest.fixture(scope="module", autouse=True)
def _registered():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry._METHODS, "two-spaces", ENTRY)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory, _registered):
    """A dataset, a model with two spaces, and an index for each purpose."""
    folder = tmp_path_factory.mktemp("purposes")
    dataset = make(folder, method="two-spaces", weight=0.6)
    for purpose in ("auto", "class", "partner"):
        built = build_index(folder / "model", dataset, folder / purpose, purpose=purpose, projection="none")
        assert built.purposes == (("class", "partner", "both") if purpose == "auto" else (purpose,))
    return folder


@pytest.fixture
def both(folder):
    with Searcher.open(folder / "auto") as opened:
        yield opened


@pytest.mark.parametrize("into", ["image", "text", None])
@pytest.mark.parametrize("kind", QUERIES)
@pytest.mark.parametrize("purpose", ["class", "partner"])
def test_one_space_of_both_ranks_as_that_space_alone(folder, both, purpose, kind, into) -> None:
    with Searcher.open(folder / purpose) as alone:
        expected = alone.search(QUERIES[kind], into=into, k=160)
    found = both.search(QUERIES[kind], into=into, k=160, purpose=purpose)
    scores = {hit.id: hit.score for hit in expected.hits}
    assert {hit.id for hit in found.hits} == set(scores)
    np.testing.assert_allclose([hit.score for hit in found.hits], [scores[hit.id] for hit in found.hits], atol=1e-5)
    np.testing.assert_allclose([hit.score for hit in found.hits], [hit.score for hit in expected.hits], atol=1e-5)
    chances = {hit.id: hit.probability for hit in expected.hits}
    assert {hit.id: hit.probability is None for hit in found.hits} == {id: p is None for id, p in chances.items()}
    likely = [hit for hit in found.hits if hit.probability is not None]
    np.testing.assert_allclose([hit.probability for hit in likely], [chances[hit.id] for hit in likely], atol=1e-3)
    assert (found.purpose, expected.purpose) == (purpose, purpose)


def test_scores_are_cosines_of_the_model(folder, both) -> None:
    dataset, model = Dataset.open(folder / "dataset"), load_model(folder / "model")
    everything = dataset.everything.having("image")
    for purpose in ("both", "class", "partner"):
        images = model.embed("image", everything.features("image"), purpose).astype(np.float64)
        words = model.embed_raw("text", "a green wall", purpose)[0].astype(np.float64)
        cosines = images @ words / np.linalg.norm(images, axis=1) / np.linalg.norm(words)
        expected = dict(zip((f"image:{id}" for id in everything.ids), cosines, strict=True))
        hits = both.search([QueryPart("text", "a green wall")], into="image", k=80, purpose=purpose).hits
        assert len(hits) == 80
        np.testing.assert_allclose([hit.score for hit in hits], [expected[hit.id] for hit in hits], atol=1e-5)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_auto_asks_for_items_by_words_in_the_partner_space_and_else_in_all(folder, both) -> None:
    parts = QUERIES["words"]
    usual, partner = (both.search(parts, k=20, purpose=purpose) for purpose in ("auto", "partner"))
    assert usual.hits == partner.hits and usual.purpose == "partner"
    assert both.search(QUERIES["item"]).purpose == "both"
    usual, whole = (both.search(parts, into="image", k=20, purpose=purpose) for purpose in ("auto", "both"))
    assert usual.hits == whole.hits and usual.purpose == whole.purpose == "both"
    with Searcher.open(folder / "partner") as partner:
        assert partner.search(parts).purpose == "partner"


def test_purposes_of_several_people_are_answered_together(both) -> None:
    purposes = ["class", "partner", "both", "class"]
    queries = [Query(tuple(QUERIES["item"]), into="image", k=5, purpose=purpose) for purpose in purposes]
    together = both.answer_many(queries)
    for purpose, answer in zip(purposes, together, strict=True):
        assert answer.purpose == purpose
        assert answer.hits == both.search(QUERIES["item"], into="image", k=5, purpose=purpose).hits


def test_more_like_this_takes_a_purpose(both) -> None:
    found = both.similar("image:red-03", into="text", purpose="partner", k=4)
    assert found.purpose == "partner"
    assert found.hits == both.search([QueryPart("item", "image:red-03")], into="text", purpose="partner", k=4).hits


def test_a_minimum_is_judged_by_the_map_of_the_purpose(both) -> None:
    parts = QUERIES["words"]
    for purpose in ("class", "partner", "both"):
        every = both.search(parts, into="image", k=80, purpose=purpose).hits
        likely = [hit.probability for hit in every]
        least = float(np.quantile(likely, 0.7))
        found = both.search(parts, into="image", k=80, purpose=purpose, min_probability=least)
        assert [hit.id for hit in found.hits] == [hit.id for hit in every if hit.probability >= least]


def test_each_purpose_has_its_own_meaning_of_belonging(both) -> None:
    known = {each.purpose: each.relevance for each in both.calibration.each()}
    assert known == {"both": "label", "class": "label", "partner": "document"}
    assert both.calibration.purpose == "both"
    info = both.info()
    assert info["purposes"] == ["class", "partner", "both"]
    assert info["by_purpose"]["partner"]["belongs_means"] == "document"
    assert "text->image" in info["by_purpose"]["partner"]["calibrated"]
    assert info["belongs_means"] == "label"


def test_the_calibration_is_read_as_it_was_written(folder) -> None:
    written = json.loads((folder / "auto" / "calibration.json").read_text())
    assert read_calibration(folder / "auto" / "calibration.json").to_json() == written
    assert list(written["others"]) == ["class", "partner"]


def test_partners_are_rarer_in_a_larger_index(folder) -> None:
    """It is learned without test items, a fifth of all; with them there still is one partner for each query."""
    dataset, model = Dataset.open(folder / "dataset"), load_model(folder / "model")
    of_dataset = calibrate(model, dataset, spaces=IndexSpaces.of(model, dataset, "partner"))
    written = read_calibration(folder / "partner" / "calibration.json")
    for way, curve in written.maps.items():
        np.testing.assert_allclose(curve.probabilities, of_dataset.maps[way].probabilities, err_msg=str(way))
        seen = int((dataset.splits != "test").sum())
        assert written.facts[way]["relevant_share"] == pytest.approx(1 / seen, rel=0.3)
        told = written.facts[way]["test"]["all_pairs"]["curve"]
        said = sum(point["share"] * point["probability"] for point in told)
        assert said == pytest.approx(1 / len(dataset), rel=0.5), "as many in all as there are partners"
    by_class = calibrate(model, dataset, spaces=IndexSpaces.of(model, dataset, "class"))
    for way, curve in read_calibration(folder / "class" / "calibration.json").maps.items():
        np.testing.assert_allclose(curve.probabilities, by_class.maps[way].probabilities)


def test_a_map_moves_to_a_larger_gallery_by_the_odds() -> None:
    curve = ProbabilityMap(np.array([0.0, 1.0]), np.array([0.2, 0.5]))
    np.testing.assert_allclose(curve.in_gallery(4.0).probabilities, [0.05 / 0.85, 0.125 / 0.625])
    np.testing.assert_allclose(curve.in_gallery(1.0).probabilities, curve.probabilities)


def test_new_items_are_found_in_every_space(folder, tmp_path) -> None:
    shutil.copytree(folder / "raw", tmp_path / "raw")
    index = shutil.copytree(folder / "auto", tmp_path / "auto")
    data = png("green", "a new one")
    with Searcher.open(index, writable=True) as own:
        own.add([NewItem("mine", "image", data, {})])
        for purpose in ("class", "partner", "both"):
            best = own.search([QueryPart("image", data)], into="image", k=1, purpose=purpose).hits[0]
            assert best.id == "mine" and best.score == pytest.approx(1.0, abs=1e-5)


def test_an_index_refuses_what_it_does_not_hold(folder, both) -> None:
    with Searcher.open(folder / "class") as alone:
        assert alone.purposes == ("class",)
        for purpose in ("partner", "both"):
            with pytest.raises(ConfigError, match=r"this index has no partner space.*--purpose both"):
                alone.search(QUERIES["item"], purpose=purpose)
    with pytest.raises(ConfigError, match="the purpose is 'twin'; choose one of"):
        both.search(QUERIES["item"], purpose="twin")


def test_an_index_without_purposes_goes_on_working(fields, tmp_path) -> None:
    """As it was written before there were purposes."""
    index = shutil.copytree(fields / "index", tmp_path / "index")
    about = json.loads((index / FILE).read_text())
    assert about.pop("spaces") == {}
    (index / FILE).write_text(json.dumps(about))
    with Searcher.open(index) as old:
        assert old.purposes == () and old.info()["purposes"] == [] and old.info()["by_purpose"] == {}
        answer = old.search(QUERIES["item"])
        assert answer.hits and answer.purpose is None
        with pytest.raises(ConfigError, match="this index has a single space and cannot serve the purpose 'class'"):
            old.search(QUERIES["item"], purpose="class")


def test_a_purpose_the_model_lacks_builds_nothing(fields, tmp_path) -> None:
    with pytest.raises(ConfigError, match="'cca' has a single space"):
        build_index(fields / "model", Dataset.open(fields / "dataset"), tmp_path / "index", purpose="both")
    assert list(tmp_path.iterdir()) == []


def test_parts_of_unequal_length_are_refused() -> None:
    rows = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]], dtype=np.float32)
    length = np.sqrt(1.25)
    spaces = IndexSpaces("both", {"class": 2, "partner": 1}, {"class": 1 / length, "partner": 0.5 / length})
    assert spaces.complete(rows).tolist() == [True, True]
    assert spaces.complete(rows * [[1, 1, 0], [3, 3, 3]]).tolist() == [False, True]
    with pytest.raises(ConfigError, match=r"\(class, partner\) differ in length"):
        spaces.complete(rows * [[1, 1, 1], [1, 1, 2]])


def test_a_query_without_a_direction_in_the_space_is_told(both, monkeypatch) -> None:
    embed = type(both.generations.current.model)._embed

    def without_partner(model, modality, rows):
        codes = embed(model, modality, rows)
        codes[:, -5:] = 0.0
        return codes

    monkeypatch.setattr(type(both.generations.current.model), "_embed", without_partner)
    assert both.search(QUERIES["words"], purpose="class").hits
    with pytest.raises(DataError, match="has no content in the partner space; try another purpose"):
        both.search(QUERIES["words"], purpose="partner")
