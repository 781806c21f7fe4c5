"""The milvus engine keeps the contract on a real server."""

import pytest

from diptych.index import create_index, open_index
from index.contract import IDENTITY, EngineContract
from index.servers.milvus import running_milvus

pytestmark = pytest.mark.slow  # the server takes its time over every collection


@pytest.fixture(scope="session")
def url(tmp_path_factory, worker_id):
    shared = tmp_path_factory.getbasetemp()
    with running_milvus(shared if worker_id == "master" else shared.parent) as address:
        yield address


@pytest.fixture(scope="module")
def place(tmp_path_factory, url):
    """Making a collection takes seconds, so tests that want an empty index share one."""
    place = tmp_path_factory.mktemp("milvus") / "index"
    create_index(place, IDENTITY, engine="milvus", url=url).close()
    return place


class TestMilvus(EngineContract):
    @pytest.fixture(autouse=True)
    def _server(self, url):
        self.url = url

    def new(self, place, identity=IDENTITY):
        return create_index(place, identity, engine="milvus", url=self.url)

    def again(self, place, embedder=None):
        return open_index(place, engine="milvus", embedder=embedder, url=self.url)

    @pytest.fixture
    def index(self, place):
        with self.again(place) as made:
            made.delete(made.list_ids(limit=1_000))
            yield made
