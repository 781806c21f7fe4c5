"""Words and vectors together: a small catalogue with part numbers, several languages and texts without images."""

import json
import shutil

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diptych._core.errors import ConfigError
from diptych.ingest import IngestOptions, ingest
from diptych.methods import create, save_model
from diptych.search import MODES, NewItem, QueryPart, Searcher, build_index
from diptych.search.probability.simulation import Simulated, answerable
from diptych.search.query import Direction
from search.gallery import COLOURS, SPLITS, THINGS, png

pytest.importorskip("wordllama")

SPECIAL = {
    "pump": "hydraulic pump, model AB-1234/X",
    "pump-2": "hydraulic pump, model AB-1235/X",
    "bike": "ein rotes Fahrrad mit Korb",
    "cat": "чёрная кошка на диване",
    "temple": "京都の古い寺",
    "html": "salt &amp; pepper <b>mill</b>",
}


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory):
    """An index of coloured things with a text encoder, and six items of other kinds."""
    folder = tmp_path_factory.mktemp("catalogue")
    (folder / "pictures").mkdir()
    rows = []
    for colour in COLOURS:
        for number in range(15):
            name = f"{colour}-{number:02d}"
            text = f"a {colour} {THINGS[number % 4]} in the light"
            rows.append({"id": name, "text": text, "label": colour, "split": SPLITS[number % 5]})
    rows += [{"id": id, "text": text, "label": None, "split": "train"} for id, text in SPECIAL.items()]
    for row in rows:
        row["image"] = f"pictures/{row['id']}.png"
        colour = row["label"] or "grey"
        (folder / row["image"]).write_bytes(png(colour, row["id"]))
    (folder / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    features = {"image": "colour-moments", "text": "wordllama"}
    dataset = ingest(IngestOptions(folder / "pairs.jsonl", folder / "dataset", features=features)).dataset
    save_model(create("cca", components=4).fit(dataset), folder / "model")
    build_index(folder / "model", dataset, folder / "index", projection="none")
    return folder


@pytest.fixture(scope="module")
def searcher(catalogue):
    with Searcher.open(catalogue / "index") as opened:
        yield opened


@pytest.fixture
def own(catalogue, tmp_path):
    index = shutil.copytree(catalogue / "index", tmp_path / "index")
    with Searcher.open(index, writable=True) as opened:
        yield opened


def ask(searcher, words, **options):
    return searcher.search([QueryPart("text", words)], **options)


def items(answer):
    return [hit.item for hit in answer.hits]


@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
@pytest.mark.parametrize("written", ["red-07", " red-07 "])
def test_the_id_of_an_item_finds_it(searcher, written, mode) -> None:
    answer = ask(searcher, written, mode=mode)
    assert items(answer)[0] == "red-07" and not answer.nothing_close
    assert items(ask(searcher, written, mode=mode, where="label = 'red'"))[0] == "red-07"
    assert "red-07" not in items(ask(searcher, written, mode=mode, where="label = 'blue'", k=50))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("written", ["AB-1234/X", "ab1234x", "AB 1234 X"])
def test_a_part_number_is_found_exactly(searcher, written, mode) -> None:
    if mode != "vector":
        answer = ask(searcher, written, mode=mode)
        assert items(answer)[0] == "pump" and not answer.nothing_close and answer.mode == mode


@pytest.mark.parametrize(("words", "item"), [("Fahrräder", "bike"), ("кошки", "cat"), ("京都", "temple")])
def test_other_languages_find_something_sensible(searcher, words, item) -> None:
    answer = ask(searcher, words, k=3)
    assert item in items(answer)


def test_a_hit_is_an_item_with_both_sides_and_the_reason(searcher) -> None:
    hit = ask(searcher, "red wall").hits[0]
    assert hit.item.startswith("red-") and hit.metadata["text"].startswith("a red wall")
    assert hit.entries == {"image": f"image:{hit.item}", "text": f"text:{hit.item}"} and hit.id == hit.entries["image"]
    assert hit.modality == "image" and hit.has_media and hit.why.words == ("red", "wall")
    assert hit.why.bm25 > 0 and -1 <= hit.why.image <= 1 and hit.why.text > 0.5 and hit.why.side in ("words", "text")
    text = searcher.list(modality="text", limit=1)[0]
    assert text.item and set(text.entries) == {"image", "text"}


def test_a_misspelling_is_offered_where_there_is_an_answer_and_applied_where_there_is_none(searcher) -> None:
    answer = ask(searcher, "gren wall")
    assert answer.did_you_mean == "green wall" and "wall" in answer.hits[0].metadata["text"]
    assert not answer.corrected
    pumps = ask(searcher, "moddel")
    assert pumps.corrected and pumps.did_you_mean == "model" and not pumps.nothing_close
    assert set(items(pumps)[:2]) == {"pump", "pump-2"} and pumps.hits == ask(searcher, "model").hits
    typed = searcher.search([QueryPart("text", "moddel")], correct=False)
    assert not typed.corrected and typed.did_you_mean == "model"
    assert ask(searcher, "green wall").did_you_mean is None


def test_a_name_of_one_text_alone_is_no_query_that_others_answer(searcher) -> None:
    texts = searcher.generations.current.answerer.lister.texts
    phrases = {"bike": "rotes Fahrrad", "red-00": "red light", "pump": "hydraulic AB-1234/X", "pump-2": "model pump"}
    directions = [Direction(None, "text", False, frozenset(), frozenset(), words=words) for words in phrases.values()]
    found = answerable(Simulated(list(phrases), directions), texts, dict.fromkeys(phrases, 1))
    assert found.tolist() == [False, True, False, True]
    assert not answerable(Simulated(["red-00"], directions[1:2]), texts, {"red-00": 10_000}).any()


def test_gibberish_is_nothing_close_and_its_probability_small(searcher) -> None:
    for words in ("xqzvb wkrtp", "mortgage interest rate", "open heart surgery"):
        answer = ask(searcher, words)
        assert answer.nothing_close and answer.closest < 0.5, words
    for words in ("red wall", "blue tile", "grey paper in the light", "hydraulic pump"):
        assert not ask(searcher, words).nothing_close, words
    assert ask(searcher, "red wall", min_probability=0.5).hits
    assert not ask(searcher, "xqzvb wkrtp", min_probability=0.5).hits


@pytest.mark.parametrize("mode", MODES)
def test_probabilities_never_rise_down_the_list_and_are_not_one_constant(searcher, mode) -> None:
    hits = ask(searcher, "green cloth", k=100, mode=mode).hits
    likely, scores = [hit.probability for hit in hits], [hit.score for hit in hits]
    assert likely == sorted(likely, reverse=True) and scores == sorted(scores, reverse=True)
    assert likely[0] - likely[-1] > 0.2


QUERIES = {
    "words": [QueryPart("text", "a red wall")],
    "image": [QueryPart("image", png("blue", "asked"))],
    "item": [QueryPart("item", "image:red-03")],
    "mixture": [QueryPart("text", "wall", 2.0), QueryPart("item", "text:red-03"), QueryPart("text", "blue", -0.5)],
}


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=st.sampled_from(sorted(QUERIES)),
    mode=st.sampled_from(MODES),
    step=st.integers(3, 40),
    pool=st.sampled_from([5, 20, 200]),
)
def test_pages_never_repeat_or_skip(searcher, monkeypatch, kind, mode, step, pool) -> None:
    monkeypatch.setattr("diptych.search.documents.POOL", pool)
    whole = items(searcher.search(QUERIES[kind], k=200, mode=mode))
    paged = []
    for offset in range(0, 200, step):
        page = items(searcher.search(QUERIES[kind], k=step, offset=offset, mode=mode))
        paged += page
        if len(page) < step:
            break
    assert paged == whole and len(set(whole)) == len(whole)
    if kind == "item":
        assert "red-03" not in whole and len(whole) == 65
    elif mode != "lexical":
        assert len(whole) == (65 if kind == "mixture" else 66)


