"""Whatever is sent, the server answers: no failure, no hang, no growing memory."""

import os

import psutil
import pytest
import schemathesis
from httpx import InvalidURL
from hypothesis import HealthCheck, Phase, given, seed, settings
from requests import Request, RequestException

from diptych.serving import ServingSettings, create_app
from serving import fake_searcher
from serving.asgi_client import AsgiClient, bearer
from serving.hostile_requests import requests

CALM = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True, "database": None}
FEW = settings(max_examples=100, phases=[Phase.generate], **CALM)
MANY = settings(max_examples=7_000, phases=[Phase.generate], **CALM)
KEPT_MIB = 120


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    """A server that may be written to, with limits small enough to be met."""
    limits = ServingSettings(write_key="w", max_upload_bytes=200_000, max_pixels=1_000_000)
    app = create_app(fake_searcher.filled(tmp_path_factory.mktemp("fuzz")), limits)
    client = AsgiClient(app, bearer("w"))
    yield client
    client.close()
    app.state.service.close()


def check(response) -> None:
    assert response.status_code < 500, response.text
    assert response.headers["x-content-type-options"] == "nosniff"
    if response.status_code >= 400 and response.request.method != "HEAD":
        assert set(response.json()) == {"error"}
        assert set(response.json()["error"]) == {"code", "message"}


@FEW
@given(asked=requests())
def test_hostile_requests_are_answered(target, asked) -> None:
    method, address, options = asked
    check(target(method, address, **options))


@pytest.mark.slow
def test_thousands_of_hostile_requests_are_answered_in_flat_memory(target) -> None:
    used = []

    @MANY
    @given(asked=requests())
    def ask(asked) -> None:
        method, address, options = asked
        check(target(method, address, **options))
        used.append(psutil.Process().memory_info().rss)

    ask()
    middle = len(used) // 3  # after everything has been loaded
    assert len(used) > 6_000
    assert (max(used[-500:]) - max(used[middle : middle + 500])) / 2**20 < KEPT_MIB
    assert target("GET", "/v1/search?q=red").status_code == 200


def sent(target, case):
    """The answer to a drawn case; None for what no client can put on the wire."""
    given = case.as_transport_kwargs(base_url="http://localhost")
    names = ("method", "url", "headers", "params", "json", "data", "files")
    try:
        wire = Request(**{name: given[name] for name in names if given.get(name) is not None}).prepare()
        headers = {name: value for name, value in wire.headers.items() if name.lower() != "authorization"}
        return target(wire.method, wire.url, headers=headers, content=wire.body)
    except (UnicodeError, ValueError, TypeError, AttributeError, InvalidURL, RequestException):
        return None


def asked_by_schema(target, examples: int) -> None:
    schema = schemathesis.openapi.from_dict(target.app.openapi())
    for operation in schema.get_all_operations():
        strategy = operation.ok().as_strategy()

        @seed(0)
        @settings(max_examples=examples, phases=[Phase.generate], **CALM)
        @given(case=strategy)
        def ask(case) -> None:
            response = sent(target, case)
            if response is None:
                return
            check(response)
            if response.status_code < 300:
                case.operation.validate_response(schemathesis.Response.from_httpx(response, verify=False))

        ask()


def test_what_the_description_allows_is_answered_as_it_says(target) -> None:
    asked_by_schema(target, 6)


@pytest.mark.slow
def test_thousands_of_described_requests_are_answered_as_it_says(target) -> None:
    asked_by_schema(target, int(os.environ.get("DIPTYCH_FUZZ_CASES", "250")))
