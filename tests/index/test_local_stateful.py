"""Any sequence of calls on the local engine gives what a dictionary and exact arithmetic give."""

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from diptych._core.errors import DataError
from diptych.index import EmbedderId, Identity, create_index, open_index
from index.brute_force import BruteForce, check_found

DIMENSION = 3
ids = st.lists(st.sampled_from([f"i{n}" for n in range(12)]), min_size=1, max_size=6, unique=True)
vectors = st.tuples(*[st.integers(-2, 2)] * DIMENSION).filter(any)
seeds = st.integers(0, 2**20)
conditions = st.sampled_from([None, "n > 1", "w = 'x'", "n is null or w in ('y', 'z')", "id < 'i5'"])
modalities = st.sampled_from([None, "image", "text"])


class Machine(RuleBasedStateMachine):
    """Writes, folds and openings in any order; many vectors are equal, many scores tie."""

    @initialize(fold_at=st.sampled_from([1, 4, 1000]))
    def start(self, fold_at):
        self.folder = Path(tempfile.mkdtemp())
        self.model = BruteForce()
        identity = Identity(EmbedderId("m"), DIMENSION)
        self.index = create_index(self.folder / "index", identity, structure="flat", fold_at=fold_at)
        self.other = open_index(self.folder / "index", read_only=True)

    def drawn(self, ids, data):
        rows = np.array([data.draw(vectors) for _ in ids], np.float32)
        names = [data.draw(st.sampled_from(["image", "text"])) for _ in ids]
        known = [data.draw(st.sampled_from([{}, {"n": 1}, {"n": 2, "w": "x"}, {"w": ["y", "x"]}])) for _ in ids]
        return rows, names, known

    @rule(ids=ids, data=st.data())
    def add(self, ids, data):
        rows, names, known = self.drawn(ids, data)
        if set(ids) & set(self.model.items):
            with pytest.raises(DataError, match="already in the index"):
                self.index.add(ids, rows, modality=names, metadata=known)
        else:
            assert self.index.add(ids, rows, modality=names, metadata=known) == len(ids)
            self.model.put(ids, rows, names, known)

    @rule(ids=ids, data=st.data())
    def update(self, ids, data):
        rows, names, known = self.drawn(ids, data)
        self.index.update(ids, rows, modality=names, metadata=known)
        self.model.put(ids, rows, names, known)

    @rule(ids=ids)
    def delete(self, ids):
        assert self.index.delete(ids) == self.model.delete(ids)

    @rule()
    def optimise(self):
        self.index.optimise()

    @rule(damage=st.booleans())
    def reopen(self, damage):
        self.index.close()
        if damage:
            shutil.rmtree(self.folder / "index" / "derived", ignore_errors=True)
        self.index = open_index(self.folder / "index")

    @rule(query=vectors, k=st.integers(1, 14), offset=st.integers(0, 3), where=conditions, modality=modalities)
    def search(self, query, k, offset, where, modality):
        vector = np.array(query, np.float32)
        options = {"where": where, "modality": modality, "offset": offset}
        for index in (self.index, self.other):
            for with_metadata in (False, True):
                (found,) = index.search(vector, k, with_metadata=with_metadata, **options)
                check_found(found, self.model, vector, k, **options)

    @invariant()
    def nothing_is_lost(self):
        assert self.index.list_ids(limit=100) == sorted(self.model.items)
        assert self.other.count() == len(self.model.items)

    def teardown(self):
        self.index.close()
        self.other.close()
        shutil.rmtree(self.folder)


TestLocal = Machine.TestCase
TestLocal.settings = settings(max_examples=10, stateful_step_count=12, deadline=None)