def test_the_whole_item_is_left_out_of_what_is_like_it(searcher) -> None:
    for id in ("image:red-03", "text:red-03"):
        assert "red-03" not in items(searcher.similar(id, k=100))


def test_conditions_hold_for_every_hit_in_every_mode(searcher) -> None:
    for mode in MODES:
        answer = ask(searcher, "a red wall", where="label in ('green', 'blue') and split = 'test'", k=50, mode=mode)
        assert answer.hits and all(hit.metadata["label"] in ("green", "blue") for hit in answer.hits)
    with pytest.raises(ConfigError, match=r"no item has the key 'colour'; conditions can be on document, id"):
        ask(searcher, "red", where="colour = 'red'")


def test_texts_are_cleaned_and_one_side_can_be_searched(searcher) -> None:
    hit = ask(searcher, "pepper mill").hits[0]
    assert hit.item == "html" and hit.metadata["text"] == "salt & pepper mill"
    texts = ask(searcher, "pepper mill", into="text")
    assert texts.mode == "hybrid" and texts.hits[0].id == "text:html" and texts.hits[0].modality == "text"
    images = ask(searcher, "red wall", into="image")
    assert images.mode == "vector" and {hit.modality for hit in images.hits} == {"image"}


def test_a_text_without_an_image_and_an_image_without_a_text_are_found(own) -> None:
    own.add([NewItem("text:note", "text", "purple <i>umbrella</i> &amp; cane", {"brand": "Rain"})])
    own.add([NewItem("image:photo", "image", png("red", "a new photograph"), {})])
    hit = ask(own, "umbrella").hits[0]
    assert hit.item == "note" and hit.modality == "text" and hit.entries == {"text": "text:note"}
    assert hit.metadata["text"] == "purple umbrella & cane"
    found = items(own.search([QueryPart("image", png("red", "a new photograph"))], k=1))
    assert found == ["photo"] and "photo" in items(ask(own, "red", k=40))
    assert items(ask(own, "umbrella", where="brand = 'Rain'")) == ["note"]
    own.add([NewItem("image:note", "image", png("blue", "its image"), {})])
    assert ask(own, "umbrella").hits[0].entries == {"image": "image:note", "text": "text:note"}


