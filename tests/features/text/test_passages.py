"""Long texts by passages: nothing between the first token and the last is left out while the cap allows."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diptych._core.errors import ConfigError
from diptych.features.text.passages import Passages, encode_passages, unit


@given(st.integers(0, 400), st.integers(1, 40), st.data())
def test_passages_cover_the_text_and_overlap(count, length, data) -> None:
    overlap = data.draw(st.integers(0, length - 1))
    pieces = Passages(length, overlap, most=10_000).of(range(count))
    assert sorted({token for piece in pieces for token in piece}) == list(range(count))
    assert all(len(piece) == min(count, length) for piece in pieces)
    for before, after in pairwise(pieces):
        assert before[-1] - after[0] + 1 >= overlap


def test_beyond_the_cap_passages_are_spread_from_end_to_end() -> None:
    pieces = Passages(10, 2, most=3).of(range(101))
    assert [piece[0] for piece in pieces] == [0, 46, 91]
    assert pieces[-1][-1] == 100


def test_a_row_is_the_mean_of_its_passages_at_length_one() -> None:
    def encode(tokens):
        return np.stack([np.array([row[0], row[-1], 1.0], dtype=np.float32) for row in tokens])

    passages = Passages(4, 1, most=9)
    texts = [[1, 2], [], [5, 6, 7, 8, 9, 10, 11], [3, 4]]
    rows = encode_passages(texts, passages, encode, 3)
    np.testing.assert_allclose(rows[0], unit(np.array([[1, 2, 1]], dtype=np.float32))[0])
    np.testing.assert_array_equal(rows[1], np.zeros(3))
    whole = unit(np.array([[5, 8, 1], [8, 11, 1]], dtype=np.float32)).sum(axis=0)
    np.testing.assert_allclose(rows[2], whole / np.linalg.norm(whole), rtol=1e-6)


def test_only_passages_of_one_length_go_together() -> None:
    seen = []

    def encode(tokens):
        seen.append(tokens.shape)
        return np.ones((len(tokens), 2), dtype=np.float32)

    encode_passages([[1]] * 3 + [[1, 2]] * 2 + [list(range(600))] * 4, Passages(600, 0, 1), encode, 2)
    assert seen == [(3, 1), (2, 2), (2, 600), (2, 600)]


@pytest.mark.parametrize("wrong", [Passages(0, 0, 1), Passages(5, 5, 1), Passages(5, -1, 1), Passages(5, 1, 0)])
def test_impossible_passages_are_refused(wrong) -> None:
    with pytest.raises(ConfigError, match="the overlap must be shorter"):
        wrong.check()
