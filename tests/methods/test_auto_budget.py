"""How much of the data a fit within the budget may look at."""

import numpy as np
import pytest

import synthetic
from diptych.data import Protocol, training_data
from diptych.methods.auto import (
    FEWEST_LABELLED,
    FEWEST_PAIRS,
    START_SECONDS,
    affordable,
    network_seconds,
    partner_seconds,
)
from diptych.methods.propagation import propagate
from diptych.methods.training_inputs import FEWEST_OF_A_CLASS, MOST_VALIDATION_ITEMS, limited

RSICD, EMOJI = (1_280, 1_000), (2_017, 1_000)


@pytest.mark.parametrize(
    ("labelled", "columns", "measured"),
    [(7_369, RSICD, 48.9), (1_327, EMOJI, 24.5), (2_173, (128, 10), 14.4)],
)
def test_estimates_are_near_what_was_measured_on_two_cores(labelled, columns, measured) -> None:
    estimate = network_seconds(labelled, columns) + partner_seconds(labelled, columns)
    assert estimate == pytest.approx(measured, rel=0.2)


def test_ten_thousand_items_stay_within_a_minute() -> None:
    for rows in (7_369, 10_000, 20_000, 100_000, 1_000_000):
        for columns in (RSICD, EMOJI, (1_280, 384), (4_096, 4_096)):
            found = affordable(rows, rows, columns, 60.0)
            assert found.seconds <= 60.0 or (found.pairs == FEWEST_PAIRS and found.labelled == 0)
            assert found.labelled <= found.pairs <= rows


def test_what_fits_is_learned_from_whole() -> None:
    found = affordable(5_000, 5_000, RSICD, 60.0)
    assert (found.pairs, found.labelled) == (5_000, 5_000)
    assert START_SECONDS < found.seconds < 60


def test_a_longer_budget_never_looks_at_less() -> None:
    budgets = (5.0, 20.0, 60.0, 200.0, 2_000.0)
    found = [affordable(60_000, 60_000, RSICD, budget) for budget in budgets]
    assert [each.labelled for each in found] == sorted(each.labelled for each in found)
    assert [each.pairs for each in found] == sorted(each.pairs for each in found)
    assert found[0].labelled == 0 and found[0].pairs == FEWEST_PAIRS
    assert 0 < found[2].labelled < 60_000 and found[-1].labelled == 60_000


def test_labels_are_not_asked_for_where_there_are_none() -> None:
    assert affordable(500, 0, RSICD, 60.0).labelled == 0
    assert affordable(500, 500, RSICD, 0.1).labelled == 0
    assert FEWEST_LABELLED < FEWEST_PAIRS


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    base = synthetic.draft(counts={"train": 600, "val": 60, "test": 6})
    rare = ["rare" if n < 12 else label for n, label in enumerate(base.labels)]
    content = synthetic.replace(base, labels=rare, classes=(*base.classes, "rare"))
    return training_data(synthetic.write(tmp_path_factory.mktemp("limited") / "data", content))


def test_what_is_affordable_is_drawn_by_the_seed(data) -> None:
    small = limited(data, 300, 120, seed=1)
    assert len(small.train) == 300
    assert small.train.labels.is_labelled.sum() == 120
    again, other = (limited(data, 300, 120, seed=seed) for seed in (1, 2))
    np.testing.assert_array_equal(small.train.ids, again.train.ids)
    assert set(small.train.ids.tolist()) != set(other.train.ids.tolist())
    assert small.validation is data.validation


def test_rare_classes_keep_their_labels(data) -> None:
    small = limited(data, 600, 80, seed=0)
    counts = dict(zip(small.classes, small.train.labels.class_counts(), strict=True))
    assert counts["rare"] >= FEWEST_OF_A_CLASS
    assert sum(counts.values()) == 80


def test_everything_stays_where_it_is_affordable(data) -> None:
    assert limited(data, 600, 600, seed=0) is data
    assert limited(data, 600, 0, seed=0).train.labels.is_labelled.all()


def test_items_without_a_partner_stay(gaps_dataset) -> None:
    data = training_data(gaps_dataset)
    small = limited(data, 10, 96, seed=0)
    assert len(small.train.having("image", "text")) == 10
    for name in ("image", "text"):
        lone = data.train.has(name) & ~data.train.has("text" if name == "image" else "image")
        kept = small.train.has(name) & ~small.train.has("text" if name == "image" else "image")
        assert lone.sum() == kept.sum()


def test_soft_labels_go_with_their_items(gaps_dataset) -> None:
    data, _ = propagate(training_data(gaps_dataset, Protocol(propagate=True)), Protocol(propagate=True))
    small = limited(data, 40, 30, seed=0)
    place = [data.train.ids.tolist().index(name) for name in small.train.ids]
    known = small.train.labels.is_labelled
    assert known.sum() == 30
    np.testing.assert_array_equal(small.soft_labels[known], data.soft_labels[place][known])
    assert not small.soft_labels[~known].any()
    assert len(small.given_labels) == len(small.train)


def test_a_few_thousand_validation_items_judge(tmp_path) -> None:
    base = synthetic.draft(counts={"train": 30, "val": MOST_VALIDATION_ITEMS + 50, "test": 6})
    data = training_data(synthetic.write(tmp_path / "data", base))
    small = limited(data, 30, 30, seed=0)
    assert len(small.validation) == MOST_VALIDATION_ITEMS