def test_suggestions_complete_words_labels_and_texts(searcher) -> None:
    assert "green" in searcher.suggest("gre") and searcher.suggest("hydraulic pu")[0].startswith("hydraulic pump")
    assert len(searcher.suggest("a ", 3)) <= 3 and searcher.suggest("") == [] and searcher.suggest("qqq") == []


@pytest.mark.parametrize("step", ["_write", "_write_texts"])
@pytest.mark.parametrize("replace", [False, True])
def test_a_kill_in_the_middle_of_a_change_is_repaired(own, tmp_path, monkeypatch, step, replace) -> None:
    """The process dies after the texts were touched and before, or after, the main index was."""
    from diptych.search.writer import IndexWriter

    class Killed(BaseException):
        pass

    work = getattr(IndexWriter, step)

    def dying(self, entries, **options):
        if step == "_write_texts" and entries:
            work(self, entries, **options)
            raise Killed
        if step == "_write":
            raise Killed
        return work(self, entries, **options)

    id = "text:red-00" if replace else "text:fresh"
    with monkeypatch.context() as patch:
        patch.setattr(IndexWriter, step, dying)
        patch.setattr(IndexWriter, "_match_texts", lambda self, ids: None)
        with pytest.raises(Killed):
            own.add([NewItem(id, "text", "an orange kayak", {})], replace=replace)
    own.close()
    with Searcher.open(tmp_path / "index", writable=True) as again:
        assert again.generations.current.texts.index.count() == again.count(modality="text")
        kept = again.get(id)
        found = items(ask(again, "kayak", mode="lexical"))
        assert bool(found) == (kept is not None and "kayak" in kept.metadata["text"])


def test_a_failed_change_leaves_the_words_as_they_were(own, monkeypatch) -> None:
    def failing(*arguments, **options):
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(own.generations.current.index, "update", failing)
        with pytest.raises(OSError, match="disk full"):
            own.add([NewItem("text:red-00", "text", "an orange kayak", {})], replace=True)
    assert not ask(own, "kayak", mode="lexical").hits
    assert "red-00" in items(ask(own, "red wall", mode="lexical", k=50))


def test_what_is_removed_is_found_by_no_word(own) -> None:
    own.remove(["image:pump", "text:pump"])
    assert items(ask(own, "AB-1234/X", mode="lexical", k=50)) == ["pump-2"]
    assert ask(own, "pump").total == 65


def test_an_older_index_answers_in_vector_mode(catalogue, tmp_path) -> None:
    index = shutil.copytree(catalogue / "index", tmp_path / "old")
    shutil.rmtree(index / "texts")
    about = json.loads((index / "searcher.json").read_text())
    for key in ("texts", "keys", "documents", "entries", "own_documents"):
        del about[key]
    (index / "searcher.json").write_text(json.dumps(about))
    known = json.loads((index / "calibration.json").read_text())
    del known["documents"]
    (index / "calibration.json").write_text(json.dumps(known))
    with Searcher.open(index, writable=True) as old:
        answer = ask(old, "red wall")
        assert answer.mode == "vector" and answer.hits[0].metadata["label"] == "red" and old.suggest("re") == ["red"]
        assert old.info()["modes"] == ["vector"]
        with pytest.raises(ConfigError, match=r"no item has the key 'colour'.*label"):
            ask(old, "red", where="colour = 'red'")


def test_a_copied_index_shows_thumbnails_unless_it_keeps_originals(catalogue, tmp_path) -> None:
    from diptych.data import Dataset

    copied = shutil.copytree(catalogue / "index", tmp_path / "far" / "away" / "index")
    with Searcher.open(copied) as moved:
        assert moved.original("image:pump")[1] == "image/webp"
    dataset = Dataset.open(catalogue / "dataset")
    build_index(catalogue / "model", dataset, tmp_path / "whole", projection="none", keep_originals=True)
    copied = shutil.copytree(tmp_path / "whole", tmp_path / "far" / "whole")
    with Searcher.open(copied) as moved:
        assert moved.original("image:pump") == ((catalogue / "pictures" / "pump.png").read_bytes(), "image/png")


def test_very_long_queries_are_read_and_longer_ones_refused(searcher) -> None:
    assert ask(searcher, "a red wall in the light " * 800).hits[0].metadata["label"] == "red"
    with pytest.raises(ConfigError, match="at most 100,000 are read"):
        ask(searcher, "red " * 30_000)


def test_scores_of_the_fusion_are_kept(searcher, catalogue) -> None:
    known = json.loads((catalogue / "index" / "calibration.json").read_text())["documents"]
    assert known["fusion"] == searcher.calibration.documents.fusion.to_json() and known["presence"]["limit"] > 0
    assert np.isfinite(known["fusion"]["weights"]).all() and min(known["fusion"]["weights"]) >= 0
