"""The description of the interface is what was agreed; DIPTYCH_WRITE_OPENAPI=1 writes it anew after a wanted change."""

import json
import os
from pathlib import Path

import pytest

AGREED = Path(__file__).parent / "openapi.json"
SHARED = {"401", "422", "429", "500", "503"}


@pytest.fixture
def document(client) -> dict:
    return client("GET", "/openapi.json").json()


def test_the_description_is_the_agreed_one(document) -> None:
    document["info"]["version"] = "-"
    written = json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    if os.environ.get("DIPTYCH_WRITE_OPENAPI") == "1":
        AGREED.write_text(written, encoding="utf-8")
    assert json.loads(AGREED.read_text(encoding="utf-8")) == document


def test_every_address_is_described(document) -> None:
    found = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert found == {
        ("GET", "/v1/search"),
        ("POST", "/v1/search"),
        ("GET", "/v1/suggest"),
        ("GET", "/v1/similar/{id}"),
        ("GET", "/v1/items"),
        ("POST", "/v1/items"),
        ("POST", "/v1/items/delete"),
        ("GET", "/v1/items/{id}"),
        ("PUT", "/v1/items/{id}"),
        ("DELETE", "/v1/items/{id}"),
        ("GET", "/v1/media/{id}"),
        ("GET", "/v1/labels"),
        ("PUT", "/v1/labels"),
        ("DELETE", "/v1/labels"),
        ("GET", "/v1/labels.csv"),
        ("PUT", "/v1/labels.csv"),
        ("GET", "/v1/teach"),
        ("GET", "/v1/teach/next"),
        ("GET", "/v1/teach/items"),
        ("GET", "/v1/teach/spread"),
        ("GET", "/v1/learn"),
        ("POST", "/v1/learn"),
        ("DELETE", "/v1/learn"),
        ("GET", "/v1/models"),
        ("GET", "/v1/models/compare"),
        ("POST", "/v1/models/{id}/activate"),
        ("GET", "/v1/projection"),
        ("GET", "/v1/browse"),
        ("GET", "/v1/info"),
        ("GET", "/v1/map"),
        ("PATCH", "/v1/items/{id}"),
        ("POST", "/v1/facets"),
        ("GET", "/v1/snapshots"),
        ("POST", "/v1/snapshots"),
        ("GET", "/healthz"),
        ("GET", "/readyz"),
        ("GET", "/metrics"),
    }


def test_every_error_has_the_one_body_and_every_reference_leads_somewhere(document) -> None:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            answers = operation["responses"]
            if path.startswith("/v1"):
                assert set(answers) >= SHARED, (method, path)
                assert operation["security"]
            for status, answer in answers.items():
                if int(status) >= 400:
                    schema = answer["content"]["application/json"]["schema"]
                    assert schema == {"$ref": "#/components/schemas/ErrorBody"}, (method, path, status)
    text = json.dumps(document)
    for part in text.split('"#/components/schemas/')[1:]:
        assert part.split('"')[0] in document["components"]["schemas"]
