"""Class votes against the explicit similarity W S Wᵀ."""

import numpy as np
import pytest

from diptych._core.seeding import generator
from diptych.methods import class_votes as module
from diptych.methods.class_votes import Voters, class_votes


def shares(codes, voters, k):
    """W: the k largest affinities of each code, as shares."""
    W = np.zeros((len(codes), len(voters)))
    for i, code in enumerate(codes):
        affinities = np.array([1 / (1 + np.exp(np.linalg.norm(code - voter))) for voter in voters])
        kept = np.argsort(-affinities)[:k]
        W[i, kept] = affinities[kept] / affinities[kept].sum()
    return W


@pytest.mark.parametrize("k", [1, 7, 40, 100])
def test_dot_products_of_votes_are_shared_weight(k: int, monkeypatch) -> None:
    monkeypatch.setattr(module, "_BLOCK_ENTRIES", 100)  # several blocks
    random = generator(0, "votes")
    queries, gallery, codes = (random.normal(size=(n, 3)) for n in (8, 9, 40))
    labels = random.integers(4, size=40)
    voters = Voters(codes, np.eye(4)[labels])
    same = (labels[:, None] == labels[None, :]).astype(float)
    expected = shares(queries, codes, k) @ same @ shares(gallery, codes, k).T
    actual = class_votes(queries, voters, k) @ class_votes(gallery, voters, k).T
    np.testing.assert_allclose(actual, expected, atol=1e-12)


def test_codes_far_from_every_voter_still_vote() -> None:
    voters = Voters(np.zeros((5, 2)), np.eye(5))
    votes = class_votes(np.array([[1e5, 1e5]]), voters, 5)
    np.testing.assert_allclose(votes, 0.2)


def test_no_rows_give_no_votes() -> None:
    assert class_votes(np.zeros((0, 2)), Voters(np.zeros((5, 2)), np.eye(5)), 3).shape == (0, 5)
