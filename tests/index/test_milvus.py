"""The milvus engine beyond the contract: filters, the graph once it is built, and what it says when it cannot."""

import subprocess
import sys
import time
from urllib.parse import urlsplit

import numpy as np
import pytest
from hypothesis import given, settings

from diptych._core.errors import (
    BackendUnavailableError,
    ConfigError,
    DataError,
    DiptychError,
    TimeLimitError,
    optional_package,
)
from diptych._core.seeding import generator
from diptych.index import EmbedderId, Identity, create_index, open_index
from diptych.index.milvus.filters import spans_of, to_milvus
from index.brute_force import BruteForce, check_found
from index.servers import varied
from index.servers.milvus import running_milvus
from index.servers.proxy import Proxy

EMBEDDER = EmbedderId("model")


@pytest.fixture(scope="session")
def url(tmp_path_factory, worker_id):
    shared = tmp_path_factory.getbasetemp()
    with running_milvus(shared if worker_id == "master" else shared.parent) as address:
        yield address


@pytest.fixture(scope="module")
def varied_place(tmp_path_factory):
    return tmp_path_factory.mktemp("milvus") / "varied"


@pytest.fixture(scope="module")
def varied_index(url, varied_place):
    with create_index(varied_place, varied.IDENTITY, engine="milvus", url=url) as index:
        varied.fill(index)
        yield index


@given(varied.conditions)
@settings(max_examples=30, deadline=None)
def test_filters_mean_what_python_means(varied_index, condition):
    expected = varied.fitting(condition)
    assert varied_index.list_ids(where=condition, limit=1_000) == expected
    (found,) = varied_index.search([1.0, 0.0], 7, where=condition)
    assert list(found.ids) == expected[:7], "all vectors are equal"


def test_metadata_and_wild_ids_come_back(varied_index):
    ids, modalities, metadata = varied.varied_items()
    for item, id, modality, known in zip(varied_index.get(ids), ids, modalities, metadata, strict=True):
        assert (item.id, item.modality, item.metadata) == (id, modality, known)
    assert varied_index.get(['") or id != ("']) == [None]


@given(varied.conditions)
def test_texts_stay_inside_their_quotes(condition):
    outside, inside, text = [], False, to_milvus(condition).text
    place = 0
    while place < len(text):
        if text[place] == "\\" and inside:
            place += 1
        elif text[place] == '"':
            inside = not inside
        elif not inside:
            outside.append(text[place])
        place += 1
    assert not inside
    assert not set("".join(outside)) & set("ß😀ü;\\'%{}\n")


def test_spans_say_what_lists_hold():
    assert spans_of({"a": 1, "b": "x", "c": True}) == {}
    assert spans_of({"a": [3, True, 1.5, "b", "a", None]}) == {
        "a": {"least_number": 1.5, "most_number": 3, "least_text": "a", "most_text": "b"}
    }
    assert spans_of({"a": {"b": [], "c": None}}) == {"a": {"b": {"empty": True}, "c": {"null": True}}}


@pytest.mark.slow
def test_the_built_graph_finds_most_and_all_under_a_rare_condition(url, tmp_path):
    count, dimension = 3_000, 16
    draw = generator(0, "index", "milvus")
    vectors = draw.normal(size=(40, dimension))[draw.integers(0, 40, count)] + 0.4 * draw.normal(
        size=(count, dimension)
    )
    ids, metadata = [f"{n:05d}" for n in range(count)], [{"rare": n % 500 == 0, "half": n % 2} for n in range(count)]
    model = BruteForce()
    model.put(ids, vectors, "image", metadata)
    with create_index(tmp_path / "clustered", Identity(EMBEDDER, dimension), engine="milvus", url=url) as index:
        index.add(ids, vectors, modality="image", metadata=metadata)
        index.optimise()
        queries = vectors[::150] + 0.1
        right = 0
        for query, found in zip(queries, index.search(queries, 10), strict=True):
            exact = model.scores(query)
            right += len(set(found.ids) & set(sorted(exact, key=exact.__getitem__)[-10:]))
            np.testing.assert_allclose(found.scores, [exact[id] for id in found.ids], atol=1e-6)
        assert right >= 0.9 * 10 * len(queries)
        for where in ("rare = true", "id like '%00' and rare = true"):
            (found,) = index.search(queries[0], 10, where=where)
            check_found(found, model, queries[0], 10, where=where)
        assert len(index.search(queries[0], 900, where="half = 1", offset=50)[0]) == 900


def test_vectors_of_one_number_and_a_flat_structure(url, tmp_path):
    with create_index(tmp_path / "one", Identity(EMBEDDER, 1), engine="milvus", url=url, structure="flat") as index:
        index.add(["a", "b"], [[2.0], [-3.0]], modality="image")
        (found,) = index.search([5.0])
        assert (found.ids, found.scores.tolist()) == (("a", "b"), [1.0, -1.0])
        assert index.get(["b"])[0].vector.tolist() == [-1.0]


