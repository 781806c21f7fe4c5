"""Ask an index of real pictures and sentences."""

import io

import numpy as np
import pytest
from PIL import Image

from diptych._core.errors import ConfigError, DataError, DiptychError
from diptych.methods import load_model
from diptych.search import Query, QueryPart, Searcher
from diptych.search.hits import public
from search.gallery import COLOURS, png


def ids(answer):
    return [hit.id for hit in answer.hits]


def labels(answer):
    return [hit.metadata["label"] for hit in answer.hits]


def unit(row):
    return row / np.linalg.norm(row)


@pytest.fixture
def model(fields):
    return load_model(fields / "model")


@pytest.mark.parametrize("colour", COLOURS)
def test_words_find_pictures_and_pictures_find_words(searcher, colour) -> None:
    by_words = searcher.search([QueryPart("text", f"a {colour} wall")], into="image", k=8)
    assert labels(by_words) == [colour] * 8 and {hit.modality for hit in by_words.hits} == {"image"}
    by_picture = searcher.search([QueryPart("image", png(colour, "new"))], into="text", k=8)
    assert labels(by_picture) == [colour] * 8 and {hit.modality for hit in by_picture.hits} == {"text"}
    assert by_words.hits[0].probability > 0.5 and by_words.closest == by_words.hits[0].probability


def test_a_picture_finds_itself_first(searcher, fields) -> None:
    answer = searcher.search([QueryPart("image", fields / "raw" / "pictures" / "red-07.png")], into="image")
    assert ids(answer)[0] == "image:red-07"
    assert answer.hits[0].score == pytest.approx(1, abs=1e-5)


def test_a_mixture_is_the_weighted_sum_of_unit_vectors(searcher, model, fields) -> None:
    parts = [
        QueryPart("text", "a red wall", 2.0),
        QueryPart("image", png("green", "x"), 0.7),
        QueryPart("item", "text:blue-03", -0.5),
    ]
    blue = searcher.generations.current.index.get(["text:blue-03"])[0].vector
    total = 2.0 * unit(model.embed_raw("text", "a red wall")[0]) + 0.7 * unit(
        model.embed_raw("image", png("green", "x"))[0]
    )
    total = unit(total - 0.5 * blue)
    everything = searcher.list(modality="image", limit=1000)
    vectors = np.stack([item.vector for item in searcher.generations.current.index.get([hit.id for hit in everything])])
    expected = {hit.id: score for hit, score in zip(everything, vectors @ total, strict=True)}
    answer = searcher.search(parts, into="image", k=200)
    assert {hit.id: hit.score for hit in answer.hits} == pytest.approx(expected, abs=1e-5)
    assert sorted(expected.values(), reverse=True) == pytest.approx([hit.score for hit in answer.hits], abs=1e-5)


def test_a_negative_weight_leads_away(searcher) -> None:
    red = [QueryPart("text", "red"), QueryPart("text", "green", 0.9)]
    away = [QueryPart("text", "red"), QueryPart("text", "green", -0.9)]
    with_green = {hit.id: hit.score for hit in searcher.search(red, into="image", k=100).hits}
    without = {hit.id: hit.score for hit in searcher.search(away, into="image", k=100).hits}
    assert all(without[id] < with_green[id] for id in with_green if id.startswith("image:green"))
    only_away = searcher.search([QueryPart("text", "green", -1)], into="image", k=100)
    assert "green" in labels(only_away)[-1] and only_away.hits[0].probability is None


def test_what_cancels_is_said(searcher) -> None:
    with pytest.raises(ConfigError, match="cancel each other"):
        searcher.search([QueryPart("text", "red"), QueryPart("text", "red", -1)])
    with pytest.raises(ConfigError, match="every weight of the query is 0"):
        searcher.search([QueryPart("text", "red", 0)])


def test_a_hit_may_be_changed_without_changing_the_next_one(searcher) -> None:
    first, again = (searcher.search(text="red", k=3) for _ in range(2))
    for hit in first.hits:
        hit.metadata["label"] = "changed"
    assert searcher.search(text="red", k=3).hits == again.hits
    kept = {"label": ["a"], "deep": {"x": 1}}
    shown = public(kept)
    shown["label"].append("b")
    shown["deep"]["x"] = 2
    assert kept == {"label": ["a"], "deep": {"x": 1}}


def test_filters_hold_for_every_result(searcher) -> None:
    where = "split = 'test' and label in ('red', 'grey') and not text like '%wall%'"
    answer = searcher.search([QueryPart("text", "a blue wall")], into="image", where=where, k=50)
    assert len(answer.hits) == 6
    for hit in answer.hits:
        assert hit.metadata["split"] == "test" and hit.metadata["label"] in ("red", "grey")
        assert "wall" not in hit.metadata["text"]
    with pytest.raises(DiptychError):
        searcher.search([QueryPart("text", "red")], where="label ==== 3")


