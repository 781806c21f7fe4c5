"""Servers over the world of coloured shapes."""

from collections.abc import Iterator

import pytest

from diptych.serving import ServingSettings, create_app
from serving import fake_searcher
from serving.asgi_client import AsgiClient


@pytest.fixture
def searcher(tmp_path) -> Iterator[fake_searcher.FakeSearcher]:
    made = fake_searcher.filled(tmp_path)
    yield made
    made.close()


@pytest.fixture
def serve(searcher) -> Iterator:
    """A function that makes a client of a new application with these settings."""
    opened = []

    def with_settings(headers=None, address="127.0.0.1", **settings) -> AsgiClient:
        client = AsgiClient(create_app(searcher, ServingSettings(**settings)), headers, address)
        opened.append(client)
        return client

    yield with_settings
    for client in opened:
        client.close()
        client.app.state.service.close()


@pytest.fixture
def client(serve) -> AsgiClient:
    """A server as it is by default."""
    return serve()
