"""Only who has the key may read, only who has the write key may write."""

import hmac

import pytest

from diptych._core.errors import ConfigError
from diptych.serving import ServingSettings
from diptych.serving import security as keys_module
from serving.asgi_client import bearer

READS = ["/v1/info", "/v1/search?q=red", "/v1/items", "/v1/items/image:red-circle-train", "/v1/projection", "/metrics"]
READS += ["/v1/similar/image:red-circle-train", "/v1/media/image:red-circle-train", "/v1/suggest?q=re"]
ADD = {"json": {"items": [{"id": "x", "text": "red"}]}}


@pytest.mark.parametrize("address", READS)
def test_reading_needs_one_of_the_keys(serve, address) -> None:
    client = serve(read_key="röad", write_key="w")
    without = client("GET", address)
    assert (without.status_code, without.json()["error"]["code"]) == (401, "key_needed")
    assert without.headers["www-authenticate"].startswith("Bearer")
    wrong = client("GET", address, headers=bearer("wrong"))
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (401, "key_wrong")
    for right in ("röad".encode(), b"w"):
        assert client("GET", address, headers={"Authorization": b"Bearer " + right}).status_code == 200


def routes_of(app):
    """Every method and address under /v1, with parameters that are wrong in any case."""
    for address, ways in app.openapi()["paths"].items():
        if address.startswith("/v1/"):
            yield from ((way.upper(), address.replace("{id}", "x") + "?k=oops&limit=oops&size=oops") for way in ways)


def test_every_route_asks_for_the_key_before_it_looks_at_the_request(serve):
    client = serve(read_key="r", write_key="w")
    routes = list(routes_of(client.app))
    assert len(routes) > 8
    for method, address in routes:
        answer = client(method, address, content=b"{not json", headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "key_needed"), (method, address)


def test_posting_a_query_is_reading(serve) -> None:
    client = serve(read_key="r")
    body = {"parts": [{"kind": "text", "text": "red"}]}
    assert client("POST", "/v1/search", json=body).status_code == 401
    assert client("POST", "/v1/search", json=body, headers=bearer("r")).status_code == 200


def test_only_the_write_key_writes(serve, searcher) -> None:
    client = serve(read_key="r", write_key="w")
    assert client("POST", "/v1/items", **ADD).status_code == 401
    assert client("POST", "/v1/items/delete", json={"ids": ["x"]}).status_code == 401
    assert client("POST", "/v1/items/delete", headers=bearer("r"), json={"ids": ["x"]}).status_code == 403
    assert client("POST", "/v1/items", headers=bearer("nope"), **ADD).json()["error"]["code"] == "key_wrong"
    reader = client("POST", "/v1/items", headers=bearer("r"), **ADD)
    assert (reader.status_code, reader.json()["error"]["code"]) == (403, "key_cannot_write")
    assert searcher.get("x") is None
    assert client("POST", "/v1/items", headers=bearer("w"), **ADD).status_code == 201


def test_the_key_is_asked_for_before_the_body_is_read(serve) -> None:
    assert serve(write_key="w")("POST", "/v1/items", content=b"{not json").status_code == 401


def test_health_and_the_page_need_no_key(serve) -> None:
    client = serve(read_key="r")
    for address in ("/healthz", "/readyz", "/", "/page/app.js", "/openapi.json"):
        assert client("GET", address).status_code == 200, address


def test_a_wrong_key_is_told_where_only_writing_needs_one(serve) -> None:
    client = serve(write_key="w")
    assert client("GET", "/v1/info").status_code == 200
    assert client("GET", "/v1/info", headers=bearer("w")).status_code == 200
    assert client("GET", "/v1/info", headers=bearer("x")).json()["error"]["code"] == "key_wrong"


@pytest.mark.parametrize("header", ["Basic r", "Bearer", "r", "Bearer  ", "Bearer \x80"])
def test_strange_headers_are_no_key(serve, header) -> None:
    client = serve(read_key="r")
    assert client("GET", "/v1/info", headers={"Authorization": header.encode("latin-1")}).status_code == 401


def test_keys_are_compared_in_constant_time_and_whole(serve, monkeypatch) -> None:
    compared = []

    def noting(left, right):
        compared.append((left, right))
        return hmac.compare_digest(left, right)

    monkeypatch.setattr(keys_module, "hmac", type("Noting", (), {"compare_digest": staticmethod(noting)}))
    serve(read_key="r" * 99, write_key="w")("GET", "/v1/info", headers=bearer("r"))
    assert [(len(left), len(right)) for left, right in compared] == [(64, 64)] * 2  # digests: no length leaks


def test_settings_do_not_show_keys_and_refuse_careless_ones() -> None:
    assert "secret" not in repr(ServingSettings(read_key="secret", write_key="secret2"))
    with pytest.raises(ConfigError, match="the read key is empty"):
        ServingSettings(read_key="")
    with pytest.raises(ConfigError, match="are the same"):
        ServingSettings(read_key="a", write_key="a")
    with pytest.raises(ConfigError, match="max_pixels is 0"):
        ServingSettings(max_pixels=0)
    with pytest.raises(ConfigError, match="the rate is 0"):
        ServingSettings(rate_per_second=0)


def test_settings_pass_through_the_environment() -> None:
    settings = ServingSettings(read_key="r", write_key="w", rate_per_second=2.5, workers=3)
    assert ServingSettings.from_environment(settings.to_environment()) == settings
    assert "r" not in settings.to_environment()["DIPTYCH_SERVE_SETTINGS"].split('"')
    with pytest.raises(ConfigError, match="no_such"):
        ServingSettings.from_environment({"DIPTYCH_SERVE_SETTINGS": '{"no_such": 1}'})