@pytest.mark.parametrize("into", ["image", None])
@pytest.mark.parametrize("least", [0.0, 0.3])
@pytest.mark.parametrize(
    "part", [QueryPart("text", "a red wall"), QueryPart("item", "image:red-03")], ids=["words", "item"]
)
def test_pages_have_no_gaps_and_no_repeats(searcher, into, least, part) -> None:
    asked = {"into": into, "min_probability": least}
    whole = ids(searcher.search([part], k=1000, **asked))
    paged = []
    for offset in range(0, 1000, 7):
        page = ids(searcher.search([part], k=7, offset=offset, **asked))
        paged += page
        if len(page) < 7:
            break
    assert paged == whole and len(set(whole)) == len(whole)
    assert least or len(whole) == 80 - (part.kind == "item")


def test_similar_leaves_the_item_out(searcher) -> None:
    for id in ("image:red-03", "text:red-03"):
        answer = searcher.similar(id, k=10)
        assert id not in ids(answer) and len(answer.hits) == 10 and labels(answer).count("red") >= 8
    across = searcher.similar("image:blue-05", into="text", k=5)
    assert labels(across) == ["blue"] * 5 and across.hits[0].modality == "text"
    with pytest.raises(DataError, match="there is no item 'image:gone'"):
        searcher.similar("image:gone")


def test_nothing_matches_is_an_answer(searcher) -> None:
    lukewarm = [QueryPart("text", "red"), QueryPart("text", "green"), QueryPart("text", "blue")]
    answer = searcher.search(lukewarm, into="image", min_probability=1.0)
    assert answer.hits == () and 0 <= answer.closest < 1
    strong = searcher.search([QueryPart("text", "red")], into="image", k=100, min_probability=0.5)
    assert strong.hits and min(hit.probability for hit in strong.hits) >= 0.5
    every = searcher.search([QueryPart("text", "red")], into="image", k=100)
    expected = [hit.id for hit in every.hits if hit.probability >= 0.5]
    assert ids(strong) == expected
    with pytest.raises(ConfigError, match="only leads away"):
        searcher.search([QueryPart("text", "red", -1)], min_probability=0.1)


def test_probabilities_never_rise_down_the_list(searcher) -> None:
    answer = searcher.search([QueryPart("text", "grey paper")], into="image", k=80)
    probabilities = [hit.probability for hit in answer.hits]
    assert probabilities == sorted(probabilities, reverse=True) and probabilities[0] > probabilities[-1]


def test_many_queries_are_answered_as_one_by_one_and_a_bad_one_spoils_none(searcher) -> None:
    parts = [
        (QueryPart("text", "red"),),
        (QueryPart("image", b"no picture"),),
        (QueryPart("item", "text:grey-01"), QueryPart("text", "blue", 0.3)),
        (QueryPart("text", "zebra"),),
        (QueryPart("image", png("blue", "y")),),
    ]
    queries = [Query(part, into="image", k=3 + place % 2) for place, part in enumerate(parts)]
    answers = searcher.answer_many(queries)
    assert [isinstance(answer, DiptychError) for answer in answers] == [False, True, False, False, False]
    for place in (0, 2, 4):
        alone = searcher.search(parts[place], into="image", k=queries[place].k)
        assert ids(answers[place]) == ids(alone)
        assert [h.score for h in answers[place].hits] == pytest.approx([h.score for h in alone.hits], abs=1e-5)
    assert answers[3].hits == () and answers[3].nothing_close and answers[3].ignored == ("zebra",)
    with pytest.raises(DataError, match="the given bytes: not an image"):
        searcher.search_many(parts)


@pytest.mark.parametrize(
    "parts",
    [
        [QueryPart("image", "/etc/passwd")],
        [QueryPart("image", b"")],
        [QueryPart("text", "  ")],
        [QueryPart("text", "x" * 200_000)],
        [QueryPart("text", 7)],
        [QueryPart("item", "../../index")],
        [QueryPart("item", "\0")],
        [QueryPart("sound", "x")],
        [QueryPart("text", "red", float("nan"))],
        [QueryPart("text", "red", float("inf"))],
        [],
    ],
)
def test_mistakes_are_told_without_a_path(searcher, fields, parts) -> None:
    with pytest.raises(DiptychError) as refused:
        searcher.search(parts)
    assert str(fields) not in str(refused.value) and "/tmp" not in str(refused.value)


def test_a_missing_file_is_named_and_its_place_is_not(searcher, tmp_path) -> None:
    with pytest.raises(DataError, match=r"gone\.png cannot be read") as refused:
        searcher.search([QueryPart("image", tmp_path / "gone.png")])
    assert str(tmp_path) not in str(refused.value)


def test_options_out_of_range_are_refused(searcher) -> None:
    red = [QueryPart("text", "red")]
    for options in ({"k": 0}, {"offset": -1}, {"into": "sound"}, {"min_probability": 1.5}):
        with pytest.raises(ConfigError):
            searcher.search(red, **options)


