"""The pgvector engine keeps the contract in a real PostgreSQL, with and without its graph."""

import pytest

from diptych.index import create_index, open_index
from index.contract import IDENTITY, EngineContract
from index.servers.postgresql import running_postgresql


@pytest.fixture(scope="session")
def url():
    with running_postgresql() as address:
        yield address


class TestPgvector(EngineContract):
    @pytest.fixture(autouse=True)
    def _server(self, url):
        self.url = url

    def new(self, place, identity=IDENTITY):
        return create_index(place, identity, engine="pgvector", url=self.url)

    def again(self, place, embedder=None):
        return open_index(place, engine="pgvector", embedder=embedder, url=self.url)


class TestWithGraph(TestPgvector):
    def new(self, place, identity=IDENTITY):
        index = super().new(place, identity)
        index.optimise()
        return index
