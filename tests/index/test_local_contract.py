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


class TestBinary(TestFlat):
    """Codes give candidates and vectors score them: with enough candidates the answers are those of the vectors."""

    def new(self, place, identity=IDENTITY):
        return create_index(place, identity, bits=64, shortlist=15, fold_at=8)
