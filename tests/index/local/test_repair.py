"""Derived files are missing, stale, foreign or damaged: nobody notices but the clock."""

import json
import shutil
import sqlite3

import numpy as np
import pytest

from diptych._core.errors import ConfigError, DataError
from diptych._core.seeding import generator
from diptych.index import EmbedderId, Identity, create_index, open_index
from index.brute_force import BruteForce, check_found

DIMENSION = 16
COUNT = 200


def drawn(count, *purpose):
    return generator(0, "repair", *purpose).normal(size=(count, DIMENSION)).astype(np.float32)


@pytest.fixture(scope="module", params=["flat", "hnsw"])
def built(request, tmp_path_factory):
    """An index with derived files and changes that they do not know."""
    folder = tmp_path_factory.mktemp("built") / "index"
    model, ids, vectors = BruteForce(), [f"ä{n}" for n in range(COUNT)], drawn(COUNT, "items")
    known = [{"n": n} for n in range(COUNT)]
    with create_index(folder, Identity(EmbedderId("m"), DIMENSION), structure=request.param) as index:
        index.add(ids, vectors, modality="image", metadata=known)
        index.optimise()
        index.delete(ids[:10])
        index.update(ids[10:20], vectors[:10], modality="text", metadata=known[:10])
    model.put(ids, vectors, "image", known)
    model.delete(ids[:10])
    model.put(ids[10:20], vectors[:10], "text", known[:10])
    return folder, model


def check(index, model):
    assert index.count() == len(model.items)
    for query in drawn(5, "queries"):
        check_found(index.search(query, COUNT // 4, with_metadata=True)[0], model, query, COUNT // 4)


def derived_files(folder):
    return sorted(path for path in (folder / "derived").rglob("*") if path.is_file())


def test_stale_files_are_used_and_completed(built, tmp_path):
    folder, model = built
    copy = shutil.copytree(folder, tmp_path / "copy")
    before = derived_files(copy)
    with open_index(copy) as index:
        check(index, model)
        assert derived_files(copy) == before
        index.optimise()
        check(index, model)
    assert derived_files(copy) != before
    with open_index(copy, read_only=True) as index:
        check(index, model)


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("how", ["gone", "emptied", "cut", "flipped"])
def test_every_file_may_be_damaged(built, tmp_path, how, read_only, caplog):
    folder, model = built
    for number, original in enumerate(derived_files(folder)):
        copy = shutil.copytree(folder, tmp_path / str(number))
        path = copy / original.relative_to(folder)
        content = bytearray(path.read_bytes())
        if how == "gone":
            path.unlink()
        else:
            content[len(content) // 2] ^= 4
            path.write_bytes({"emptied": b"", "cut": content[: len(content) // 2], "flipped": content}[how])
        caplog.clear()
        with open_index(copy, read_only=read_only) as index:
            check(index, model)
        assert "made again" in caplog.text, path
        caplog.clear()
        with open_index(copy, read_only=True) as index:
            check(index, model)
        assert ("made again" in caplog.text) == read_only, "a writer repairs what it opens, a reader writes nothing"


def test_files_of_an_earlier_truth_are_not_used(built, tmp_path):
    """An old copy of SQLite is put back and goes its own way: its change numbers are alike, its content is not."""
    folder, model = built
    copy = shutil.copytree(folder, tmp_path / "copy")
    old = (copy / "index.sqlite").read_bytes()
    with open_index(copy) as index:
        index.delete(index.list_ids(limit=300))
        index.optimise()
    (copy / "index.sqlite").write_bytes(old)
    with open_index(copy) as index:
        check(index, model)


def test_derived_files_may_vanish_while_the_index_is_open(built, tmp_path):
    folder, model = built
    copy = shutil.copytree(folder, tmp_path / "copy")
    with open_index(copy) as index:
        shutil.rmtree(copy / "derived")
        check(index, model)
        index.optimise()
        check(index, model)
    with open_index(copy, read_only=True) as index:
        check(index, model)


def test_what_is_no_index_is_refused(built, tmp_path):
    with pytest.raises(DataError, match="is no index; run `diptych index"):
        open_index(tmp_path / "nowhere")
    folder, _ = built
    with pytest.raises(DataError, match="already exists"):
        create_index(folder, Identity(EmbedderId("m"), 3))
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "index.sqlite").write_text("not a database, but long enough to look like one " * 100)
    with pytest.raises(DataError, match="cannot be read"):
        open_index(tmp_path / "odd")
    with pytest.raises(ConfigError, match="engine is 'other'; choose one of local"):
        open_index(folder, engine="other")
    with pytest.raises(ConfigError, match="no option 'structur'"):
        create_index(tmp_path / "new", Identity(EmbedderId("m"), 3), structur="flat")
    with pytest.raises(ConfigError, match="links is 0"):
        create_index(tmp_path / "new", Identity(EmbedderId("m"), 3), links=0)
    with pytest.raises(ConfigError, match="dimension is 0"):
        create_index(tmp_path / "new", Identity(EmbedderId("m"), 0))


def test_a_later_format_is_refused(built, tmp_path):
    copy = shutil.copytree(built[0], tmp_path / "copy")
    connection = sqlite3.connect(copy / "index.sqlite")
    connection.execute("UPDATE head SET value = ? WHERE key = 'format'", (json.dumps(99),))
    connection.commit()
    connection.close()
    with pytest.raises(DataError, match="of format 99"):
        open_index(copy)
