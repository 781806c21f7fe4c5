"""The pgvector engine beyond the contract: filters, the graph, many at once, and what it says when it cannot."""

import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings

from diptych._core.errors import BackendUnavailableError, ConfigError, DataError, DiptychError, optional_package
from diptych._core.seeding import generator
from diptych.index import EmbedderId, Identity, create_index, open_index
from diptych.index.filters.sql import to_postgresql
from index.brute_force import BruteForce, check_found
from index.servers import varied
from index.servers.postgresql import running_postgresql

EMBEDDER = EmbedderId("model")


@pytest.fixture(scope="module")
def url():
    with running_postgresql() as address:
        yield address


@pytest.fixture(scope="module")
def varied_index(url):
    with create_index("varied", varied.IDENTITY, engine="pgvector", url=url) as index:
        varied.fill(index)
        yield index


@given(varied.conditions)
@settings(max_examples=150, deadline=None)
def test_filters_mean_what_python_means(varied_index, condition):
    assert varied_index.list_ids(where=condition, limit=1_000) == varied.fitting(condition)


@given(varied.conditions)
def test_no_text_reaches_the_sql(condition):
    sql, parameters = to_postgresql(condition)
    assert sql.count("%s") == len(parameters)
    assert not any(sign in sql for sign in "ß😀ü;\\")


@pytest.fixture(scope="module")
def clustered(url):
    """Two thousand vectors under a graph, and what brute force says of them."""
    count, dimension = 2_000, 16
    draw = generator(0, "index", "pgvector")
    vectors = draw.normal(size=(40, dimension))[draw.integers(0, 40, count)] + 0.4 * draw.normal(
        size=(count, dimension)
    )
    ids, metadata = [f"{n:05d}" for n in range(count)], [{"rare": n % 500 == 0, "half": n % 2} for n in range(count)]
    model = BruteForce()
    model.put(ids, vectors, "image", metadata)
    with create_index("clustered", Identity(EMBEDDER, dimension), engine="pgvector", url=url) as index:
        index.add(ids, vectors, modality="image", metadata=metadata)
        index.optimise()
        yield index, model, vectors


def test_the_graph_is_used_and_finds_most(clustered):
    index, model, vectors = clustered
    right = 0
    for query in vectors[::100]:
        (found,) = index.search(query + 0.1, 10)
        exact = model.scores(query + 0.1)
        right += len(set(found.ids) & set(sorted(exact, key=exact.__getitem__)[-10:]))
        np.testing.assert_allclose(found.scores, [exact[id] for id in found.ids], atol=1e-6)
    assert right >= 0.9 * 10 * len(vectors[::100])
    with index._connections.borrowed() as connection:
        plan = connection.execute(
            "EXPLAIN SELECT id FROM diptych_clustered ORDER BY vector <#> %s LIMIT 26", [vectors[0].astype(np.float32)]
        ).fetchall()
    assert "diptych_clustered_vector" in str(plan)


def test_a_rare_condition_still_gets_all_there_are(clustered):
    index, model, vectors = clustered
    for query in vectors[:5]:
        (found,) = index.search(query, 10, where="rare = true")
        check_found(found, model, query, 10, where="rare = true")
        (found,) = index.search(query, 900, where="half = 1", offset=50)
        assert len(found) == 900


def test_threads_share_an_index_and_half_a_change_is_never_seen(url):
    pairs = np.eye(2, dtype=np.float32)
    wrong = []
    with create_index("threads", Identity(EMBEDDER, 2), engine="pgvector", url=url) as index:

        def write():
            for round in range(20):
                index.update(["a", "b"], pairs, modality="image", metadata=[{"round": round}] * 2)
                index.delete(["a", "b"])

        def read():
            for _ in range(40):
                (found,) = index.search(pairs[0], 5, with_metadata=True)
                if len(found) not in (0, 2) or len({known["round"] for known in found.metadata}) > 1:
                    wrong.append(found)

        threads = [threading.Thread(target=task) for task in (write, write, read, read)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong
        assert index.count() == 0


def test_names_of_any_kind_and_indexes_that_are_not_there(url):
    create_index("Grandma's Photos", Identity(EMBEDDER, 2), engine="pgvector", url=url).close()
    open_index("Grandma's Photos", engine="pgvector", url=url).close()
    with pytest.raises(DataError, match="already exists"):
        create_index("Grandma's Photos", Identity(EMBEDDER, 2), engine="pgvector", url=url)
    with pytest.raises(DataError, match=r"no index stored as diptych_nothing .*run `diptych index"):
        open_index("nothing", engine="pgvector", url=url)


def test_what_pgvector_cannot_keep(url):
    with pytest.raises(ConfigError, match="at most 16000"):
        create_index("wide", Identity(EMBEDDER, 16_001), engine="pgvector", url=url)
    with create_index("zero", Identity(EMBEDDER, 2_001), engine="pgvector", url=url) as index:
        with pytest.raises(DataError, match="zero byte"):
            index.add(["a"], np.ones((1, 2_001)), modality="image", metadata=[{"x": "\0"}])
        assert index.count() == 0
        index.add(["a"], np.ones((1, 2_001)), modality="image")
        index.optimise()  # too wide for a graph: compared one by one
        assert index.search(np.ones(2_001))[0].ids == ("a",)


@pytest.mark.parametrize("options", [{"links": 1}, {"ef_search": 5_000}, {"colour": 3}, {"ef_construction": 16}])
def test_options_out_of_range(options):
    with pytest.raises(ConfigError, match=next(iter(options))):
        create_index("x", Identity(EMBEDDER, 2), engine="pgvector", url="postgresql://localhost/x", **options)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:s3cret@127.0.0.1:1/db",
        "postgresql://me:s3cret@[::1/db",
        "host=127.0.0.1 port=1 password=s3cret",
    ],
)
def test_a_server_that_does_not_answer_and_no_password_in_the_message(address):
    with pytest.raises(DiptychError) as caught:
        open_index("x", engine="pgvector", url=address)
    told = getattr(caught.value, "details", None) or str(caught.value)
    assert "PostgreSQL" in told and "s3cret" not in told + str(caught.value)
    away = isinstance(caught.value, BackendUnavailableError)
    assert away == ("[" not in address and "127" in address) and (not away or "127.0.0.1" not in str(caught.value))
    assert caught.value.__suppress_context__


def test_no_address_and_no_driver(monkeypatch):
    with pytest.raises(ConfigError, match="--url postgresql://"):
        open_index("x", engine="pgvector")
    optional_package.cache_clear()
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ConfigError, match=r"pip install 'diptych\[pgvector\]'"):
        open_index("x", engine="pgvector", url="postgresql://localhost/x")
    optional_package.cache_clear()
