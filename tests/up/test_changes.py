from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diptych.media import Place
from diptych.up import Manifest, SourceItem, changes_since, reason_to_fit_again
from diptych.up.manifest import Fitted


def item(id, text="a text", label="red", size=1):
    return SourceItem(id, id, text, Place(f"{id}.png", size, 7), (label,) if label else (), None, {"price": 3})


def items(*ids):
    return {id: item(id) for id in ids}


def fitted(found):
    return {one.id: Fitted(one.content, one.labels) for one in found.values()}


@pytest.mark.parametrize(
    "change",
    [
        {"text": "another"},
        {"text": None},
        {"image": None},
        {"image": Place("x.png", 2, 7)},
        {"image": Place("x.png", 1, 8)},
        {"labels": ("blue",)},
        {"split": "train"},
        {"metadata": {"price": 4}},
        {"document": "y"},
    ],
)
def test_a_signature_changes_with_every_part_of_an_item(change):
    before = replace(item("x"), image=Place("x.png", 1, 7))
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
        (items(*MANY, *(f"new{number}" for number in range(21))), "21 items are new, changed or gone"),
        (items(*MANY[21:]), "21 items are new, changed or gone"),
        (items(*MANY) | {id: item(id, text="changed") for id in MANY[:21]}, "21 items are new, changed or gone"),
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
