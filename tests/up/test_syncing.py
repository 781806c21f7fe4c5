import json

import pytest

from diptych.ingest import IngestOptions
from diptych.up import Manifest, changes_since, read_source, sync
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
