"""Items come and go."""

import io

import pytest
from PIL import Image

from diptych._core.errors import DataError, DiptychError
from diptych.search import NewItem, QueryPart, Searcher
from search.gallery import picture, png


def found(searcher, part, into="image", k=200):
    return [hit.id for hit in searcher.search([part], into=into, k=k).hits]


def test_a_new_picture_is_found_at_once_and_after_opening_again(own, own_index) -> None:
    data = png("green", "a new one")
    assert own.add([NewItem("mine", "image", data, {"label": "green", "split": "own"})]) == 1
    assert found(own, QueryPart("image", data))[0] == "mine"
    assert "mine" in found(own, QueryPart("text", "green"), k=21)
    hit = own.get("mine")
    assert hit.metadata == {"item": "mine", "label": "green", "split": "own", "has_media": True}
    assert own.original("mine") == (data, "image/png")
    assert Image.open(io.BytesIO(own.thumbnail("mine"))).format == "WEBP"
    with Searcher.open(own_index) as again:
        assert found(again, QueryPart("image", data))[0] == "mine" and again.thumbnail("mine") is not None
        assert "mine" in {point["id"] for point in again.projection()}


def test_new_words_are_found(own) -> None:
    own.add([NewItem("note", "text", "a grey tile", {})])
    hit = own.search([QueryPart("text", "a grey tile")], into="text", k=1).hits[0]
    assert hit.id == "note" and hit.metadata["text"] == "a grey tile"


def test_what_is_removed_is_gone_at_once(own, own_index) -> None:
    with Searcher.open(own_index) as other:
        red = QueryPart("text", "red")
        assert "image:red-00" in found(other, red)
        assert own.remove(["image:red-00", "image:never"]) == 1
        for searcher in (own, other):
            assert "image:red-00" not in found(searcher, red) and searcher.get("image:red-00") is None
            assert searcher.thumbnail("image:red-00") is None and searcher.original("image:red-00") is None
            assert "image:red-00" not in {point["id"] for point in searcher.projection()}
            assert searcher.info()["modalities"]["image"] == 79
    assert own.generations.current.store.count() == 79


def test_an_id_is_replaced_only_when_asked(own) -> None:
    first, second = png("red", "one"), png("blue", "two")
    own.add([NewItem("mine", "image", first, {})])
    with pytest.raises(DataError, match="'mine' is already in the index"):
        own.add([NewItem("mine", "image", second, {})])
    assert own.original("mine")[0] == first
    own.add([NewItem("mine", "image", second, {"label": "blue"})], replace=True)
    assert own.original("mine")[0] == second and own.generations.current.store.count() == 81
    assert "mine" in found(own, QueryPart("text", "blue"), k=21)
    own.add([NewItem("mine", "text", "a red wall", {})], replace=True)
    assert (
        own.get("mine").modality == "text"
        and own.thumbnail("mine") is None
        and own.generations.current.store.count() == 80
    )


def test_all_are_added_or_none(own) -> None:
    good = NewItem("good", "image", png("red", "g"), {})
    for bad in (
        NewItem("bad", "image", b"no picture", {}),
        NewItem("bad", "text", "zebra", {}),
        NewItem("bad", "text", "", {}),
        NewItem("good", "text", "red", {}),
        NewItem("", "text", "red", {}),
        NewItem("x" * 2000, "text", "red", {}),
        NewItem("bad", "image", "/etc/passwd", {}),
        NewItem("bad", "sound", b"", {}),
        NewItem("bad", "text", "red", {"media": "0" * 32}),
        NewItem("bad", "text", "red", {"has_media": True}),
        NewItem("bad", "text", "red", {"id": 3}),
        NewItem("bad", "text", "red", ["no object"]),
    ):
        with pytest.raises(DiptychError) as refused:
            own.add([good, bad])
        assert "/tmp" not in str(refused.value)
        assert own.get("good") is None and own.thumbnail("good") is None and own.count() == 160


def test_where_the_original_changed_or_is_gone_the_thumbnail_is_shown(own, own_index) -> None:
    file = own_index.parent / "raw" / "pictures" / "red-05.png"
    small = own.thumbnail("image:red-05")
    assert own.original("image:red-05") == (file.read_bytes(), "image/png")
    picture("blue", "other").save(file)
    assert own.original("image:red-05") == (small, "image/webp")
    file.unlink()
    assert own.original("image:red-05") == (small, "image/webp")


def test_adding_nothing_is_nothing(own) -> None:
    assert own.add([]) == 0 and own.remove([]) == 0


def test_a_full_disk_after_an_item_was_removed_is_no_error(own, monkeypatch, caplog) -> None:
    """What the caller asked for is done; an image that no item has is shown to nobody."""

    def full(images):
        raise DataError("the disk is full")

    monkeypatch.setattr(own.generations.current.store, "drop", full)
    assert own.remove(["image:red-00"]) == 1
    assert own.get("image:red-00") is None and own.thumbnail("image:red-00") is None
    assert "the disk is full" in caplog.text


def test_an_item_that_cannot_be_removed_is_still_found_by_its_words(own, monkeypatch) -> None:
    def full(ids):
        raise DataError("the disk is full")

    before = found(own, QueryPart("text", "red"), into="text")
    monkeypatch.setattr(own.generations.current.index, "_delete", full)
    with pytest.raises(DataError, match="the disk is full"):
        own.remove(["text:red-00"])
    assert own.get("text:red-00") is not None
    assert found(own, QueryPart("text", "red"), into="text") == before
