"""Labels: kept whole, with who and when, through CSV, backups and rebuilds."""

import csv
import io
from dataclasses import replace

import pytest

from diptych._core.errors import DataError
from diptych.data import Dataset
from diptych.search import backup_index, build_index, restore_backup
from diptych.teach import Label, LabelStore
from diptych.teach.labels import read_csv, write_csv


def test_a_later_answer_takes_the_place_of_an_earlier_one_and_both_are_remembered(own) -> None:
    with LabelStore(own) as store, LabelStore(own) as other:
        store.put([Label.now("a", " river ", who="ann"), Label.now("b", None, who="ann", answer="none")])
        seen = other.version
        other.put([Label.now("a", "pond", who="bob")])
        assert store.version > seen
        assert [(label.label, label.who, label.answer) for label in store.all().values()] == [
            ("pond", "bob", "class"),
            (None, "ann", "none"),
        ]
        assert store.remove(["a", "unknown"], "bob") == 1
        assert store.get(["a", "b"])[0] is None
        history = store._connection.execute("SELECT item, answer, label, who FROM history ORDER BY number").fetchall()
    assert history == [
        ("a", "class", "river", "ann"),
        ("b", "none", None, "ann"),
        ("a", "class", "pond", "bob"),
        ("a", "deleted", None, "bob"),
    ]


@pytest.mark.parametrize(
    ("label", "answer", "told"),
    [
        ("", "class", "no class"),
        ("x", "none", "has the class"),
        ("x" * 201, "class", "at most"),
        ("a\0", "class", "print"),
    ],
)
def test_a_bad_answer_is_refused_with_all_that_came_with_it(own, label, answer, told) -> None:
    with LabelStore(own) as store, pytest.raises(DataError, match=told):
        store.put([Label.now("good", "river", who="ann"), Label("bad", answer, label, "ann", "")])
    with LabelStore(own) as store:
        assert store.all() == {}


def test_a_table_comes_back_as_it_was_and_bad_lines_are_named(own) -> None:
    given = [
        Label("a,b", "class", 'say "cheese"', "ann", "2026-01-31T12:00:00.000Z", "imported"),
        Label("ü", "none", None, "bob", "2026-01-31T12:00:00.000Z", "imported"),
    ]
    assert read_csv(write_csv(given), "x") == (given, [])
    labels, problems = read_csv("item,label,time\na,river,\nb,pond,yesterday\n,x,\n", "carl")
    assert [(label.item, label.label, label.who) for label in labels] == [("a", "river", "carl")]
    assert [problem.line for problem in problems] == [3, 4] and "yesterday" in problems[0].message
    with pytest.raises(DataError, match="needs 'item'"):
        read_csv("id;label\n", "x")


def test_no_cell_of_an_exported_table_is_a_formula() -> None:
    hostile = ["=1+1", "+1", "-1", "@sum", "'=1+1", "''-x", "'s", "plane"]
    given = [replace(Label.now(name, name, who=name.lstrip("'")), source="imported") for name in hostile]
    table = write_csv(given)
    assert read_csv(table, "x") == (given, [])
    cells = [cell for row in csv.reader(io.StringIO(table)) for cell in row]
    assert len(cells) == 54 and not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("a,river,0001-01-01T00:00:00+14:00,", "the time '0001"),
        ("a,river,9999-12-31T23:59:59-14:00,", "the time '9999"),
        ('a,river,,"ann\nroot"', "by 'ann"),
        ("a,river,,a\0b", "by 'a"),
        (f"a,river,,{'x' * 201}", "at most 200 printable"),
        (f"{'ü' * 600},river,,", "longer name than any"),
    ],
)
def test_what_a_table_cannot_mean_is_a_bad_line_of_it(line, told) -> None:
    labels, problems = read_csv(f"item,label,time,who\n{line}\nb,pond,,\n", "carl")
    assert [label.item for label in labels] == ["b"]
    assert len(problems) == 1 and told in problems[0].message


def test_pages_of_labels_are_all_of_them_in_order(own) -> None:
    with LabelStore(own) as store:
        given = [Label.now(f"item-{n:03d}", ("river", "pond")[n % 2], who="ann") for n in range(25)]
        store.put([*given, Label.now("x", None, who="ann", answer="skip")])
        found, after, more = [], "", True
        while more:
            page, total, more = store.page(after=after, limit=5, label="pond")
            found, after = found + page, page[-1].item
            assert total == 12
        assert found == given[1::2]
        assert [one.item for one in store.page(answer="skip")[0]] == ["x"]
        assert store.page(after="x") == ([], 26, False)


def test_labels_outlive_a_rebuild_and_come_back_from_a_backup(own, tmp_path) -> None:
    with LabelStore(own) as store:
        store.put([Label.now("red-00", "red", who="ann")])
    build_index(tmp_path / "model", Dataset.open(tmp_path / "dataset"), own, overwrite=True)
    with LabelStore(own) as store:
        assert store.all()["red-00"].label == "red"
    backup_index(own, tmp_path / "kept.tar")
    restore_backup(tmp_path / "kept.tar", tmp_path / "again")
    with LabelStore(tmp_path / "again") as store:
        assert store.all()["red-00"].label == "red"
        store.put([Label.now("red-00", "crimson", who="bob"), Label.now("x", "y", who="bob")])
        before = store.version
    restore_backup(tmp_path / "kept.tar", tmp_path / "again", overwrite=True)
    with LabelStore(tmp_path / "again") as store:
        assert {item: label.label for item, label in store.all().items()} == {"red-00": "crimson", "x": "y"}
        assert store.version > before
