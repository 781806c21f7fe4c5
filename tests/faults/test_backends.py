"""A vector database that is stopped, frozen or away at the start: searches are refused, and go on by themselves."""

import time

import httpx
import pytest

from faults.clients import Load, searching, searching_under
from faults.programs import run_command, serving
from index.servers.milvus import running_milvus
from index.servers.postgresql import running_server
from index.servers.proxy import Proxy

LONGEST_S = 5.0


@pytest.fixture(scope="module")
def postgresql():
    with running_server() as server:
        yield server


@pytest.fixture(scope="module")
def on_postgresql(world, postgresql, tmp_path_factory):
    """An index whose vectors and texts are in PostgreSQL."""
    index = tmp_path_factory.mktemp("postgresql") / "index"
    words = ["index", world / "model", world / "dataset", "--out", index]
    status, said = run_command(*words, "--engine", "pgvector", "--url", postgresql.url)
    assert status == 0, said
    return index


def recovered_s(load, since, clients):
    """How long after a moment the searches of so many requests in a row were all answered."""
    good = 0
    for started, status in sorted(load.seen):
        if started >= since:
            good = good + 1 if status == 200 else 0
            if good == clients:
                return started - since
    return float("inf")


@pytest.mark.faults(
    "PostgreSQL stopped, started, frozen, thawed and restarted under 8 clients",
    "200 or 503 with `Retry-After`, no hang above 5 s, recovery without a restart",
)
def test_postgresql(postgresql, on_postgresql, tmp_path, noted):
    requests = [searching(), searching("blue tile"), searching_under("label = 'red'"), searching("grey")] * 2
    with serving(on_postgresql, tmp_path / "log", "--query-timeout", 3) as server:
        with Load(server.address, requests, pause_s=0.02) as load:
            time.sleep(2)
            postgresql.stop()
            time.sleep(3)
            refused = httpx.get(f"{server.address}/v1/search", params={"q": "red"}, timeout=30)
            ready = httpx.get(f"{server.address}/readyz", timeout=30)
            postgresql.start()
            back = [time.monotonic()]
            time.sleep(4)
            postgresql.freeze()
            time.sleep(8)
            postgresql.thaw()
            back.append(time.monotonic())
            time.sleep(4)
            postgresql.stop()
            postgresql.start()
            back.append(time.monotonic())
            time.sleep(5)
        recoveries = [recovered_s(load, moment, 8) for moment in back]
        log = server.log.read_text()
    found = f"{load.statuses[200]:,} answered, {load.statuses[503]:,} refused; the slowest took {max(load.waits):.1f} s"
    noted(sum(load.statuses.values()), f"{found}; recovered within {max(recoveries):.1f} s")
    assert set(load.statuses) <= {200, 503} and max(load.waits) < LONGEST_S and max(recoveries) < LONGEST_S
    for answer in (refused, ready):
        assert answer.status_code == 503 and "retry-after" in answer.headers
        assert not any(secret in answer.text for secret in ("5432", "postgres", "/tmp", "diptych_"))
    assert "Traceback" not in log, log[-2000:]


@pytest.mark.faults(
    "`diptych serve` while PostgreSQL is unavailable, then frozen, then back",
    "503 with the reason within 15 s; recovery without a restart",
)
def test_postgresql_away_at_the_start(postgresql, on_postgresql, tmp_path, noted):
    postgresql.stop()
    try:
        with serving(on_postgresql, tmp_path / "log", wait=None) as server:
            began_s = server.wait_for("/healthz")
            told = [
                httpx.get(server.address + path, timeout=30) for path in ("/readyz", "/v1/search?q=red", "/v1/info")
            ]
            postgresql.start()
            postgresql.freeze()
            started = time.monotonic()
            told.append(httpx.get(f"{server.address}/readyz", timeout=30))
            frozen_s = time.monotonic() - started
            time.sleep(3)
            postgresql.thaw()
            back_s = server.wait_for("/readyz")
            answer = httpx.get(f"{server.address}/v1/search", params={"q": "red"}, timeout=30)
    finally:
        postgresql.thaw()
        postgresql.start()
    noted(4, f"answered after {began_s:.1f} s, recovered {back_s:.1f} s after PostgreSQL was back")
    assert answer.status_code == 200 and answer.json()["hits"] and began_s < 15 and frozen_s < LONGEST_S and back_s < 10
    for one in told:
        assert one.status_code == 503 and "retry-after" in one.headers and "cannot be used now" in one.text
        assert not any(secret in one.text for secret in ("5432", "postgres:", "/tmp", "diptych_"))


@pytest.mark.faults(
    "Milvus unavailable at the start, `like '%a%a…'`, frozen and back, under 4 clients",
    "200 or 503, no hang above 5 s, recovery without a restart",
)
def test_milvus(world, tmp_path, noted):
    with running_milvus(tmp_path) as url:
        proxy = Proxy(int(url.rsplit(":", 1)[1]))
        address = f"http://127.0.0.1:{proxy.port}"
        index = tmp_path / "index"
        words = ["index", world / "model", world / "dataset", "--out", index, "--engine", "milvus", "--url", address]
        status, said = run_command(*words)
        assert status == 0, said
        proxy.stop()
        requests = [searching(), searching("grey"), searching_under("text like '%a%a%a%a%a%a%a%a%a%a%b'")]
        requests.append(searching_under("label = 'red'"))
        with serving(index, tmp_path / "log", "--query-timeout", 4, wait=None) as server:
            began_s = server.wait_for("/healthz")
            away = httpx.get(f"{server.address}/readyz", timeout=30)
            proxy.start()
            back_s = server.wait_for("/readyz")
            with Load(server.address, requests, pause_s=0.05) as load:
                time.sleep(4)
                proxy.freeze()
                time.sleep(6)
                proxy.thaw()
                thawed = time.monotonic()
                time.sleep(8)
            again_s = recovered_s(load, thawed, 4)
        proxy.stop()
    found = f"answered after {began_s:.1f} s, recovered in {back_s:.1f} s and {again_s:.1f} s"
    noted(sum(load.statuses.values()), f"{found}; the slowest search took {max(load.waits):.1f} s")
    assert away.status_code == 503 and "retry-after" in away.headers and set(load.statuses) <= {200, 503}
    assert max(load.waits) < LONGEST_S and began_s < 15 and max(back_s, again_s) < 15
