import builtins
import threading
import time
from contextlib import contextmanager

import pytest

from diptych.ingest import IngestOptions
from diptych.up import Follower, Manifest, SearchFolder, read_source
from diptych.up.watch import WatchedFiles, wait_for_change
from search.gallery import png, write_raw
from up.fake_index import FakeIndex
from up.test_sync import bring, rows, write


@pytest.fixture
def table(tmp_path):
    pairs = write_raw(tmp_path / "raw", per_colour=5)
    return read_source(IngestOptions(pairs, tmp_path / "out"))


@pytest.fixture
def tree(tmp_path):
    for colour in ("red", "blue"):
        (tmp_path / "tree" / colour).mkdir(parents=True)
        for number in range(3):
            (tmp_path / "tree" / colour / f"{number}.png").write_bytes(png(colour, number))
            (tmp_path / "tree" / colour / f"{number}.txt").write_text(f"a {colour} wall")
    return read_source(IngestOptions(tmp_path / "tree", tmp_path / "out"))


def change_image(root):
    next(root.rglob("*.png")).write_bytes(b"else")


def delete_image(root):
    next(root.rglob("*.png")).unlink()


CHANGES = {"changed": change_image, "deleted": delete_image}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", ["table", "tree"])
def test_a_stamp_tells_of_every_change(request, kind, change, tmp_path):
    source = request.getfixturevalue(kind)
    watched = WatchedFiles.of(source, tmp_path / "out")
    before = watched.stamp()
    assert watched.stamp() == before
    CHANGES[change](source.root)
    assert watched.stamp() != before


def test_a_table_that_is_written_counts_and_files_elsewhere_do_not(table, tmp_path):
    watched = WatchedFiles.of(table, tmp_path / "out")
    before = watched.stamp()
    (table.root / "holiday").mkdir()
    after = watched.stamp()
    assert after != before  # which costs one look
    (table.root / "holiday" / "sun.png").write_bytes(b"none of its business")
    assert watched.stamp() == after
    table.path.write_text(table.path.read_text().replace("red wall", "red door"))
    assert watched.stamp() != after


def test_an_image_that_is_named_and_missing_is_waited_for(table, tmp_path):
    missing = table.root / "pictures" / "red-00.png"
    missing.unlink()
    watched = WatchedFiles.of(read_source(table.plan.options), tmp_path / "out")
    before = watched.stamp()
    missing.write_bytes(png("red", 0))
    assert watched.stamp() != before


def test_the_search_itself_does_not_count(tree, tmp_path):
    inside = tree.path / "made"
    watched = WatchedFiles.of(tree, inside)
    before = watched.stamp()
    inside.mkdir()
    (inside / "index").write_bytes(b"1")
    assert watched.stamp() == before


def without_watchfiles(monkeypatch):
    true_import = builtins.__import__

    def refuse(name, *rest):
        if name == "watchfiles":
            raise ImportError(name)
        return true_import(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("kind", ["table", "tree"])
def test_a_change_ends_the_wait_within_seconds_and_the_end_too(request, monkeypatch, tmp_path, kind, told):
    if not told:
        without_watchfiles(monkeypatch)
    source = request.getfixturevalue(kind)
    watched, ending = WatchedFiles.of(source, tmp_path / "out"), threading.Event()
    threading.Timer(0.5, change_image, [source.root]).start()
    started = time.monotonic()
    assert wait_for_change(watched, watched.stamp(), ending)
    assert 0.5 <= time.monotonic() - started < 30
    threading.Timer(0.3, ending.set).start()
    assert not wait_for_change(watched, watched.stamp(), ending)


def test_what_changed_before_the_wait_began_is_found(table, tmp_path):
    watched = WatchedFiles.of(table, tmp_path / "out")
    before = watched.stamp()
    change_image(table.root)
    assert wait_for_change(watched, before, threading.Event())


def test_a_file_that_is_being_written_is_waited_for(table, tmp_path):
    watched = WatchedFiles.of(table, tmp_path / "out")
    before, image = watched.stamp(), next(table.root.rglob("*.png"))
    done = threading.Event()

    def write_slowly():
        with image.open("wb") as file:
            for _ in range(6):
                file.write(b"some")
                file.flush()
                time.sleep(0.3)
        done.set()

    thread = threading.Thread(target=write_slowly)
    thread.start()
    assert wait_for_change(watched, before, threading.Event())
    assert done.is_set()
    thread.join()


@contextmanager
def following(path, folder, index):
    """A follower at work; what it says."""
    said, ending = [], threading.Event()
    options = IngestOptions(path, folder.dataset)
    follower = Follower(folder, lambda: read_source(options), index, ending, said.append)
    thread = threading.Thread(target=follower.follow, args=[read_source(options)])
    thread.start()
    try:
        yield said
    finally:
        ending.set()
        thread.join(30)
        assert not thread.is_alive()


def until(holds, seconds=40):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "search").mkdir()
    return SearchFolder(tmp_path / "search")


