"""Items from rows: one for each picture, with all its captions."""

import pytest

from diptych.ingest.columns import Columns
from diptych.ingest.items import caption_items, gather_items
from diptych.ingest.tables import Row, Table

COLUMNS = Columns("image", "text", "label", "split")


def gather(rows, columns=COLUMNS):
    table = Table("t.csv", ("image", "text"), [Row(number, cells) for number, cells in enumerate(rows, start=2)])
    return gather_items(table, columns)


def test_rows_of_one_picture_are_one_item() -> None:
    gathered = gather(
        [
            {"image": "a.jpg", "text": "one", "label": "x", "split": "train"},
            {"image": "b.jpg", "text": ["two", " ", None, "three"]},
            {"image": "a.jpg", "text": "four", "label": "x", "split": "train"},
            {"image": "a.jpg", "text": "one"},
        ]
    )
    items = list(gathered.items.values())
    assert [(item.id, item.texts, item.label) for item in items] == [
        ("a.jpg", ("one", "four"), "x"),
        ("b.jpg", ("two", "three"), None),
    ]
    assert not gathered.problems


def test_an_id_column_decides_what_belongs_together() -> None:
    columns = Columns("image", "text", id="id")
    rows = [{"id": 1, "image": "a.jpg", "text": "x"}, {"id": 2, "image": "a.jpg"}, {"id": 1, "image": "z.jpg"}]
    gathered = gather(rows, columns)
    assert list(gathered.items) == ["1", "2"]
    (problem,) = gathered.problems
    assert problem.kind == "row" and problem.reason == "has the id '1' of t.csv, line 2 but another picture"


def test_missing_parts_and_empty_rows() -> None:
    gathered = gather([{"text": "alone"}, {"image": "b.jpg", "text": float("nan")}, {"image": " ", "text": ""}])
    first, second = gathered.items.values()
    assert (first.id, first.picture, first.texts) == ("row-2", None, ("alone",))
    assert (second.id, second.picture, second.texts) == ("b.jpg", "b.jpg", ())
    assert [str(problem) for problem in gathered.problems] == ["t.csv, line 4: has neither a picture nor a text"]


def test_rows_that_disagree_are_noted() -> None:
    gathered = gather([{"image": "a", "text": "x", "split": "train"}, {"image": "a", "text": "y", "split": "test"}])
    assert gathered.items["a"].split == "train"
    assert gathered.problems[0].reason == "gives 'a' the split 'test'; that of t.csv, line 2 is kept"


@pytest.mark.parametrize(
    ("captions", "expected"),
    [
        ("join", [("a", "a", ("one\ntwo",)), ("b", "b", ()), ("c", None, ("three",))]),
        ("first", [("a", "a", ("one",)), ("b", "b", ()), ("c", None, ("three",))]),
        ("each", [("a#1", "a", ("one",)), ("a#2", None, ("two",)), ("b", "b", ()), ("c", None, ("three",))]),
    ],
)
def test_captions(captions, expected) -> None:
    columns = Columns("image", "text", id="id")
    rows = [{"id": "a", "image": "a", "text": ["one", "two"]}, {"id": "b", "image": "b"}, {"id": "c", "text": "three"}]
    items = caption_items(gather(rows, columns).items.values(), captions)
    assert [(item.id, item.picture, item.texts) for item in items] == expected
    assert [item.document for item in items] == [item.id.split("#")[0] for item in items]


def test_lone_surrogates_cannot_break_what_is_written() -> None:
    item = next(iter(gather([{"image": "a", "text": "x\ud800y"}]).items.values()))
    assert item.texts == ("x?y",)
