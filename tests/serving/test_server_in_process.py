import socket
import threading
import time

import pytest

pytest.importorskip("uvicorn")
from diptych._core.errors import DataError
from diptych.search import NewItem
from diptych.serving import ServingSettings
from diptych.serving.process import Server, listening, serve, served
from diptych.up import HttpClient
from serving import coloured_shapes as shapes
from serving import fake_searcher


@pytest.fixture
def searcher(tmp_path):
    made = fake_searcher.filled(tmp_path)
    yield made
    made.index.close()


def test_what_is_written_is_found_at_once_and_too_much_is_an_error_of_data(searcher):
    listener = listening("127.0.0.1", 0)
    client = HttpClient(f"http://127.0.0.1:{listener.getsockname()[1]}")
    server = Server(searcher, ServingSettings(max_upload_bytes=10_000))
    with served(server, listener):
        before = client.get("/v1/info").json["entries"]
        assert server.index.add([NewItem("text:late", "text", "a red circle", {"item": "late"})], replace=True) == 1
        found = client.get("/v1/search", q="red circle", k=20).json["hits"]
        assert "late" in {hit["metadata"]["item"] for hit in found}
        assert client.get("/v1/info").json["entries"] == before + 1  # though what it says of itself is cached
        assert server.index.remove(["text:late", "text:never"]) == 1
        assert server.index.remove([]) == 0
        with pytest.raises(DataError):
            server.index.add([NewItem("image:big", "image", b"x" * 10_001)], replace=True)
        thing = shapes.world()[0]
        assert server.index.add([NewItem("image:again", "image", shapes.image(thing))], replace=True) == 1
    assert searcher.closed and server.ending.is_set()


def test_a_port_that_is_taken_gives_way_to_another():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with listening("127.0.0.1", port) as other:
            assert other.getsockname()[1] not in (0, port)


def test_what_runs_beside_the_server_ends_with_it(searcher):
    server, steps = Server(searcher, ServingSettings()), []

    def beside():
        steps.append("ready")
        server.ending.wait(30)
        steps.append("ended")

    def stop():
        while not steps:
            time.sleep(0.05)
        server.should_exit = True

    threading.Thread(target=stop, daemon=True).start()
    serve(server, listening("127.0.0.1", 0), beside)
    assert steps == ["ready", "ended"] and searcher.closed
