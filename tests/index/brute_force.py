"""An index in a dictionary: slow, plain, and right. What every engine is compared with."""

import math

import numpy as np

from diptych.index import parse
from diptych.index.filters import matches


class BruteForce:
    """Items as they were given, vectors normalised; search by comparing with every one."""

    def __init__(self):
        self.items = {}

    def put(self, ids, vectors, modality, metadata):
        for place, id in enumerate(ids):
            vector = np.asarray(vectors[place], np.float64)
            unit = (vector / math.sqrt(math.fsum(vector * vector))).astype(np.float32)
            name = modality if isinstance(modality, str) else modality[place]
            self.items[id] = (name, unit, metadata[place])

    def delete(self, ids):
        return sum(self.items.pop(id, None) is not None for id in ids)

    def fitting(self, where=None, modality=None):
        condition = None if where is None else parse(where)
        return [
            id
            for id, (name, _, metadata) in self.items.items()
            if (modality is None or name == modality) and (condition is None or matches(condition, id, name, metadata))
        ]

    def scores(self, query, where=None, modality=None):
        wide = np.asarray(query, np.float64)
        wide = wide / math.sqrt(math.fsum(wide * wide))
        ids = self.fitting(where, modality)
        return {id: math.fsum(self.items[id][1].astype(np.float64) * wide) for id in ids}


def check_found(found, model, query, k, *, where=None, modality=None, offset=0):
    """The answer is one that exact search could give: ties closer than single precision may fall either way."""
    scores = model.scores(query, where, modality)
    assert len(found.ids) == max(0, min(k, len(scores) - offset)), "k results whenever k exist"
    assert len(set(found.ids)) == len(found.ids)
    assert set(found.ids) <= set(scores), "something that does not fit, or was deleted"
    ranked = sorted(scores.values(), reverse=True)[offset : offset + k]
    np.testing.assert_allclose([scores[id] for id in found.ids], ranked, atol=1e-6)
    np.testing.assert_allclose(found.scores, ranked, atol=1e-6)
    assert found.scores.dtype == np.float32
    assert [model.items[id][0] for id in found.ids] == list(found.modalities)
    order = [(-score, id) for score, id in zip(found.scores.tolist(), found.ids, strict=True)]
    assert order == sorted(order), "by score, then by id"
    if found.metadata is not None:
        assert [model.items[id][2] for id in found.ids] == list(found.metadata)
