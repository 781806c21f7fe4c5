"""Words in the local engine beyond the contract: many of them, old indexes, other processes, and kills."""

import json
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from diptych._core.errors import ConfigError
from diptych._core.seeding import generator
from diptych.index import EmbedderId, Identity, create_index, engines_with_words, open_index
from diptych.index.local import postings
from diptych.index.local import words as word_search
from index import word_churn
from index.earlier_format import downgrade
from index.naive_words import NaiveWords, check_words

IDENTITY = Identity(EmbedderId("m"), 2)
COUNT = 1_500


def unit(count):
    return np.ones((count, 2), np.float32)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Texts in which a few words stand nearly everywhere, folded, with some recent ones and some deleted."""
    draw = generator(0, "local", "words")
    names = ["everywhere"] + [f"{first}{second}" for first in "bcdfgklmnp" for second in ("amo", "iru", "odes", "ust")]
    weights = 1 / np.arange(1, len(names) + 1)
    texts = [
        "everywhere " + " ".join(draw.choice(names, size=draw.integers(2, 25), p=weights / weights.sum()))
        for _ in range(COUNT)
    ]
    ids = [f"i{n * 7 % COUNT:04d}" for n in range(COUNT)]
    known = [{"n": n, "third": n % 3} for n in range(COUNT)]
    model = NaiveWords()
    with create_index(tmp_path_factory.mktemp("words") / "index", IDENTITY, words=True, fold_at=100) as index:
        for start, stop in ((0, 1_000), (1_000, 1_450), (1_450, COUNT)):
            part = slice(start, stop)
            index.add(ids[part], unit(stop - start), modality="text", metadata=known[part], words=texts[part])
        model.put(ids, texts, "text", known)
        index.delete(ids[::50])
        model.delete(ids[::50])
        yield index, model, names


@pytest.mark.parametrize("k", [1, 10, 200, COUNT])
def test_frequent_words_cost_no_result(many, k):
    index, model, names = many
    for query in ("everywhere", f"everywhere {names[-1]}", f"{names[1]} {names[2]} {names[30]}", " ".join(names[:12])):
        check_words(index.search_words([query], k)[0], model, query, k)
        check_words(index.search_words([query], 10, offset=k)[0], model, query, 10, offset=k)


def test_frequent_words_are_only_looked_up_where_rare_ones_are_found(many, monkeypatch):
    index, _, names = many
    looked_up = []
    whole = word_search._looked_up
    monkeypatch.setattr(
        word_search, "_looked_up", lambda near, *rest: looked_up.append(len(near)) or whole(near, *rest)
    )
    index.search_words([f"everywhere {names[-1]}"], 5)
    assert looked_up
    assert max(looked_up) < COUNT / 4


@pytest.mark.parametrize("where", ["third = 1", "n < 30", "n < 0", "n >= 700"])
@pytest.mark.parametrize("few", [10, 600, 20_000])
def test_filters_of_many_lose_nothing(many, where, few, monkeypatch):
    monkeypatch.setattr(word_search, "_FEW", few)
    index, model, names = many
    for query in (f"everywhere {names[3]}", names[-1], names[1]):
        index._view.last._chosen.clear()
        for _ in range(2):
            (found,) = index.search_words([query], 12, where=where, with_metadata=True)
            check_words(found, model, query, 12, where=where)


def test_what_is_held_is_bounded(many, monkeypatch):
    index, model, names = many
    monkeypatch.setattr(postings, "_MOST_HELD", 50)
    for query in [" ".join(names[:8]), *names[:20]]:
        check_words(index.search_words([query], 9)[0], model, query, 9)


def test_single_words_rank_as_fts5_ranks_them(many):
    """Its bm25() has the same k1 and b; idf does not matter to the order for one term."""
    index, model, names = many
    peer = sqlite3.connect(":memory:")
    peer.execute("CREATE VIRTUAL TABLE peer USING fts5(id UNINDEXED, words)")
    peer.executemany("INSERT INTO peer VALUES (?, ?)", [(id, " ".join(words)) for id, words in model.words().items()])
    for word in names[8:]:
        rows = peer.execute("SELECT id, bm25(peer) FROM peer WHERE peer MATCH ?", (f'"{word}"',)).fetchall()
        times = {id: Counter(words)[word] for id, words in model.words().items()}
        (found,) = index.search_words([word], COUNT)
        theirs = dict(rows)
        same = [id for id in found.ids if times[id] <= 16]
        ranked = [theirs[id] for id in same]
        assert set(theirs) == set(found.ids)
        assert all(first <= second + 1e-9 for first, second in pairwise(ranked))


def check_tables(folder):
    """What SQLite holds of words fits together, and FTS5 finds its own structure sound."""
    connection = sqlite3.connect(folder / "index.sqlite")
    connection.execute("INSERT INTO postings (postings, rank) VALUES ('integrity-check', 1)")
    texts = dict(connection.execute("SELECT row, terms FROM texts"))
    assert set(texts) == {row for (row,) in connection.execute("SELECT row FROM text_lengths")}
    assert not set(texts) - {row for (row,) in connection.execute("SELECT row FROM items")}
    counts = Counter(term for terms in texts.values() for term in terms.split(" ") if "#" not in term)
    assert dict(connection.execute("SELECT term, entries FROM vocabulary")) == dict(counts)
    assert connection.execute("SELECT entries FROM text_count").fetchone() == (len(texts),)
    connection.close()


def test_an_index_of_an_earlier_version_opens_as_before(tmp_path):
    create_index(tmp_path / "index", IDENTITY).close()
    downgrade(tmp_path / "index")
    connection = sqlite3.connect(tmp_path / "index" / "index.sqlite")
    (settings,) = connection.execute("SELECT value FROM head WHERE key = 'settings'").fetchone()
    earlier = {key: value for key, value in json.loads(settings).items() if key != "words"}
    connection.execute("UPDATE head SET value = ? WHERE key = 'settings'", (json.dumps(earlier),))
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    assert not tables & {"texts", "postings", "vocabulary", "text_lengths", "text_count"}
    connection.commit()
    connection.close()
    with open_index(tmp_path / "index") as index:
        assert not index.has_words
        index.add(["a"], unit(1), modality="x")
        index.update(["a"], -unit(1), modality="x")
        assert index.search(unit(1)[0])[0].ids == ("a",)
        assert index.delete(["a"]) == 1
        with pytest.raises(ConfigError, match="keeps no words"):
            index.search_words(["a"])


def test_engines_and_settings_that_know_no_words(tmp_path):
    assert engines_with_words() == ("local", "pgvector")
    with pytest.raises(ConfigError, match="milvus keeps no words"):
        create_index("x", IDENTITY, engine="milvus", url="http://localhost:1", words=True)
    with pytest.raises(ConfigError, match="words is 'yes'"):
        create_index(tmp_path / "x", IDENTITY, words="yes")


def test_another_opening_and_another_process_see_words_at_once(tmp_path):
    folder = tmp_path / "index"
    code = (
        "import sys; from diptych.index import open_index\n"
        "index = open_index(sys.argv[1], read_only=True)\n"
        "for line in sys.stdin: print(*index.search_words([line])[0].ids, flush=True)\n"
    )
    command = [sys.executable, "-c", code, str(folder)]
    with create_index(folder, IDENTITY, words=True, fold_at=5) as index, open_index(folder, read_only=True) as reader:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:

            def asked(query):
                other.stdin.write(query + "\n")
                other.stdin.flush()
                return other.stdout.readline().split()

            for n in range(25):
                now, before = f"q{chr(97 + n)}x", f"q{chr(96 + n)}x"
                index.update(["moving", f"i{n:02d}"], unit(2), modality="x", words=[f"{now} here", now])
                if n > 2:
                    index.delete([f"i{n - 2:02d}"])
                for answer in (asked, lambda query: list(reader.search_words([query])[0].ids)):
                    assert answer(now) == [f"i{n:02d}", "moving"]
                    assert answer(before) == ([f"i{n - 1:02d}"] if n else [])
                    assert answer("here") == ["moving"]
            other.stdin.close()
            other.wait()
        check_tables(folder)


def test_threads_never_see_half_a_change(tmp_path):
    """A writer replaces a group of texts as a whole; a reader must find all of one group and no other."""
    stop, wrong = threading.Event(), []

    def read(index):
        try:
            while not stop.is_set():
                for options in ({}, {"where": "group >= 0"}):
                    (found,) = index.search_words(["odd even"], 50, with_metadata=True, **options)
                    if len(found) != 8 or len({known["group"] for known in found.metadata}) != 1:
                        wrong.append((options, found))
                    (found,) = index.search_words(["even"], 50)
                    if len(found) not in (0, 8):
                        wrong.append(found)
        except Exception as error:
            wrong.append(error)

    with create_index(tmp_path / "index", IDENTITY, words=True, fold_at=20) as index:
        second = open_index(tmp_path / "index", read_only=True)
        ids = [f"i{n}" for n in range(8)]

        def put(group):
            text = "odd" if group % 2 else "even"
            index.update(ids, unit(8), modality="x", words=[text] * 8, metadata=[{"group": group}] * 8)

        put(0)
        threads = [threading.Thread(target=read, args=(one,)) for one in (index, index, second)]
        for thread in threads:
            thread.start()
        for group in range(1, 30):
            put(group)
        stop.set()
        for thread in threads:
            thread.join()
        second.close()
    assert not wrong, wrong[0]
    check_tables(tmp_path / "index")


def test_kills_leave_whole_words(tmp_path):
    """A process that changes an index is killed: the words are those of the entries that are there."""
    folder, draw = tmp_path / "index", generator(3, "words", "crash")
    create_index(folder, word_churn.IDENTITY, words=True, fold_at=6).close()
    first = 0
    for _ in range(4):
        command = [sys.executable, str(Path(word_churn.__file__)), str(folder), str(first)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            process.stdout.readline()
            time.sleep(float(draw.random()) * 0.15)
            process.send_signal(signal.SIGKILL)
            first += 1 + sum(1 for _ in process.stdout)
        with open_index(folder) as index:
            model = NaiveWords()
            for item in index.get(index.list_ids(limit=1_000)):
                model.put([item.id], [item.metadata.get("text")], item.modality, [item.metadata])
            for query in ("dog", "river cat", word_churn.WORDS[-1]):
                check_words(index.search_words([query], 50, with_metadata=True)[0], model, query, 50)
        check_tables(folder)
