"""BM25 as a textbook has it: loops over entries and words. What every engine's search by words is compared with."""

import math
from collections import Counter

import numpy as np

from diptych.index import parse
from diptych.index.filters import matches
from diptych.index.words import lexical_tokens, stem

K1, B, EXACT = 1.2, 0.75, 0.25


class NaiveWords:
    """Entries in a dictionary: modality, text, metadata."""

    def __init__(self):
        self.entries = {}

    def put(self, ids, texts, modality, metadata=None):
        for place, id in enumerate(ids):
            name = modality if isinstance(modality, str) else modality[place]
            self.entries[id] = (name, texts[place], {} if metadata is None else metadata[place])

    def delete(self, ids):
        for id in ids:
            self.entries.pop(id, None)

    def words(self):
        return {id: tokens for id, (_, text, _) in self.entries.items() if text and (tokens := lexical_tokens(text))}

    def scores(self, query, where=None, modality=None):
        """The score of every entry that fits and holds a word of the query."""
        words = self.words()
        mean = sum(map(len, words.values())) / len(words) if words else 0
        exact = {id: Counter(tokens) for id, tokens in words.items()}
        stems = {id: Counter(map(stem, tokens)) for id, tokens in words.items()}
        typed = set(lexical_tokens(query))
        form_idf = {form: idf(form, exact) for form in typed}
        stem_idf = {stem(form): idf(stem(form), stems) for form in typed}
        condition = None if where is None else parse(where)
        found = {}
        for id in words:
            name, _, known = self.entries[id]
            if modality not in (None, name) or (condition and not matches(condition, id, name, known)):
                continue
            score = 0.0
            for root in stem_idf:
                forms = [form for form in typed if stem(form) == root]
                relative_length = len(words[id]) / mean
                score += (1 - EXACT) * stem_idf[root] * saturated(stems[id][root], relative_length)
                for form in forms:
                    score += EXACT / len(forms) * form_idf[form] * saturated(exact[id][form], relative_length)
            if score > 0:
                found[id] = score
        return found


def idf(term, counts):
    holding = sum(term in counted for counted in counts.values())
    return math.log(1 + (len(counts) - holding + 0.5) / (holding + 0.5))


def saturated(times, relative_length):
    times = min(times, 16)
    return times * (K1 + 1) / (times + K1 * (1 - B + B * relative_length))


def check_words(found, model, query, k, *, where=None, modality=None, offset=0):
    """The answer is the page of the naive order; entries that tie in single precision may fall either way by id."""
    scores = model.scores(query, where, modality)
    assert len(found.ids) == max(0, min(k, len(scores) - offset)), "k results whenever k exist"
    assert len(set(found.ids)) == len(found.ids)
    assert set(found.ids) <= set(scores), "something that does not fit, or holds no word of the query"
    ranked = sorted(scores.values(), reverse=True)[offset : offset + k]
    np.testing.assert_allclose([scores[id] for id in found.ids], ranked, rtol=1e-6)
    np.testing.assert_allclose(found.scores, ranked, rtol=1e-6)
    assert found.scores.dtype == np.float32
    assert [model.entries[id][0] for id in found.ids] == list(found.modalities)
    order = [(-score, id) for score, id in zip(found.scores.tolist(), found.ids, strict=True)]
    assert order == sorted(order), "by score, then by id"
    if found.metadata is not None:
        assert [model.entries[id][2] for id in found.ids] == list(found.metadata)
