"""What the server relies on holds for the searcher of a built index and for the fake that most tests ask."""

import inspect
import typing

import pytest

from diptych._core.errors import DataError, DiptychError, UnknownItemError
from diptych.media import content_type
from diptych.search import Answer, NewItem, Query, QueryPart, Searcher, build_index
from diptych.serving.service import SearchBackend
from search.gallery import make, png
from serving import fake_searcher
from serving.coloured_shapes import Shape, image

METHODS = [name for name, of in vars(SearchBackend).items() if not name.startswith("_") and callable(of)]


@pytest.fixture(scope="module")
def gallery(tmp_path_factory):
    folder = tmp_path_factory.mktemp("contract")
    build_index(folder / "model", make(folder, components=4), folder / "index")
    return folder / "index"


@pytest.fixture(params=["real", "fake"])
def searcher(request, tmp_path):
    if request.param == "fake":
        opened = fake_searcher.filled(tmp_path)
    else:
        opened = Searcher.open(request.getfixturevalue("gallery"), writable=True)
    yield opened
    opened.close()


@pytest.fixture
def new_image(searcher) -> bytes:
    return png("red", "contract") if isinstance(searcher, Searcher) else image(Shape("red", "circle", "train"))


def text(words: str, **options) -> Query:
    return Query((QueryPart("text", words),), **options)


def answer(searcher, query: Query) -> Answer:
    (found,) = searcher.answer_many([query])
    assert isinstance(found, Answer), found
    return found


@pytest.mark.parametrize("name", METHODS)
def test_every_method_takes_what_the_protocol_says(name) -> None:
    wanted = inspect.signature(getattr(SearchBackend, name))
    for kind in (Searcher, fake_searcher.FakeSearcher):
        given = inspect.signature(getattr(kind, name))
        for parameter in wanted.parameters.values():
            assert given.parameters[parameter.name].kind == parameter.kind, (kind, name)
            assert given.parameters[parameter.name].default == parameter.default, (kind, name)


def test_the_protocol_has_what_the_server_calls() -> None:
    assert typing.get_type_hints(SearchBackend.answer_many) and len(METHODS) == 17


def test_text_finds_items_best_first_each_once(searcher) -> None:
    found = answer(searcher, text("red", k=5))
    assert len(found.hits) == 5 and len({hit.item for hit in found.hits}) == 5
    assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True)
    assert all(hit.metadata["label"] == "red" and set(hit.entries) == {"image", "text"} for hit in found.hits)
    assert all(0 <= hit.probability <= 1 for hit in found.hits) and found.closest is not None
    assert found.mode == "hybrid" and found.hits[0].why.words == ("red",)


def test_pages_laid_end_to_end_are_the_whole(searcher) -> None:
    whole = [hit.item for hit in answer(searcher, text("blue", k=8)).hits]
    pages = [hit.item for start in (0, 3, 6) for hit in answer(searcher, text("blue", k=3, offset=start)).hits]
    assert pages[:8] == whole


def test_images_and_items_are_asked_with_and_an_item_is_not_its_own_answer(searcher, new_image) -> None:
    by_image = answer(searcher, Query((QueryPart("image", new_image),), into="text", k=3))
    assert {hit.modality for hit in by_image.hits} == {"text"} and by_image.mode == "vector"
    assert {hit.metadata["label"] for hit in by_image.hits} == {"red"}
    first = by_image.hits[0]
    similar = answer(searcher, Query((QueryPart("item", first.id),), k=5))
    assert first.item not in {hit.item for hit in similar.hits} and len(similar.hits) == 5


def test_a_bad_query_is_an_error_in_its_place_and_spoils_no_other(searcher) -> None:
    asked = [text("red"), text("red", into="smell"), text("red", where="x ="), text("blue")]
    asked += [Query((QueryPart("item", "nothing"),)), Query((QueryPart("image", b"no image"),))]
    kinds = [isinstance(found, DiptychError) for found in searcher.answer_many(asked)]
    assert kinds == [False, True, True, False, True, True]


def test_a_condition_keeps_others_out(searcher) -> None:
    hits = answer(searcher, text("red", where="label = 'blue'", k=4)).hits
    assert len(hits) == 4 and {hit.metadata["label"] for hit in hits} == {"blue"}
    assert {hit.metadata["label"] for hit in searcher.list(where="label = 'green'", limit=4)} == {"green"}


def test_misspelled_words_are_corrected_and_unknown_ones_named(searcher) -> None:
    found = answer(searcher, text("bleu"))
    assert found.did_you_mean == "blue" and found.corrected and found.hits[0].metadata["label"] == "blue"
    assert "xylophonist" in answer(searcher, text("red xylophonist")).ignored
    assert "blue" in searcher.suggest("bl", 5)


def test_lists_go_on_after_the_last_id(searcher) -> None:
    first = searcher.list(modality="image", limit=3)
    rest = searcher.list(modality="image", after=first[-1].id, limit=3)
    ids = [hit.id for hit in [*first, *rest]]
    assert ids == sorted(set(ids)) and {hit.modality for hit in first} == {"image"}
    assert searcher.get(ids[0]).id == ids[0] and searcher.get("nothing") is None


def test_what_is_added_is_found_shown_and_gone_when_removed(searcher, new_image) -> None:
    item = NewItem("mine", "image", new_image, {"label": "red", "mine": 1})
    others = [hit.id for hit in searcher.list(limit=2)]
    assert searcher.add([item]) == 1
    with pytest.raises(DataError, match="already"):
        searcher.add([item])
    assert searcher.add([item], replace=True) == 1
    assert [hit.id for hit in answer(searcher, text("red", where="mine = 1")).hits] == ["mine"]
    assert searcher.original("mine") == (new_image, "image/png") and searcher.get("mine").has_media
    assert content_type(searcher.thumbnail("mine")) == "image/webp"
    assert searcher.remove(["mine", "nothing", "mine"]) == 1
    with pytest.raises(UnknownItemError, match="'mine'"):
        searcher.remove([others[0], "mine"], whole=True, missing_ok=False)
    assert searcher.get(others[0]) is not None
    assert searcher.get("mine") is None and searcher.thumbnail("mine") is None and searcher.original("mine") is None


def test_info_and_projection_speak_of_the_same_entries(searcher) -> None:
    info, points = searcher.info(), searcher.projection()
    assert {"dataset", "model", "classes", "splits", "examples", "takes", "modes", "purposes"} <= set(info)
    assert info["entries"] == len(points) == sum(info["modalities"].values())
    assert set(points[0]) == {"id", "modality", "label", "x", "y"}
    assert info["items"] * 2 == info["entries"]


def test_a_backup_is_a_file(searcher, tmp_path) -> None:
    written = searcher.backup(tmp_path / "backups" / "now.tar")
    assert written == tmp_path / "backups" / "now.tar" and written.stat().st_size
