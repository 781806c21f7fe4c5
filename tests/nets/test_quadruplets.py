import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from diptych.nets.samplers import sample_quadruplets
from nets.enumeration import seeded

LABELS = torch.tensor([2, 0, 2, 7, 2, 0])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=2, max_size=12), st.integers(1, 4), st.integers(0, 10**6))
def test_every_quadruplet_satisfies_its_constraints(classes, per_item, seed):
    labels = torch.tensor(classes)
    rows = sample_quadruplets(labels, per_item, seeded(seed))
    if len(set(classes)) == 1:
        assert all(len(part) == 0 for part in rows)
        return
    assert all(len(part) == per_item * len(classes) for part in rows)
    assert (labels[rows.first_positive] == labels[rows.second_positive]).all()
    assert (labels[rows.first_negative] != labels[rows.first_positive]).all()
    assert (labels[rows.second_negative] != labels[rows.first_positive]).all()


def test_draws_have_the_probabilities_they_should():
    draws = 20_000
    rows = sample_quadruplets(LABELS, draws, seeded(1))
    count = len(LABELS)
    same = (LABELS[:, None] == LABELS[None]).double()
    joint = torch.zeros(3, count, count, dtype=torch.float64)
    one = torch.ones(draws * count, dtype=torch.float64)
    for table, partner in zip(joint, (rows.second_positive, rows.first_negative, rows.second_negative), strict=True):
        table.index_put_((rows.first_positive, partner), one, accumulate=True)
    joint /= draws * count
    positive = same / same.sum(1, keepdim=True) / count
    negative = (1 - same) / (1 - same).sum(1, keepdim=True) / count
    assert_close(joint, torch.stack([positive, negative, negative]), atol=0.004, rtol=0)


def test_the_two_negatives_are_independent():
    rows = sample_quadruplets(torch.tensor([0, 1, 1]), 10_000, seeded(2))
    chosen = rows.first_positive == 0
    equal = (rows.first_negative == rows.second_negative)[chosen].double().mean()
    assert abs(equal - 0.5) < 0.02


@pytest.mark.parametrize("labels", [[], [3], [3, 3, 3]])
def test_without_two_classes_there_are_none(labels):
    rows = sample_quadruplets(torch.tensor(labels, dtype=torch.int64), 3, seeded())
    assert all(part.shape == (0,) and part.dtype == torch.int64 for part in rows)


def test_draws_depend_on_the_generator_alone():
    once, again, other = (sample_quadruplets(LABELS, 3, seeded(s)) for s in (1, 1, 2))
    assert all(torch.equal(a, b) for a, b in zip(once, again, strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(once, other, strict=True))
