import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diptych.ingest import IngestOptions
from diptych.media import Place
from diptych.up import Manifest, SourceItem, changes_since, read_source, reason_to_fit_again, sync
from diptych.up.folder import FittedItem
from search.gallery import png, write_raw
from up.fake_index import FakeIndex


@pytest.fixture
def table(tmp_path):
    return write_raw(tmp_path / "raw", per_colour=10)


@pytest.fixture
def manifest(tmp_path):
    with Manifest(tmp_path / "up.sqlite") as opened:
        yield opened


def rows(table):
    return [json.loads(line) for line in table.read_text().splitlines()]


def write(table, found):
    table.write_text("".join(json.dumps(row) + "\n" for row in found))


def bring(table, index, manifest, **options):
    source = read_source(IngestOptions(table, table.parent / "out"))
    changes = changes_since(manifest.indexed(), source.items)
    sync(changes, source, index, manifest, **options)
    return changes


def test_an_index_follows_its_source_and_only_what_changed_is_written(table, manifest):
    index = FakeIndex()
    assert bring(table, index, manifest).new == 40
    assert len(index.entries) == 80
    red = index.entries["image:red-00"]
    assert red.value == png("red", "red-00")
    assert red.metadata == {
        "item": "red-00",
        "document": "red-00",
        "label": "red",
        "split": "train",
        "text": "a red wall in the light",
    }
    found = rows(table)
    found[0]["text"] = "a carmine wall"
    gone = found.pop(7)
    found.append(found[1] | {"id": "new", "text": "a rosy cloth"})
    write(table, found)
    index.added.clear()
    changes = bring(table, index, manifest)
    assert str(changes) == "1 new, 1 changed, 1 removed"
    assert [sorted(ids) for ids in index.added] == [["image:new", "image:red-00", "text:new", "text:red-00"]]
    assert index.texts() == {row["id"]: row["text"] for row in found}
    assert f"image:{gone['id']}" not in index.entries
    assert not bring(table, index, manifest)


def test_a_side_that_an_item_loses_is_removed(table, manifest):
    index = FakeIndex()
    bring(table, index, manifest)
    (table.parent / "pictures" / "red-00.png").unlink()
    found = rows(table)
    found[1]["text"] = ""
    write(table, found)
    bring(table, index, manifest)
    assert "image:red-00" not in index.entries and "text:red-00" in index.entries
    assert "text:red-01" not in index.entries and "image:red-01" in index.entries


def test_what_cannot_be_added_is_told_once_and_the_rest_is_in(table, manifest):
    broken = table.parent / "pictures" / "red-03.png"
    whole = broken.read_bytes()
    broken.write_bytes(b"no image")
    index = FakeIndex(lambda item: "it cannot be decoded" if item.value == b"no image" else None)
    problems = []
    bring(table, index, manifest, problem=problems.append)
    assert [str(problem) for problem in problems] == ["image:red-03: it cannot be decoded"]
    assert len(index.entries) == 79 and "text:red-03" in index.entries
    assert not bring(table, index, manifest, problem=problems.append)
    broken.write_bytes(whole)
    assert str(bring(table, index, manifest, problem=problems.append)) == "1 changed"
    assert len(index.entries) == 80 and len(problems) == 1


def test_after_an_end_in_the_middle_the_rest_is_done(table, manifest):
    index = FakeIndex()

    class KilledError(Exception):
        """The process ends here."""

    def killed(item):
        if item.id == "text:blue-05":
            raise KilledError

    index.refused = killed
    with pytest.raises(KilledError):
        bring(table, index, manifest)
    done = set(manifest.indexed())
    assert 0 < len(done) < 40 and {f"text:{id}" for id in done} <= set(index.entries)
    index.refused, index.added = (lambda item: None), []
    bring(table, index, manifest)
    assert len(index.entries) == 80
    written = {id.partition(":")[2] for ids in index.added for id in ids}
    assert not written & done


def test_it_ends_between_batches_when_told(table, manifest):
    index = FakeIndex()
    bring(table, index, manifest, stopped=lambda: bool(index.added))
    assert len(index.added) == 1 and len(manifest.indexed()) == 16


def item(id, text="a text", label="red", size=1):
    return SourceItem(
        id, id, text, {"image": Place(f"{id}.png", size, 7)}, (label,) if label else (), None, {"price": 3}
    )


def items(*ids):
    return {id: item(id) for id in ids}


def fitted(found):
    return {one.id: FittedItem(one.content, one.labels) for one in found.values()}


