import builtins
import threading
import time

import pytest

from diptych.ingest import IngestOptions
from diptych.up import read_source
from diptych.up.watching import Watched, wait_for_change
from search.gallery import png, write_raw


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
    watched = Watched.of(source, tmp_path / "out")
    before = watched.stamp()
    assert watched.stamp() == before
    CHANGES[change](source.images)
    assert watched.stamp() != before


def test_a_table_that_is_written_counts_and_files_elsewhere_do_not(table, tmp_path):
    watched = Watched.of(table, tmp_path / "out")
    before = watched.stamp()
    (table.images / "holiday").mkdir()
    after = watched.stamp()
    assert after != before  # which costs one look
    (table.images / "holiday" / "sun.png").write_bytes(b"none of its business")
    assert watched.stamp() == after
    table.path.write_text(table.path.read_text().replace("red wall", "red door"))
    assert watched.stamp() != after


def test_an_image_that_is_named_and_missing_is_waited_for(table, tmp_path):
    missing = table.images / "pictures" / "red-00.png"
    missing.unlink()
    watched = Watched.of(read_source(table.plan.options), tmp_path / "out")
    before = watched.stamp()
    missing.write_bytes(png("red", 0))
    assert watched.stamp() != before


def test_the_search_itself_does_not_count(tree, tmp_path):
    inside = tree.path / "made"
    watched = Watched.of(tree, inside)
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
    watched, ending = Watched.of(source, tmp_path / "out"), threading.Event()
    threading.Timer(0.5, change_image, [source.images]).start()
    started = time.monotonic()
    assert wait_for_change(watched, watched.stamp(), ending)
    assert 0.5 <= time.monotonic() - started < 30
    threading.Timer(0.3, ending.set).start()
    assert not wait_for_change(watched, watched.stamp(), ending)


def test_what_changed_before_the_wait_began_is_found(table, tmp_path):
    watched = Watched.of(table, tmp_path / "out")
    before = watched.stamp()
    change_image(table.images)
    assert wait_for_change(watched, before, threading.Event())


def test_a_file_that_is_being_written_is_waited_for(table, tmp_path):
    watched = Watched.of(table, tmp_path / "out")
    before, image = watched.stamp(), next(table.images.rglob("*.png"))
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
