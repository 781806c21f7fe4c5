"""Damaged files: whatever bit is flipped, an index answers as before or says that it is damaged."""

import shutil
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from diptych._core.errors import DataError, DiptychError
from diptych._core.seeding import generator
from diptych.index import EmbedderId, Identity, create_index, open_index
from diptych.index.local import database, integrity
from index.earlier_format import downgrade

DIMENSION = 16
COUNT = 120
WORDS = ["river", "pond", "house", "tree", "dog", "cat", "bridge", "road", "AB-1234", "café"]


def drawn(count, *purpose):
    return generator(0, "integrity", *purpose).normal(size=(count, DIMENSION)).astype(np.float32)


@pytest.fixture(scope="module", params=["flat", "hnsw"])
def built(request, tmp_path_factory):
    """An index with words, with derived files and changes that they do not know."""
    folder = tmp_path_factory.mktemp("built") / "index"
    ids, vectors = [f"item-{n:03d}" for n in range(COUNT)], drawn(COUNT, "items")
    known = [{"n": n, "label": WORDS[n % 7], "note": "x" * (n % 50)} for n in range(COUNT)]
    texts = [" ".join(WORDS[(n * k) % len(WORDS)] for k in range(1, 6)) for n in range(COUNT)]
    options = {"structure": request.param, "words": True}
    with create_index(folder, Identity(EmbedderId("m"), DIMENSION), **options) as index:
        index.add(ids[:100], vectors[:100], modality="image", metadata=known[:100], words=texts[:100])
        index.optimise()
        index.add(ids[100:], vectors[100:], modality="text", metadata=known[100:], words=texts[100:])
        index.delete(ids[:10])
        index.update(ids[10:20], vectors[:10], modality="image", metadata=known[10:20], words=texts[20:30])
    return folder, answers(folder)


def answers(folder, **options):
    """What an index says, in all the ways it can be asked."""
    queries = drawn(3, "queries")
    with open_index(folder, **options) as index:
        found = [
            index.count(),
            index.count(where="label = 'river'"),
            index.list_ids(limit=500),
            index.list_ids(where="n >= 50", modality="image", limit=500),
            [said(hits) for hits in index.search(queries, 20, with_metadata=True)],
            [said(hits) for hits in index.search(queries, 20, where="n < 70", with_metadata=True)],
            [said(hits) for hits in index.search_words(["river dog", "café", "ab1234"], 30, with_metadata=True)],
            [said(hits) for hits in index.search_words(["house"], 30, where="n > 30", modality="image")],
            index.complete("r"),
            index.correct("brigde"),
            index.word_counts(WORDS),
            [None if item is None else (item.id, item.modality, item.vector.tobytes(), item.metadata)
             for item in index.get([f"item-{n:03d}" for n in range(COUNT)])],
        ]  # fmt: skip
    return found


def said(hits):
    return hits.ids, hits.scores.tolist(), hits.modalities, hits.metadata


def flipped(path, draw):
    """Flip one bit of a file somewhere."""
    content = bytearray(path.read_bytes())
    place = int(draw.integers(len(content)))
    content[place] ^= 1 << int(draw.integers(8))
    path.write_bytes(content)
    return place


def outcome(folder, expected, **options):
    try:
        return "as before" if answers(folder, **options) == expected else "wrong"
    except DiptychError as error:
        assert str(error).endswith(".") and "\n" not in str(error)
        return "told"


def test_no_flipped_bit_of_the_database_gives_a_wrong_answer(built, tmp_path):
    folder, expected = built
    draw = generator(1, "flips")
    outcomes = []
    for number in range(100):
        copy = shutil.copytree(folder, tmp_path / str(number))
        place = flipped(copy / "index.sqlite", draw)
        outcomes.append(outcome(copy, expected, read_only=number % 2 == 0))
        assert outcomes[-1] != "wrong", place
        shutil.rmtree(copy)
    assert outcomes.count("told") > 15


