"""The pgvector engine keeps the contract in a real PostgreSQL, with and without its graph."""

import numpy as np
import pytest

from diptych.index import create_index, open_index
from diptych.methods.binary_codes import BinaryCodes
from index.contract import IDENTITY, EngineContract
from index.servers.postgresql import running_postgresql


@pytest.fixture(scope="session")
def url():
    with running_postgresql() as address:
        yield address


def random_codes(dimension, bits=32):
    """Signs of random projections, which are codes of vectors of any length."""
    rotation = np.random.default_rng(0).standard_normal((dimension, bits)).astype(np.float32)
    return BinaryCodes(np.zeros(dimension, np.float32), rotation, np.zeros((bits, dimension), np.float32))


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


class TestWithCodes(TestPgvector):
    """Fewer items than are scored by their vectors: the codes leave none of them out."""

    def new(self, place, identity=IDENTITY):
        return create_index(
            place, identity, engine="pgvector", url=self.url, bits=32, codes=random_codes(identity.dimension)
        )


class TestWithGraphOfCodes(TestWithCodes):
    def new(self, place, identity=IDENTITY):
        index = super().new(place, identity)
        index.optimise()
        return index
