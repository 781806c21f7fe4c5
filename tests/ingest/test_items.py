"""Items from rows: one for each image, with all its captions."""

import pytest

from diptych.data.tables import Row, Table
from diptych.ingest.columns import Columns
from diptych.ingest.items import caption_items, gather_items

COLUMNS = Columns({"image": "image"}, "text", "label", "split")


def gather(rows, columns=COLUMNS):
    table = Table("t.csv", ("image", "text"), [Row(number, cells) for number, cells in enumerate(rows, start=2)])
    return gather_items(table, columns)


def test_rows_of_one_image_are_one_item() -> None:
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


def test_texts_are_cleaned_and_captions_that_repeat_stay() -> None:
    """A caption that two people wrote counts twice, as the release of a data set has it."""
    (item,) = gather(
        [{"image": "a", "text": ["<b>one</b> &amp; two", "x &lt; 3", "x < 3"], "label": "A &amp; B"}]
    ).items.values()
    assert item.texts == ("one & two", "x < 3", "x < 3") and item.label == "A & B"


def test_several_columns_are_one_text() -> None:
    columns = Columns({"image": "image"}, ("title", "text", "tags"))
    rows = [
        {"image": "a", "title": "Mug", "text": "A mug of clay", "tags": ["red", "clay"]},
        {"image": "b", "title": "A mug", "text": "A mug of tin"},
        {"image": "c", "title": "Cup", "text": None},
    ]
    table = Table("t.csv", ("image", "title", "text", "tags"), [Row(n, cells) for n, cells in enumerate(rows, start=2)])
    items = gather_items(table, columns).items.values()
    assert [item.texts for item in items] == [("Mug\nA mug of clay\nred\nclay",), ("A mug of tin",), ("Cup",)]
    assert [item.metadata["title"] for item in items] == ["Mug", "A mug", "Cup"]


def test_other_columns_keep_their_types() -> None:
    """Numbers are numbers, codes with zeros in front are not, lists stay lists, and what is too long goes."""
    rows = [
        {"image": f"{n}", "price": f"{n}.5", "stock": str(n), "code": f"00{n}", "new": "True", "tags": '["a", "b"]'}
        | {"mixed": n if n else "x", "label_x": None, "long": "y" * 20_000 if n else "short", "has_x": n, "media": "m"}
        for n in range(3)
    ]
    table = Table("t.csv", tuple(rows[0]), [Row(n, cells) for n, cells in enumerate(rows, start=2)])
    gathered = gather_items(table, Columns({"image": "image"}))
    assert gathered.items["1"].metadata == {
        "price": 1.5,
        "stock": 1,
        "code": "001",
        "new": True,
        "tags": ["a", "b"],
        "mixed": "1",
        "long": None,
        "x_column": 1,
        "media_column": "m",
    }
    assert [str(problem) for problem in gathered.problems] == [
        "t.csv, column 'has_x': has a name that is reserved and is kept as 'x_column'",
        "t.csv, column 'media': has a name that is reserved and is kept as 'media_column'",
        "t.csv, column 'long': has 2 values of more than 10,000 bytes, which are left out",
    ]


def test_an_id_column_decides_what_belongs_together() -> None:
    columns = Columns({"image": "image"}, "text", id="id")
    rows = [{"id": 1, "image": "a.jpg", "text": "x"}, {"id": 2, "image": "a.jpg"}, {"id": 1, "image": "z.jpg"}]
    gathered = gather(rows, columns)
    assert list(gathered.items) == ["1", "2"]
    (problem,) = gathered.problems
    assert problem.kind == "row" and problem.reason == "has the id '1' of t.csv, line 2 but another image"


def test_missing_parts_and_empty_rows() -> None:
    gathered = gather([{"text": "alone"}, {"image": "b.jpg", "text": float("nan")}, {"image": " ", "text": ""}])
    first, second = gathered.items.values()
    assert (first.id, first.image, first.texts) == ("row-2", None, ("alone",))
    assert (second.id, second.image, second.texts) == ("b.jpg", "b.jpg", ())
    assert [str(problem) for problem in gathered.problems] == ["t.csv, line 4: has neither an image nor a text"]


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
    columns = Columns({"image": "image"}, "text", id="id")
    rows = [{"id": "a", "image": "a", "text": ["one", "two"]}, {"id": "b", "image": "b"}, {"id": "c", "text": "three"}]
    items = caption_items(gather(rows, columns).items.values(), captions)
    assert [(item.id, item.image, item.texts) for item in items] == expected
    assert [item.document for item in items] == [item.id.split("#")[0] for item in items]


def test_lone_surrogates_cannot_break_what_is_written() -> None:
    item = next(iter(gather([{"image": "a", "text": "x\ud800y"}]).items.values()))
    assert item.texts == ("x?y",)