def test_an_index_says_what_it_is(searcher, fields) -> None:
    told = searcher.info()
    assert told["dataset"]["name"] == "fields" and told["model"]["method"] == "cca"
    assert told["modalities"] == {"image": 80, "text": 80} and told["items"] == 80 and told["entries"] == 160
    assert told["classes"]["red"] == 20 and told["splits"]["val"] == 16
    assert told["modes"] == ["hybrid", "vector", "lexical"]
    assert told["takes"] == ["image", "text"] and "text->image" in told["calibrated"]
    assert told["attribution"] == "Painted by nobody.\n" and len(told["examples"]) == 4
    assert str(fields) not in str(told)


def test_items_are_listed_page_by_page(searcher) -> None:
    first = searcher.list(modality="text", limit=50)
    rest = searcher.list(modality="text", after=first[-1].id, limit=50)
    assert len(first) == 50 and len(rest) == 30 and not {h.id for h in first} & {h.id for h in rest}
    hit = searcher.get("image:green-00")
    assert hit.metadata["item"] == "green-00" and hit.metadata["text"] == "a green wall in the light"
    assert hit.has_media and "media" not in hit.metadata and searcher.get("nothing") is None
    assert not searcher.get("text:green-00").has_media


def test_pictures_are_shown_of_indexed_items_alone(searcher, fields) -> None:
    small = Image.open(io.BytesIO(searcher.thumbnail("image:red-00")))
    assert small.format == "WEBP" and max(small.size) <= 256
    data, kind = searcher.original("image:red-00")
    assert kind == "image/png" and data == (fields / "raw" / "pictures" / "red-00.png").read_bytes()
    for id in ("text:red-00", "red-00", "pictures/red-00.png", "../raw/pictures/red-00.png", "\0"):
        assert searcher.thumbnail(id) is None and searcher.original(id) is None


def test_the_explore_view_places_every_item(searcher) -> None:
    points = searcher.projection()
    assert len(points) == 160 and {point["modality"] for point in points} == {"image", "text"}
    assert all(-1 <= point["x"] <= 1 and -1 <= point["y"] <= 1 for point in points)
    places = {colour: [(p["x"], p["y"]) for p in points if p["label"] == colour] for colour in COLOURS}
    centres = {colour: np.mean(found, axis=0) for colour, found in places.items()}
    nearest = [
        min(centres, key=lambda c: np.linalg.norm(np.subtract((p["x"], p["y"]), centres[c]))) == p["label"]
        for p in points
    ]
    assert np.mean(nearest) > 0.8


def test_a_reader_cannot_write(searcher) -> None:
    with pytest.raises(ConfigError, match="open for reading only"):
        searcher.remove(["image:red-00"])


def test_no_folder_no_index(tmp_path) -> None:
    with pytest.raises(DataError, match="is no index; run `diptych index"):
        Searcher.open(tmp_path)


def test_a_broken_road_does_not_close_the_others(searcher, monkeypatch, caplog):
    embed = type(searcher.generations.current.raw).embed

    def broken(raw, modality, items):
        if modality == "image":
            raise DataError("there is no file encoder.onnx.")
        return embed(raw, modality, items)

    monkeypatch.setattr(type(searcher.generations.current.raw), "embed", broken)
    searcher.warm()
    assert "cannot be asked with a new image: there is no file encoder.onnx" in caplog.text
    assert searcher.search([QueryPart("text", "red")], into="image").hits


def test_warming_up_takes_every_road_once(searcher, monkeypatch):
    taken, embed = [], type(searcher.generations.current.model).embed

    def noted(model, name, rows, purpose):
        taken.append((name, rows.shape[0]))
        return embed(model, name, rows, purpose)

    monkeypatch.setattr(type(searcher.generations.current.model), "embed", noted)
    searcher.warm()
    assert sorted(taken) == [("image", 1), ("text", 1)]


class TestWhatIsLookedFor:
    """A text and an image can be named; they are parts like any other."""

    def test_a_text_and_an_image_are_parts(self, fields, searcher) -> None:
        path = fields / "raw" / "pictures" / "red-00.png"
        for given, parts in [
            ({"text": "a red wall"}, [QueryPart("text", "a red wall")]),
            ({"image": path}, [QueryPart("image", path)]),
            ({"image": str(path)}, [QueryPart("image", path)]),
            ({"image": path.read_bytes()}, [QueryPart("image", path)]),
            ({"text": "a wall", "image": path}, [QueryPart("text", "a wall"), QueryPart("image", path)]),
        ]:
            assert searcher.search(k=5, **given).hits == searcher.search(parts, k=5).hits
        away = QueryPart("text", "a grey wall", -0.5)
        expected = searcher.search([away, QueryPart("text", "a red wall")], k=5).hits
        assert searcher.search([away], text="a red wall", k=5).hits == expected

    def test_a_bare_string_could_be_either(self, searcher) -> None:
        with pytest.raises(ConfigError, match=r"the query is the string 'red'; say what it is: search\(text=…\)"):
            searcher.search("red")
        with pytest.raises(ConfigError, match="the query is empty"):
            searcher.search()