@pytest.mark.parametrize(
    "change",
    [
        {"text": "another"},
        {"text": None},
        {"files": {}},
        {"files": {"image": Place("x.png", 2, 7)}},
        {"files": {"image": Place("x.png", 1, 8)}},
        {"labels": ("blue",)},
        {"split": "train"},
        {"metadata": {"price": 4}},
        {"document": "y"},
    ],
)
def test_a_signature_changes_with_every_part_of_an_item(change):
    before = replace(item("x"), files={"image": Place("x.png", 1, 7)})
    assert replace(before, **change).signature != before.signature
    assert replace(before).signature == before.signature


def test_a_signature_is_that_of_values_not_of_the_types_of_their_columns():
    before = replace(item("x"), metadata={"price": 3, "name": "mug", "new": None, "size": "7"})
    same = replace(before, metadata={"price": 3.0, "name": "mug", "size": 7})
    assert same.signature == before.signature
    assert replace(before, metadata={"price": 3, "name": "jug", "size": "7"}).signature != before.signature
    assert replace(before, metadata={}).content == before.content
    assert replace(before, labels=("blue",)).content == before.content


@given(st.dictionaries(st.text(max_size=3), st.integers(0, 2)), st.dictionaries(st.text(max_size=3), st.integers(0, 2)))
def test_changes_lead_from_what_was_to_what_is(before, after):
    was = {id: item(id, size=size) for id, size in before.items()}
    now = {id: item(id, size=size) for id, size in after.items()}
    changes = changes_since({id: one.signature for id, one in was.items()}, now)
    result = {id: one for id, one in was.items() if id not in changes.removed}
    assert not set(changes.removed) & set(now)
    assert changes.new == len(set(now) - set(was))
    result |= {one.id: one for one in changes.written}
    assert result == now
    assert bool(changes) == (was != now)
    assert len(changes.written) == sum(was.get(id) != one for id, one in now.items())  # and nothing else is touched


MANY = [f"i{number:03d}" for number in range(100)]


def test_small_changes_keep_the_model():
    known = fitted(items(*MANY))
    assert reason_to_fit_again(known, items(*MANY)) is None
    assert reason_to_fit_again(known, items(*MANY, *(f"new{number}" for number in range(20)))) is None
    assert reason_to_fit_again(known, items(*MANY[20:])) is None
    some = items(*MANY) | {id: item(id, text="changed") for id in MANY[:20]}
    assert reason_to_fit_again(known, some) is None
    relabelled = items(*MANY[5:]) | {id: item(id, label=None) for id in MANY[:5]}
    assert reason_to_fit_again(known, relabelled) is None


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (items(*MANY, *(f"new{number}" for number in range(21))), "21 items are new, changed or removed"),
        (items(*MANY[21:]), "21 items are new, changed or removed"),
        (items(*MANY) | {id: item(id, text="changed") for id in MANY[:21]}, "21 items are new, changed or removed"),
        (items(*MANY) | {"x": item("x", label="blue")}, "the label 'blue' is new"),
        ({id: item(id, label=None) for id in MANY}, "the label 'red' is no longer used"),
        (items(*MANY) | {id: item(id, label=None) for id in MANY[:6]}, "6 of 100 known items have other labels"),
    ],
)
def test_large_changes_fit_it_again_and_say_why(now, reason):
    assert reason in reason_to_fit_again(fitted(items(*MANY)), now)


def test_a_manifest_keeps_what_was_fitted_and_what_is_indexed(tmp_path):
    found = items("a", "b", "c")
    with Manifest(tmp_path / "up.sqlite") as manifest:
        manifest.plan(found)
        assert manifest.is_planned() and manifest.fitted() == {}
        manifest.ingested("f1")
        assert not manifest.is_planned()
        assert manifest.indexed() == {}
        manifest.built()
        manifest.changed([item("b", text="new"), item("d")])
        manifest.removed(["a"])
        manifest.note("source", "/somewhere")
    with Manifest(tmp_path / "up.sqlite") as manifest:
        assert (manifest.fact("dataset"), manifest.fact("source"), manifest.fact("moon")) == ("f1", "/somewhere", None)
        assert manifest.fitted() == fitted(found)
        expected = {"b": item("b", text="new"), "c": item("c"), "d": item("d")}
        assert manifest.indexed() == {id: one.signature for id, one in expected.items()}
        manifest.plan(items("never"))
        manifest.plan(items("z"))
        assert manifest.fitted() == fitted(found)
        manifest.ingested("f2")
        assert (list(manifest.fitted()), manifest.indexed(), manifest.fact("dataset")) == (["z"], {}, "f2")
