"""Only new work is done: rows are found again by content, and a dataset does not show where its rows came from."""

import os
import sqlite3
from dataclasses import replace

import numpy as np
import pytest

from diptych.features.image.colour import ColourMoments
from diptych.features.image.visual_words import VisualWords
from diptych.ingest import ingest
from diptych.ingest.row_cache import RowCache, cache_limit, content_key, trim
from ingest.conftest import write_pairs
from ingest.images import png

pytestmark = pytest.mark.usefixtures("small_shards")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache of its own."""
    monkeypatch.setenv("DIPTYCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DIPTYCH_ROW_CACHE_GB", "1")
    return tmp_path / "cache"


@pytest.fixture
def described(monkeypatch):
    """How many images were described."""
    count = []
    describe = ColourMoments.describe

    def counted(self, image):
        count.append(1)
        return describe(self, image)

    monkeypatch.setattr(ColourMoments, "describe", counted)
    return count


def test_other_texts_leave_the_images_alone(options, tmp_path, folder_content, cache, described, monkeypatch) -> None:
    learned = []
    fit = VisualWords.fit
    monkeypatch.setattr(VisualWords, "fit", lambda self, *args, **more: learned.append(1) or fit(self, *args, **more))
    first = ingest(options)
    assert (len(described), len(learned)) == (30, 1) and first.reused == {"image": 0, "text": 0}
    changed = replace(options, out=tmp_path / "again", features=options.features | {"text": "bow:7"}, name="x")
    second = ingest(changed)
    assert (len(described), len(learned)) == (30, 1) and second.reused == {"image": 30, "text": 0}
    scratch = replace(changed, out=tmp_path / "scratch", reuse=False)
    assert ingest(scratch).reused == {"image": 0, "text": 0}
    assert len(learned) == 2
    assert folder_content(changed.out) == folder_content(scratch.out)


def test_new_files_alone_are_extracted(tmp_path, options, folder_content, cache, described) -> None:
    fixed = replace(options, features={"image": "colour-moments", "text": "bow:12"}, name="x")
    ingest(fixed)
    described.clear()
    pairs = write_pairs(tmp_path / "more", 34)
    changed = pairs.parent / "images" / "003.png"
    changed.write_bytes(png("another one"))
    grown = replace(fixed, pairs=pairs, out=tmp_path / "grown")
    assert ingest(grown).reused["image"] == 29
    assert len(described) == 34 - 29
    scratch = replace(grown, out=tmp_path / "scratch", reuse=False)
    ingest(scratch)
    assert folder_content(grown.out) == folder_content(scratch.out)


def test_each_part_of_a_feature_is_kept_by_itself(options, tmp_path, folder_content, cache, described) -> None:
    ingest(replace(options, features={"image": "colour-moments", "text": "bow:12"}))
    joined = {"image": "colour-histogram+colour-moments", "text": "bow:12"}
    changed = replace(options, out=tmp_path / "joined", features=joined, name="x")
    assert ingest(changed).reused["image"] == 0
    assert len(described) == 30
    scratch = replace(changed, out=tmp_path / "scratch", reuse=False)
    ingest(scratch)
    assert folder_content(changed.out) == folder_content(scratch.out)


def test_images_are_known_by_content_not_by_name(options, tmp_path, cache, described) -> None:
    fixed = replace(options, features={"image": "colour-moments", "text": "bow:12"})
    ingest(fixed)
    folder = options.pairs.parent / "images"
    for path in folder.iterdir():
        os.utime(path, (1, 1))
    (folder / "000.png").write_bytes((folder / "001.png").read_bytes())
    assert ingest(replace(fixed, out=tmp_path / "again")).reused["image"] == 30
    assert ingest(replace(fixed, out=tmp_path / "less", max_pixels=10_000)).reused["image"] == 0


def test_broken_images_stay_broken(options, tmp_path, cache) -> None:
    (options.pairs.parent / "images" / "004.png").write_bytes(b"hello")
    reports = [ingest(replace(options, out=tmp_path / name)).report.to_json() for name in ("a", "b")]
    assert reports[0] == reports[1] and reports[0]["broken_pictures"] == 1


def test_a_damaged_cache_is_as_good_as_none(options, tmp_path, folder_content, cache) -> None:
    ingest(replace(options, out=tmp_path / "a", name="x"))
    for path in (cache / "rows").iterdir():
        path.write_bytes(b"no database" * 100)
    made = ingest(replace(options, out=tmp_path / "b", name="x"))
    assert made.reused["image"] == 0
    assert folder_content(tmp_path / "a") == folder_content(tmp_path / "b")


def test_a_cache_that_cannot_be_written_harms_nobody(options, tmp_path, monkeypatch, cache) -> None:
    cache.write_text("a file where the folder would be")
    assert len(ingest(options).dataset) == 30


def test_rows_survive_and_odd_ones_are_not_kept(tmp_path, cache) -> None:
    keys = [content_key(word) for word in (b"one", b"two", b"three")]
    rows = np.array([[1, 2], [np.nan, 1], [3, 4]], dtype=np.float32)
    first = RowCache(tmp_path, "f", 2)
    first.put(keys, rows)
    first.close()
    again = RowCache(tmp_path, "f", 2)
    assert [again.has(key) for key in keys] == [True, False, True]
    np.testing.assert_array_equal(again.take(keys[2]), rows[2])
    assert not RowCache(tmp_path, "other", 2).has(keys[0])
    assert not RowCache(tmp_path, "f", 3).has(keys[0])  # rows of another length are no rows of this feature
    assert content_key(b"one", 1) != content_key(b"one", 2)


def test_the_cache_has_a_bound(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("DIPTYCH_ROW_CACHE_GB", "0.0002")
    assert cache_limit() == 200_000
    for age, name in enumerate("abc"):
        store = RowCache(tmp_path, name, 250)
        store.put([content_key(bytes([n])) for n in range(80)], np.ones((80, 250), dtype=np.float32))
        store.close()
        os.utime(tmp_path / f"{name}.sqlite", (age, age))
    trim(tmp_path)
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["c.sqlite"]
    monkeypatch.setenv("DIPTYCH_ROW_CACHE_GB", "0.00001")
    full = RowCache(tmp_path, "c", 250)
    full.put([content_key(b"new")], np.ones((1, 250), dtype=np.float32))
    assert not full.has(content_key(b"new"))
    with sqlite3.connect(tmp_path / "c.sqlite") as connection:
        assert connection.execute("select count(*) from rows").fetchone() == (80,)
    connection.close()
    full.close()


def test_no_process_is_started_where_all_is_known(options, tmp_path, folder_content, cache, monkeypatch) -> None:
    ingest(replace(options, out=tmp_path / "a", name="x"))
    monkeypatch.setattr("diptych._core.processes.ProcessPoolExecutor", None)
    assert ingest(replace(options, out=tmp_path / "b", name="x"), workers=2).reused["image"] == 30
    assert folder_content(tmp_path / "a") == folder_content(tmp_path / "b")
