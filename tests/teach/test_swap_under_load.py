"""Eight clients search and one writes while a model is learned and swapped in, over a real server: nothing is lost."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import pytest

pytestmark = pytest.mark.slow

QUERIES = ("a+red+wall", "green+tile", "blue", "grey+cloth+in+the+light")


def send(address: str, method: str, path: str, body: object = None) -> dict:
    headers = {"Authorization": "Bearer w", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address + path, data, headers, method=method)
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
        return json.loads(answer.read())


@pytest.fixture
def address(own):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "diptych.cli", "serve", str(own), "--port", str(port)]
    server = subprocess.Popen(command, env=os.environ | {"DIPTYCH_WRITE_KEY": "w"})
    place, until = f"http://127.0.0.1:{port}", time.monotonic() + 120
    while time.monotonic() < until:
        try:
            send(place, "GET", "/readyz")
            break
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    yield place
    server.terminate()
    server.wait(60)


def test_no_request_fails_and_no_write_is_lost_while_learn_swaps(address) -> None:
    for colour in ("red", "green", "blue", "grey"):
        send(address, "PUT", "/v1/labels", {"items": [f"{colour}-00", f"{colour}-01"], "label": colour})
    ended, failed, answered, written, removed = threading.Event(), [], [], [], []

    def search(number: int) -> None:
        while not ended.is_set():
            try:
                found = send(address, "GET", f"/v1/search?q={QUERIES[number % 4]}&k=5")
                assert len(found["hits"]) == 5
                answered.append(time.monotonic())
            except Exception as error:
                failed.append(repr(error))

    def write() -> None:
        while not ended.is_set():
            id = f"text:new-{len(written)}"
            try:
                send(address, "POST", "/v1/items", {"items": [{"id": id, "text": "a green tile in the light"}]})
                written.append(id)
                if len(written) % 5 == 0:
                    send(address, "DELETE", f"/v1/items/{written[-3]}")
                    removed.append(written[-3])
                time.sleep(0.02)
            except Exception as error:
                failed.append(repr(error))

    threads = [threading.Thread(target=search, args=(number,)) for number in range(8)]
    threads.append(threading.Thread(target=write))
    for thread in threads:
        thread.start()
    try:
        send(address, "POST", "/v1/learn")
        until = time.monotonic() + 600
        while (state := send(address, "GET", "/v1/learn"))["state"] == "running" and time.monotonic() < until:
            time.sleep(0.3)
        swapped = time.monotonic()
        time.sleep(1.0)
        before = send(address, "GET", "/v1/models")["models"]
        back = send(address, "POST", "/v1/models/m0001/activate")
        time.sleep(1.0)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert state["state"] == "done" and [one["active"] for one in before] == [True, False] and back["active"]
    assert not failed, failed[:3]
    assert len(written) > 50 and any(at > swapped for at in answered)
    for id in written:
        try:
            found = send(address, "GET", f"/v1/items/{id}")["id"] == id
        except urllib.error.HTTPError as error:
            assert error.code == 404
            found = False
        assert found == (id not in removed), id