def test_what_milvus_cannot_keep(varied_index):
    def add(metadata):
        varied_index.add(["new"], [[1.0, 0.0]], modality="image", metadata=[metadata])

    with pytest.raises(DataError, match="too large for Milvus"):
        add({"x": [2**70]})
    with pytest.raises(DataError, match="65536"):
        add({"x": "x" * 70_000})
    many = [{"x": "x" * 60_000}] * 900
    with pytest.raises(DataError, match=r"give at most \d+ items in a call"):
        varied_index.add([str(n) for n in range(900)], np.ones((900, 2)), modality="image", metadata=many)
    assert varied_index.get(["new"]) == [None]


def test_indexes_that_are_not_there(url):
    with pytest.raises(DataError, match=r"no index stored as diptych_nothing .*run `diptych index"):
        open_index("nothing", engine="milvus", url=url)


def test_making_an_index_twice(varied_index, varied_place, url):
    with pytest.raises(DataError, match="already exists"):
        create_index(varied_place, varied.IDENTITY, engine="milvus", url=url)


@pytest.mark.parametrize("options", [{"links": 1}, {"structure": "tree"}, {"colour": 3}, {"replicas": 0}])
def test_options_out_of_range(options):
    with pytest.raises(ConfigError, match=next(iter(options))):
        create_index("x", Identity(EMBEDDER, 2), engine="milvus", url="http://localhost:1", **options)


@pytest.mark.parametrize(
    "address", ["http://me:s3cret@127.0.0.1:1/db", "http://s3cret@127.0.0.1:1", "http://me:s3cret@[::1", "s3cret"]
)
def test_a_server_that_does_not_answer_and_no_password_in_the_message(address):
    with pytest.raises(DiptychError) as caught:
        open_index("x", engine="milvus", url=address)
    told = getattr(caught.value, "details", None) or str(caught.value)
    assert "Milvus" in told and "s3cret" not in told + str(caught.value)
    away = isinstance(caught.value, BackendUnavailableError)
    assert away == ("[" not in address and "127" in address) and (not away or "127.0.0.1" not in str(caught.value))
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_the_client_library_says_nothing_beside_our_errors():
    """In a process of its own, for the library sets its log up when it is imported, which happens once."""
    program = (
        "from diptych.index import open_index\n"
        "try: open_index('x', engine='milvus', url='http://me:s3cret@127.0.0.1:1')\n"
        "except Exception as error: print(type(error).__name__)\n"
        "import logging; print(logging.getLogger('pymilvus.decorators').isEnabledFor(logging.ERROR))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["BackendUnavailableError", "False"] and "s3cret" not in done.stderr


def test_more_replicas_than_there_are_nodes(url):
    with pytest.raises(ConfigError, match="replicas is 3, and Milvus cannot load so many"):
        create_index("replicated", Identity(EMBEDDER, 2), engine="milvus", url=url, replicas=3)
    create_index("replicated", Identity(EMBEDDER, 2), engine="milvus", url=url).close()  # nothing was left behind


def test_no_address_and_no_client(monkeypatch):
    with pytest.raises(ConfigError, match="--url"):
        open_index("x", engine="milvus")
    optional_package.cache_clear()
    monkeypatch.setitem(sys.modules, "pymilvus", None)
    with pytest.raises(ConfigError, match=r"pip install 'diptych\[milvus\]'"):
        open_index("x", engine="milvus", url="http://127.0.0.1:1")
    optional_package.cache_clear()


@pytest.fixture(scope="module")
def proxy(url):
    made = Proxy(urlsplit(url).port)
    yield made
    made.thaw()
    made.stop()


def refused(call):
    started = time.monotonic()
    with pytest.raises(BackendUnavailableError) as told:
        call()
    assert time.monotonic() - started < 5
    assert str(told.value) == "the server of the index cannot be used now: it does not answer; try again later."


def test_a_server_that_is_away_or_frozen_is_told_in_seconds(proxy, varied_index, varied_place):
    address = f"http://127.0.0.1:{proxy.port}"
    with open_index(varied_place, engine="milvus", url=address) as index:
        calls = [lambda: index.count(where="a = 1"), lambda: index.search([1.0, 0.0], 3), index.check_available]
        for block, release in ((proxy.freeze, proxy.thaw), (proxy.stop, proxy.start)):
            for call in calls:
                call()
            block()
            for call in calls:
                refused(call)
            release()
            until = time.monotonic() + 30
            while True:
                try:
                    assert len(index.search([1.0, 0.0], 3)[0]) == 3
                    break
                except BackendUnavailableError:
                    assert time.monotonic() < until, "it recovers without being opened again"


def test_a_request_is_cancelled_when_its_time_is_over(varied_index, varied_place, url):
    with (
        open_index(varied_place, engine="milvus", url=url, time_limit_s=0.0001) as index,
        pytest.raises(TimeLimitError, match="took longer than allowed"),
    ):
        index.search([1.0, 0.0], 3)
