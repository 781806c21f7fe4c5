"""PostgreSQL is stopped, frozen, restarted or busy: told in seconds as what it is, and forgotten when it is over."""

import threading
import time

import numpy as np
import pytest

from diptych._core.errors import BackendUnavailableError, TimeLimitError
from diptych.index import EmbedderId, Identity, create_index, open_index
from diptych.index.filters.parser import parse
from index.servers.postgresql import running_server

LONGEST_S = 5.0
ONE = np.eye(4, dtype=np.float32)


@pytest.fixture(scope="module")
def server():
    with running_server() as made:
        with create_index("away", Identity(EmbedderId("m"), 4), engine="pgvector", url=made.url, words=True) as index:
            known = [{"n": n, "tags": [n, "x"]} for n in range(200)]
            rows = np.random.default_rng(0).normal(size=(200, 4))
            index.add([f"i{n}" for n in range(200)], rows, modality="image", metadata=known, words=["common"] * 200)
        yield made


@pytest.fixture
def index(server):
    with open_index("away", engine="pgvector", url=server.url) as opened:
        yield opened


def refused(call):
    """Whether a call says in time, and without an address, that the server is away."""
    started = time.monotonic()
    with pytest.raises(BackendUnavailableError) as told:
        call()
    assert time.monotonic() - started < LONGEST_S
    message = str(told.value)
    assert message.startswith("the database of the index cannot be used now")
    assert not any(word in message for word in ("5432", "postgres", "/tmp", "port", "socket", "diptych_"))
    return message


def calls(index):
    return [
        lambda: index.search(ONE[0], 3),
        lambda: index.search_words(["common"], 3),
        lambda: index.get(["i1"]),
        lambda: index.count(where="n > 5"),
        lambda: index.update(["i1"], ONE[:1], modality="image"),
        index.check_available,
    ]


def test_a_stopped_server_is_told_and_the_first_request_after_it_is_back_is_answered(server, index):
    with open_index("away", engine="pgvector", url=server.url) as idle:
        for call in calls(index):
            call()
        idle.search(ONE[0], 3)
        server.stop()
        try:
            for call in calls(index):
                refused(call)
        finally:
            server.start()
        for call in calls(index):
            call()
        assert len(idle.search(ONE[0], 3)[0]) == 3, "its connection is from before the restart"


def test_a_frozen_server_is_told_in_seconds(server, index):
    index.search(ONE[0], 3)
    server.freeze()
    try:
        for call in calls(index)[:3]:
            assert "does not answer" in refused(call)
    finally:
        server.thaw()
    for call in calls(index):
        call()


def test_a_restart_under_eight_clients_is_survived(server, index):
    stop, wrong, slowest = threading.Event(), [], []
    answered = [0] * 8

    def search(number):
        while not stop.is_set():
            started = time.monotonic()
            try:
                (found,) = index.search(ONE[number % 4], 3, where="n >= 0")
                if len(found) != 3:
                    wrong.append(found)
                answered[number] += 1
            except BackendUnavailableError:
                time.sleep(0.05)
            except Exception as error:
                wrong.append(error)
                return
            slowest.append(time.monotonic() - started)

    clients = [threading.Thread(target=search, args=(number,)) for number in range(8)]
    for client in clients:
        client.start()
    time.sleep(0.5)
    server.stop()
    time.sleep(0.5)
    server.start()
    time.sleep(0.5)
    server.freeze()
    time.sleep(3)
    server.thaw()
    before = list(answered)
    for _ in range(100):
        time.sleep(0.1)
        if all(now > then for now, then in zip(answered, before, strict=True)):
            break
    stop.set()
    for client in clients:
        client.join()
    assert not wrong, wrong[0]
    assert all(now > then for now, then in zip(answered, before, strict=True)), "every client recovers"
    assert max(slowest) < LONGEST_S


def test_a_query_is_cancelled_in_the_server_when_its_time_is_over(server):
    with open_index("away", engine="pgvector", url=server.url, time_limit_s=0.2) as index:
        with pytest.raises(TimeLimitError, match="took longer than allowed"):
            index._rows("SELECT pg_sleep(3) FROM {} LIMIT 1", [])
        assert len(index.search(ONE[0], 3)[0]) == 3
        with index._connections.transaction(limited=False) as connection:
            connection.execute("SELECT pg_sleep(0.4)")
        with index._connections.borrowed(limited=False) as connection:
            connection.execute("SELECT pg_sleep(0.4)")
        with pytest.raises(TimeLimitError):
            index._rows("SELECT pg_sleep(3) FROM {} LIMIT 1", [])


def test_a_long_query_of_a_living_server_is_waited_for(server):
    with open_index("away", engine="pgvector", url=server.url, time_limit_s=None) as index:
        index._rows("SELECT pg_sleep(4) FROM {} LIMIT 1", [])


def test_a_lock_is_waited_for_with_a_limit(server):
    with (
        open_index("away", engine="pgvector", url=server.url) as holder,
        open_index("away", engine="pgvector", url=server.url, wait_s=0.2) as index,
        holder._connections.transaction() as connection,
    ):
        connection.execute("SELECT 1 FROM diptych_away WHERE id = 'i1' FOR UPDATE")
        assert "others are changing the same items" in refused(lambda: index.update(["i1"], ONE[:1], modality="image"))


@pytest.mark.parametrize("count", [2, 4_000])
def test_lists_of_any_length_mean_the_same_and_are_one_parameter(server, index, count):
    values = ",".join(map(str, range(0, 2 * count, 2)))
    expected = min(100, count)
    for where in (f"n in ({values})", f"tags in ({values})"):
        assert index.count(where=where) == expected
        assert index.count(where=f"not {where}") == 200 - expected
    assert len(index.search(ONE[0], 500, where=parse(f"n in ({values})"))[0]) == expected
