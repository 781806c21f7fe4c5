"""`diptych serve` as people start it: a process of its own over an index that was really built."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

pytest.importorskip("uvicorn")
import httpx
from typer.testing import CliRunner

from diptych.cli.main import app
from diptych.search import Searcher, build_index
from search.gallery import make, png

KEY = "a-key-to-write-with"


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    build_index(folder / "model", make(folder, components=4), folder / "index", projection="none")
    return folder / "index"


@contextmanager
def served(index, **variables):
    """The process and its address, once it is ready."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "diptych.cli", "serve", str(index), "--port", str(port)]
    environment = os.environ | variables | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    address = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + 120
        while time.monotonic() < until:
            assert process.poll() is None, process.stderr.read()
            try:
                if httpx.get(f"{address}/readyz", timeout=5).status_code == 200:
                    break
            except httpx.TransportError:
                time.sleep(0.1)
        yield process, address
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stderr.close()


def labels(answer):
    assert answer.status_code == 200, answer.text
    return [hit["metadata"]["label"] for hit in answer.json()["hits"]]


def test_a_server_searches_takes_pictures_and_items_and_stops_when_asked(index):
    with served(index, DIPTYCH_WRITE_KEY=KEY) as (process, address), httpx.Client(base_url=address) as client:
        assert labels(client.get("/v1/search", params={"q": "a blue wall", "into": "image", "k": 3})) == ["blue"] * 3
        form = {"data": {"query": json.dumps({"into": "text", "k": 3})}, "files": {"picture": png("red", "mine")}}
        assert labels(client.post("/v1/search", **form)) == ["red"] * 3
        item = {
            "data": {"item": json.dumps({"id": "mine", "metadata": {"label": "green", "mine": 1}})},
            "files": {"picture": png("green", "mine")},
        }
        assert client.post("/v1/items", **item).status_code == 401
        with_key = {"Authorization": f"Bearer {KEY}"}
        assert client.post("/v1/items", **item, headers=with_key).status_code == 201
        mine = client.get("/v1/search", params={"q": "green", "where": "mine = 1"}).json()["hits"]
        assert [hit["id"] for hit in mine] == ["mine"]
        assert client.get("/v1/media/mine?size=original").content == png("green", "mine")
        assert "Diptych" in client.get("/").text
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) in (0, -signal.SIGTERM)
        said = process.stderr.read()
    assert f"serving {index} at {address} (stop with Ctrl-C)" in said
    assert "Traceback" not in said and KEY not in said
    with Searcher.open(index, writable=True) as searcher:  # nothing is locked, nothing is lost
        assert searcher.get("mine").metadata["label"] == "green"
        assert searcher.remove(["mine"]) == 1


def test_ctrl_c_ends_it_quietly(index):
    with served(index) as (process, _):
        process.send_signal(signal.SIGINT)
        assert process.wait(60) in (0, 130, -signal.SIGINT)
        assert "Traceback" not in process.stderr.read()


def test_a_port_that_is_taken_is_told_before_anything_starts(diptych, index):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = diptych("serve", index, "--port", port)
    assert ended.status == 2
    assert f"cannot listen at 127.0.0.1, port {port}" in ended.err
    assert "choose another --port" in ended.err


def test_a_folder_that_is_no_index_is_told(diptych, tmp_path):
    ended = diptych("serve", tmp_path)
    assert ended.status == 2
    assert "is no index; run `diptych index" in ended.err


def test_proxies_and_names_reach_the_server(index, monkeypatch):
    started = []
    monkeypatch.setattr(
        "diptych.serving.process.serve_index", lambda place, settings, host, port: started.append(settings)
    )
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    common = ["serve", str(index), "--port", port]
    named = ["--allow-host", "photos.example", "--allow-host", "other.example", "--trust-proxy", "10.0.0.0/8"]
    for options in (common, [*common, *named]):
        outcome = CliRunner().invoke(app, options)
        assert outcome.exit_code == 0, outcome.output
    plain, told = started
    assert (plain.trust_proxy, plain.allow_hosts) == (None, ("127.0.0.1",))
    assert (told.trust_proxy, told.allow_hosts) == ("10.0.0.0/8", ("127.0.0.1", "photos.example", "other.example"))


def test_what_an_operator_sets_reaches_the_server(index, monkeypatch, tmp_path):
    started = []
    monkeypatch.setattr(
        "diptych.serving.process.serve_index", lambda place, settings, host, port: started.append(settings)
    )
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    assert CliRunner().invoke(app, ["keys", "add", str(tmp_path / "k.json"), "ann"]).exit_code == 0
    options = ["--keys", str(tmp_path / "k.json"), "--audit-log", str(tmp_path / "a.jsonl"), "--public-read"]
    options += ["--snapshots", str(tmp_path / "backups"), "--max-metadata", "2", "--max-items", "9"]
    outcome = CliRunner().invoke(app, ["serve", str(index), "--port", port, *options, "--query-timeout", "1.5"])
    assert outcome.exit_code == 0, outcome.output
    (told,) = started
    assert told.keys_file == str(tmp_path / "k.json") and told.public_read and told.writable
    assert told.audit_log == str(tmp_path / "a.jsonl") and told.snapshots == str(tmp_path / "backups")
    assert (told.max_metadata_bytes, told.max_items, told.query_timeout_s) == (2048, 9, 1.5)


def test_a_file_of_keys_that_is_not_there_is_told(diptych, index, tmp_path):
    ended = diptych("serve", index, "--keys", tmp_path / "none.json")
    assert ended.status == 2 and "is missing" in ended.err
