"""The server counts what it does."""

from serving.asgi_client import bearer


def test_requests_are_counted_by_route(serve) -> None:
    client = serve(write_key="w", headers=bearer("w"))
    for _ in range(3):
        client("GET", "/v1/search?q=red")
    client("GET", "/v1/items/image:red-circle-train")
    client("GET", "/v1/items/image:blue-circle-train")
    client("GET", "/wild/%s" % ("x" * 50))
    client("BREW", "/v1/search")
    client("POST", "/v1/items", json={"items": [{"id": "a", "text": "red"}, {"id": "b", "text": "red"}]})
    lines = client("GET", "/metrics").text.splitlines()
    assert 'diptych_requests_total{method="GET",route="/v1/search",status="200"} 3.0' in lines
    assert 'diptych_requests_total{method="GET",route="/v1/items/{id:path}",status="200"} 2.0' in lines
    assert 'diptych_requests_total{method="GET",route="other",status="404"} 1.0' in lines
    assert 'diptych_requests_total{method="other",route="/v1/search",status="405"} 1.0' in lines
    assert 'diptych_items_changed_total{change="added"} 2.0' in lines
    assert "diptych_query_batch_count 3.0" in lines
    assert any(line.startswith("diptych_requests_in_flight 1.0") for line in lines)
    assert not any("xxx" in line for line in lines)


def test_two_applications_count_apart(serve) -> None:
    one, other = serve(), serve()
    one("GET", "/v1/search?q=red")
    assert 'route="/v1/search"' in one("GET", "/metrics").text
    assert 'route="/v1/search"' not in other("GET", "/metrics").text


def test_a_server_whose_index_fails_is_alive_but_not_ready(client, searcher, monkeypatch) -> None:
    def broken(**_):
        raise OSError("gone")

    monkeypatch.setattr(searcher, "list", broken)
    assert client("GET", "/healthz").json() == {"status": "ok"}
    response = client("GET", "/readyz")
    assert (response.status_code, response.json()["error"]["code"]) == (503, "not_ready")