def test_a_table_is_followed(tmp_path, folder):
    table, index = write_raw(tmp_path / "raw", per_colour=5), FakeIndex()
    with following(table, folder, index) as said:
        until(lambda: len(index.entries) == 40)  # what happened before it began
        found = rows(table)
        found[0]["text"] = "a carmine wall"
        found.append(
            {"id": "new", "image": "pictures/late.png", "text": "a late guest", "label": "red", "split": "val"}
        )
        write(table, found[:3] + found[4:])
        until(lambda: index.texts() == {row["id"]: row["text"] for row in found if row is not found[3]})
        assert "image:new" not in index.entries
        (table.parent / "pictures" / "late.png").write_bytes(png("red", "late"))
        until(lambda: "image:new" in index.entries)
        until(lambda: "1 changed: new" in said)
    assert "1 new, 1 changed, 1 removed: red-00, new, red-03" in said


def test_a_folder_of_images_with_texts_is_followed(tmp_path, folder):
    tree, index = tmp_path / "tree", FakeIndex()
    for colour in ("red", "blue"):
        (tree / colour).mkdir(parents=True)
        for number in range(3):
            (tree / colour / f"{number}.png").write_bytes(png(colour, number))
            (tree / colour / f"{number}.txt").write_text(f"a {colour} wall, number {number}")
    with following(tree, folder, index):
        until(lambda: len(index.entries) == 12)
        (tree / "red" / "9.png").write_bytes(png("red", 9))
        (tree / "red" / "9.txt").write_text("a ninth wall")
        (tree / "red" / "0.txt").write_text("a crimson wall")
        (tree / "blue" / "1.png").unlink()
        (tree / "blue" / "1.txt").unlink()
        expected = {"red/9.png": "a ninth wall", "red/0.png": "a crimson wall", "blue/2.png": "a blue wall, number 2"}
        until(lambda: index.texts().items() >= expected.items() and "image:blue/1.png" not in index.entries)
        assert len(index.entries) == 12


def test_a_table_that_is_being_written_anew_loses_nothing(tmp_path, folder, monkeypatch):
    monkeypatch.setattr("diptych.up.watch._SECOND_LOOK_S", 3.0)
    table, index = write_raw(tmp_path / "raw", per_colour=5), FakeIndex()
    with following(table, folder, index) as said:
        until(lambda: len(index.entries) == 40)
        index.removed.clear()
        found = rows(table)
        write(table, found[:2])
        time.sleep(2)  # long enough to be settled
        write(table, found)
        time.sleep(3)
        assert len(index.entries) == 40 and not index.removed, said
        table.unlink()
        until(lambda: any("there is no" in sentence for sentence in said))
        write(table, found[1:])
        until(lambda: len(index.entries) == 38)


def test_a_broken_image_is_told_once_and_taken_when_it_is_whole(tmp_path, folder):
    table = write_raw(tmp_path / "raw", per_colour=5)
    index = FakeIndex(lambda item: "cannot be decoded" if item.value == b"half" else None)
    image = table.parent / "pictures" / "red-00.png"
    with following(table, folder, index) as said:
        until(lambda: len(index.entries) == 40)
        image.write_bytes(b"half")
        until(lambda: "image:red-00: cannot be decoded" in said)
        found = rows(table)
        found[4]["text"] = "another"
        write(table, found)
        until(lambda: index.texts()["red-04"] == "another")
        image.write_bytes(png("red", "new"))
        until(lambda: "image:red-00" in index.entries)
    assert said.count("image:red-00: cannot be decoded") == 1


def test_a_write_that_fails_for_the_index_is_tried_again(tmp_path, folder):
    table, fails = write_raw(tmp_path / "raw", per_colour=5), [True]

    def refused(item):
        if fails:
            raise RuntimeError("the disk is full")

    index = FakeIndex(refused)
    with following(table, folder, index) as said:
        until(lambda: said)
        fails.clear()
        until(lambda: len(index.entries) == 40)
    assert sum("the disk is full" in sentence for sentence in said) == 1


def test_it_says_when_the_model_should_be_fitted_again(tmp_path, folder):
    table, index = write_raw(tmp_path / "raw", per_colour=5), FakeIndex()
    source = read_source(IngestOptions(table, folder.dataset))
    with Manifest(folder.manifest) as manifest:
        manifest.plan(source.items)
        manifest.ingested("f")
        manifest.built()
        assert not bring(table, index, manifest)
    with following(table, folder, index) as said:
        write(
            table,
            [
                *rows(table),
                {"id": "odd", "image": "pictures/red-00.png", "text": "odd", "label": "odd", "split": "val"},
            ],
        )
        until(lambda: len(said) == 2)
    assert said[0] == "1 new: odd"
    assert said[1] == "the model should be fitted again because the label 'odd' is new; restart to do so."
