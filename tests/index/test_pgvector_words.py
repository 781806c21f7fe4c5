"""The pgvector engine keeps the contract of words in a real PostgreSQL."""

import json
import threading
from collections import Counter

import pytest

from diptych._core.errors import ConfigError, DataError
from diptych.index import create_index, open_index
from diptych.index.pgvector import words as word_search
from index.naive_words import NaiveWords, check_words
from index.servers.postgresql import running_postgresql
from index.words_contract import IDENTITY, WordsContract, drawn_texts, unit


@pytest.fixture(scope="session")
def url():
    with running_postgresql() as address:
        yield address


class TestPgvectorWords(WordsContract):
    @pytest.fixture(autouse=True)
    def _server(self, url):
        self.url = url

    def new(self, place, *, words=True):
        return create_index(place, IDENTITY, engine="pgvector", url=self.url, words=words)

    def again(self, place):
        return open_index(place, engine="pgvector", url=self.url)


def test_frequent_words_cost_no_result(url, monkeypatch):
    """Entries that hold a rare word are scored first; the rest only where that can change the result."""
    monkeypatch.setattr(word_search, "_RARE", 5)
    passes = []
    scored = word_search.WordSearch._scored
    monkeypatch.setattr(
        word_search.WordSearch, "_scored", lambda *given: passes.append(len(given[2])) or scored(*given)
    )
    model, texts = NaiveWords(), [f"the everywhere {text}" for text in drawn_texts(400)]
    ids = [f"i{n:03d}" for n in range(400)]
    with create_index("frequent", IDENTITY, engine="pgvector", url=url, words=True) as index:
        index.add(ids, unit(400), modality="text", words=texts)
        model.put(ids, texts, "text")
        for query in ("everywhere 12.5", "the everywhere a dog tshirt", "everywhere", "the red river café"):
            for k in (1, 10, 300):
                check_words(index.search_words([query], k)[0], model, query, k)
        passes.clear()
        index.search_words(["everywhere the 12.5"], 1)
        assert max(passes) <= 6, "no pass over the entries that only hold a frequent word"


def test_writers_count_the_words_they_leave(url):
    """Several threads change the same entries: the counts are those of what is there in the end."""
    wrong = []
    with create_index("counted", IDENTITY, engine="pgvector", url=url, words=True) as index:

        def work(seed):
            try:
                for n, text in enumerate(drawn_texts(25, seed)):
                    ids = [f"i{(n + shift) % 6}" for shift in range(3)]
                    index.update(ids, unit(3), modality="text", words=[text] * 3)
                    if n % 4 == 0:
                        index.delete(ids[:1])
            except Exception as error:
                wrong.append(error)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong, wrong[0]
        with index._connections.borrowed() as connection:
            counted = dict(connection.execute('SELECT term, entries FROM "diptych_counted.words"').fetchall())
            stored = connection.execute("SELECT tsvector_to_array(words), length FROM diptych_counted").fetchall()
    expected = Counter(term for terms, _ in stored for term in terms if "#" not in term)
    assert counted.pop("") == len(stored)
    assert counted.pop(" ") == sum(length for _, length in stored)
    assert counted == dict(expected)


def test_an_index_of_an_earlier_version_opens_as_before(url):
    create_index("earlier", IDENTITY, engine="pgvector", url=url).close()
    with open_index("earlier", engine="pgvector", url=url) as index, index._connections.borrowed() as connection:
        (head,) = connection.execute("SELECT obj_description('diptych_earlier'::regclass)").fetchone()
        known = json.loads(head)
        known["settings"].pop("words")
        connection.execute("COMMENT ON TABLE diptych_earlier IS '" + json.dumps(known) + "'")
    with open_index("earlier", engine="pgvector", url=url) as index:
        assert not index.has_words
        index.add(["a"], unit(1), modality="x")
        assert index.search(unit(1)[0])[0].ids == ("a",)
        with pytest.raises(ConfigError, match="keeps no words"):
            index.search_words(["a"])


def test_a_text_with_too_many_words_is_refused(url):
    with create_index("long", IDENTITY, engine="pgvector", url=url, words=True) as index:
        with pytest.raises(DataError, match="cut it in passages"):
            index.add(["a"], unit(1), modality="x", words=[" ".join(f"word{n}" for n in range(60_000))])
        assert (index.count(), index.word_counts(["word1"])) == (0, {"word1": 0})
