"""Browsing, sorting, counting and editing whole items of a real index."""

import numpy as np
import pytest

from diptych._core.errors import ConfigError
from diptych.data import Dataset
from diptych.search import NewItem, Query, QueryPart, Searcher, build_index
from diptych.search.browse import sorted_hits
from diptych.search.thumbnails import signature
from search.gallery import picture, png


@pytest.fixture
def writable(own_index):
    with Searcher.open(own_index, writable=True) as opened:
        yield opened


def test_browsing_shows_each_item_once_in_pages_that_never_repeat(writable) -> None:
    pages = [writable.browse(offset=start, k=7) for start in range(0, 80, 7)]
    items = [hit.item for hits, _ in pages for hit in hits]
    assert len(items) == len(set(items)) == 80 and {total for _, total in pages} == {80}
    assert items == sorted(items) and all(set(hit.entries) == {"image", "text"} for hit in pages[0][0])
    some, total = writable.browse(where="label = 'red'", k=3)
    assert total == 20 and [hit.metadata["label"] for hit in some] == ["red"] * 3
    with pytest.raises(ConfigError, match="colour"):
        writable.browse(where="colour = 'red'")


def test_the_newest_come_first_and_numbers_in_names_count(writable) -> None:
    for name, date in (("b10", "2024-05-01"), ("b9", "2025-01-01")):
        writable.add([NewItem(name, "image", png("red", name), {"date": date, "title": name})])
    assert [hit.id for hit in writable.browse(sort="date", k=2)[0]] == ["b9", "b10"]
    names = [hit.id for hit in writable.browse(k=100)[0]]
    assert names.index("b9") + 1 == names.index("b10")
    answer = writable.search(text="red wall", sort="date", k=2)
    assert [hit.id for hit in answer.hits] == ["b9", "b10"] and answer.total == 82
    assert [hit.id for hit in sorted_hits(answer.hits, "name")] == ["b9", "b10"]


def test_counts_follow_the_query_and_changes(writable) -> None:
    everything, of = writable.facets(Query(()), ["label", "split"])
    assert everything["label"] == {"blue": 20, "green": 20, "grey": 20, "red": 20} and of == 80
    assert everything["split"]["train"] == 48
    some, of = writable.facets(Query((QueryPart("text", "wall"),), mode="lexical"), ["label"])
    assert some["label"] == {"blue": 5, "green": 5, "grey": 5, "red": 5} and of == 20
    writable.remove(["image:red-00"], whole=True)
    writable.add([NewItem("image:new", "image", png("red", "new"), {"label": "scarlet"})])
    changed, of = writable.facets(Query((), where="label in ('red', 'scarlet')"), ["label"])
    assert changed["label"] == {"red": 19, "scarlet": 1} and of == 20
    assert writable.get("text:red-00") is None
    with pytest.raises(ConfigError, match="not counted"):
        writable.facets(Query(()), ["text"])


def test_the_total_is_known_where_a_condition_is_set(writable) -> None:
    writable.browse(k=1)
    assert writable.search(text="red", where="label = 'blue'", k=3).total == 20


def test_an_edit_reaches_every_side_and_the_words(writable) -> None:
    changed = {"label": "crimson", "price": 3}
    assert writable.edit("image:red-00", text="a zebra on a crimson wall", metadata=changed) == 2
    found = writable.search(text="zebra", mode="lexical").hits
    assert [hit.item for hit in found] == ["red-00"]
    assert found[0].metadata["label"] == "crimson" and found[0].metadata["text"] == "a zebra on a crimson wall"
    assert writable.get("text:red-00").metadata["price"] == 3
    assert writable.thumbnail("image:red-00") is not None
    assert writable.edit("image:red-00", metadata={"price": None}) == 2
    assert "price" not in writable.get("image:red-00").metadata
    assert writable.search(text="zebra", mode="lexical", where="label = 'crimson'").total == 1
    assert writable.edit("nothing", metadata={"label": "x"}) == 0


def test_an_edit_of_an_image_of_the_dataset_survives_a_rebuild(fields, own_index) -> None:
    with Searcher.open(own_index, writable=True) as opened:
        opened.edit("image:red-00", text="a zebra on a wall", metadata={"label": "crimson"})
    build_index(fields / "model", Dataset.open(fields / "dataset"), own_index, overwrite=True)
    with Searcher.open(own_index) as opened:
        for id in ("image:red-00", "text:red-00"):
            assert opened.get(id).metadata["label"] == "crimson"
            assert opened.get(id).metadata["text"] == "a zebra on a wall"
        assert opened.thumbnail("image:red-00") is not None


def test_the_map_has_every_item_once_and_new_ones_among_their_kind(writable) -> None:
    drawn = writable.map()
    assert len(drawn.ids) == 80 and set(drawn.modalities) == {"image"}
    writable.add([NewItem("image:new", "image", png("red", "red-03"), {"label": "red"})])
    writable.edit("image:blue-00", metadata={"label": "navy"})
    again = writable.map()
    assert again.ids[-1] == "image:new" and again.labels[again.ids.index("image:blue-00")] == "navy"
    twin = again.positions[again.ids.index("image:red-03")]
    apart = np.linalg.norm(again.positions - twin, axis=1)
    assert apart[-1] <= np.quantile(apart, 0.25)


def test_a_signature_tells_a_copy_from_another_image() -> None:
    one = np.asarray(picture("red", "one", side=200))
    resized = np.asarray(picture("red", "one", side=200).resize((120, 120)))
    other = np.asarray(picture("blue", "one", side=200))
    digits = [np.frombuffer(bytes.fromhex(signature(each)), np.uint8) for each in (one, resized, other)]
    bits = [np.unpackbits(each[:8]).astype(int) for each in digits]
    colours = [each[8:].astype(int) for each in digits]
    # The page takes at most 3 bits and 5 levels of colour for the same image.
    assert np.abs(bits[0] - bits[1]).sum() <= 3 and np.abs(colours[0] - colours[1]).max() <= 5
    assert np.abs(bits[0] - bits[2]).sum() > 3 or np.abs(colours[0] - colours[2]).max() > 5


def test_signatures_are_those_of_images_only(writable) -> None:
    found = writable.signatures(["image:red-00", "text:red-00", "nothing", "image:red-00"])
    assert found[0] == found[3] and len(found[0]) == 40 and found[1:3] == [None, None]
