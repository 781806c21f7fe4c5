"""The local engine keeps the contract, whether vectors are compared one by one or by a graph, recent or folded."""

from diptych.index import create_index, open_index
from index.contract import IDENTITY, EngineContract


class TestFlat(EngineContract):
    def new(self, place, identity=IDENTITY):
        return create_index(place, identity)

    def again(self, place, embedder=None):
        return open_index(place, embedder=embedder)


class TestFoldedOften(TestFlat):
    def new(self, place, identity=IDENTITY):
        return create_index(place, identity, structure="flat", fold_at=1)


class TestGraph(TestFlat):
    def new(self, place, identity=IDENTITY):
        return create_index(place, identity, structure="hnsw", fold_at=8)