def test_no_flipped_bit_of_a_derived_file_changes_an_answer(built, tmp_path):
    folder, expected = built
    draw = generator(2, "flips")
    files = [path.relative_to(folder) for path in (folder / "derived").rglob("*") if path.is_file()]
    for number in range(40):
        copy = shutil.copytree(folder, tmp_path / str(number))
        flipped(copy / files[number % len(files)], draw)
        assert outcome(copy, expected) == "as before"
        shutil.rmtree(copy)


def change(folder, sql, *parameters):
    """Change the database behind the index's back."""
    with closing(sqlite3.connect(folder / "index.sqlite")) as connection:
        connection.execute(sql, parameters)
        connection.commit()


DAMAGE = {
    "a vector": "UPDATE vectors SET vector = zeroblob(length(vector)) WHERE row = 50",
    "metadata": "UPDATE items SET metadata = '{\"n\": 1}' WHERE row = 50",
    "no JSON": "UPDATE items SET metadata = '{' WHERE row = 50",
    "a modality": "UPDATE items SET modality = 'audio' WHERE row = 50",
    "an id": "UPDATE items SET id = 'other' WHERE row = 50",
    "a lost vector": "DELETE FROM vectors WHERE row = 50",
    "a lost checksum": "DELETE FROM checksums WHERE row = 50",
    "the next row": "UPDATE state SET next_row = 105",
    "the change": "UPDATE state SET change = 1",
    "a removed row": "UPDATE removed SET row = 9999 WHERE row = 3",
    "the terms of a text": "UPDATE texts SET terms = 'river' WHERE row = 50",
    "the length of a text": "UPDATE text_lengths SET length = 99 WHERE row = 50",
    "the number of texts": "UPDATE text_count SET entries = 3",
    "the count of a word": "UPDATE vocabulary SET entries = 3 WHERE term = 'river'",
    "how a word is shown": "UPDATE vocabulary SET shown = 'liver' WHERE term = 'river'",
    "the postings": "INSERT INTO postings (postings, rowid, terms) VALUES ('delete', 50, (SELECT terms FROM texts"
    " WHERE row = 50))",
    "the identity": "UPDATE head SET value = replace(value, '\"m\"', '\"n\"') WHERE key = 'identity'",
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_told_in_one_sentence(built, tmp_path, what):
    copy = shutil.copytree(built[0], tmp_path / "copy")
    change(copy, DAMAGE[what])
    for read_only in (False, True):
        with pytest.raises(DataError, match=r"(damaged|cannot be read).*restore a backup[^\n]*\.$"):
            open_index(copy, read_only=read_only)


@pytest.mark.parametrize("what", ["a vector", "metadata", "no JSON", "an id", "a lost vector", "a lost checksum"])
def test_a_large_index_compares_what_it_returns(built, tmp_path, what):
    copy = shutil.copytree(built[0], tmp_path / "copy")
    change(copy, DAMAGE[what])
    with open_index(copy, verify=False) as index:
        with pytest.raises(DataError, match="damaged"):
            index.get([*(f"item-{n:03d}" for n in range(COUNT)), "other"])
        if what in ("metadata", "no JSON", "an id", "a lost checksum"):
            with pytest.raises(DataError, match="damaged"):
                index.search(drawn(1), COUNT, with_metadata=True)
            with pytest.raises(DataError, match="damaged"):
                index.search_words(["river"], COUNT, with_metadata=True)
        assert index.verify()


def test_recent_vectors_are_compared_when_they_are_read(built, tmp_path):
    copy = shutil.copytree(built[0], tmp_path / "copy")
    change(copy, "UPDATE vectors SET vector = zeroblob(length(vector)) WHERE row = 110")
    with pytest.raises(DataError, match=r"the vector of item 'item-110' is not as it was written"):
        open_index(copy, verify=False)


def test_an_intact_index_has_no_problems(built, tmp_path):
    with open_index(built[0], read_only=True) as index:
        assert index.verify() == []
    with create_index(tmp_path / "empty", Identity(EmbedderId("m"), 3)) as index:
        assert index.verify() == []


def test_all_problems_are_named(built, tmp_path):
    copy = shutil.copytree(built[0], tmp_path / "copy")
    change(copy, DAMAGE["metadata"])
    change(copy, DAMAGE["the number of texts"])
    with open_index(copy, verify=False) as index:
        problems = index.verify()
    assert problems == ["item 'item-050' is not as it was written", "there are 110 texts but 3 are counted"]


def test_an_index_of_format_1_is_upgraded_when_it_is_written(built, tmp_path):
    folder, expected = built
    copy = shutil.copytree(folder, tmp_path / "copy")
    downgrade(copy)
    before = (copy / "index.sqlite").read_bytes()
    assert answers(copy, read_only=True) == expected
    with closing(sqlite3.connect(copy / "index.sqlite")) as connection:
        assert connection.execute("SELECT value FROM head WHERE key = 'format'").fetchone() == ("1",)
    assert (copy / "index.sqlite").read_bytes() == before
    assert answers(copy) == expected
    with closing(sqlite3.connect(copy / "index.sqlite")) as connection:
        assert connection.execute("SELECT value FROM head WHERE key = 'format'").fetchone() == ("2",)
    with open_index(copy) as index:
        assert index.verify() == []
        index.update(["item-050"], drawn(1), modality="image", words=["new words"])
        index.delete(["item-051"])
        assert index.verify() == []


def test_an_upgrade_that_fails_leaves_the_former_format(built, tmp_path, monkeypatch):
    folder, expected = built
    copy = shutil.copytree(folder, tmp_path / "copy")
    downgrade(copy)

    def fail(connection):
        raise OSError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(database, "_upgrade_words", fail)
        with pytest.raises(OSError, match="killed"):
            open_index(copy)
    assert answers(copy, read_only=True) == expected
    assert answers(copy) == expected


def test_damage_from_before_an_upgrade_is_not_sealed(built, tmp_path):
    copy = shutil.copytree(built[0], tmp_path / "copy")
    downgrade(copy)
    change(copy, DAMAGE["a lost vector"])
    change(copy, DAMAGE["the postings"])
    with pytest.raises(DataError, match="damaged"):
        open_index(copy)


def test_a_larger_index_is_compared_again_only_when_it_has_changed(built, tmp_path, monkeypatch):
    monkeypatch.setattr(integrity, "SMALL", 10)
    copy = shutil.copytree(built[0], tmp_path / "copy")
    compared = []
    checked = integrity._checked
    monkeypatch.setattr(integrity, "_checked", lambda *args, **more: compared.append(1) or checked(*args, **more))
    open_index(copy, read_only=True).close()
    assert len(compared) == 1, "a copy is another file"
    open_index(copy, read_only=True).close()
    assert len(compared) == 1
    with open_index(copy) as index:
        index.delete(["item-060"])
    open_index(copy).close()
    assert len(compared) == 1, "its only writer knows what it has written"
    change(copy, DAMAGE["metadata"])
    with pytest.raises(DataError, match="damaged"):
        open_index(copy)
    monkeypatch.setattr(integrity, "LARGE", 20)
    open_index(copy).close()


def test_broken_text_is_told_too(built, tmp_path):
    copy = shutil.copytree(built[0], tmp_path / "copy")
    content = bytearray((copy / "index.sqlite").read_bytes())
    content[content.index(b"CREATE TABLE items") + 13] |= 128
    (copy / "index.sqlite").write_bytes(content)
    for options in ({}, {"read_only": True}, {"verify": False}):
        with pytest.raises(DataError, match="restore a backup"):
            open_index(copy, **options)


def test_a_damaged_write_ahead_log_is_told(tmp_path, caplog):
    folder, copy = tmp_path / "index", tmp_path / "copy"
    with create_index(folder, Identity(EmbedderId("m"), DIMENSION)) as index:
        for number in range(5):
            index.add([f"i{number}"], drawn(1, str(number)), modality="image")
        shutil.copytree(folder, copy)  # as a crash leaves it
        assert index.verify() == []
    with open_index(shutil.copytree(copy, tmp_path / "intact")) as index:
        assert index.count() == 5 and not caplog.text
    log = copy / "index.sqlite-wal"
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 1
    log.write_bytes(content)
    with open_index(copy, read_only=True) as index:
        assert index.count() < 5
        assert "write-ahead log is damaged" in caplog.text
        assert "change 5 was acknowledged" in index.verify()[0]
