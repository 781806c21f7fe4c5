"""Profiles: complete, in one place, and with schedules that fit the number of steps."""

import doctest
import sys
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diptych._core.errors import ConfigError
from diptych.methods.deep.profile import FAST, PROFILES, PUBLISHED, WIDE_COLUMNS, profile, sizes_for


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("stage", PUBLISHED)
def test_every_stage_of_every_profile_has_valid_settings(name, stage):
    settings = profile(name).settings(stage, seed=5)
    settings.check()
    assert settings.seed == 5


def test_the_paper_profile_is_what_was_published():
    for stage, published in PUBLISHED.items():
        settings = profile("paper").settings(stage, seed=0)
        assert (settings.steps, settings.batch_size) == (published.steps, published.batch_size)
        assert settings.weight_decay == published.weight_decay
        assert (settings.rate, settings.momentum) == (published.rate, published.momentum)
    assert PUBLISHED["gaussian-rbm"].steps == 100_000
    assert profile("paper").dbn_widths("dense", 2296) == (2048, 1024)
    assert profile("paper").dbn_widths("counts", 3000) == (1024, 1024)


def test_schedules_shrink_with_the_number_of_steps():
    short = profile("fast").settings("gaussian-rbm", seed=0)
    assert short.momentum.at(short.steps) == pytest.approx(0.9, abs=1e-3)
    assert short.rate.at(short.steps) < 0.2 * short.rate.at(0)


def test_narrow_inputs_get_narrow_first_layers():
    assert profile("standard").dbn_widths("dense", 10)[0] == 128
    assert profile("standard").dbn_widths("dense", 4096)[0] == profile("standard").dense_widths[0]


def test_an_unknown_profile_is_named():
    with pytest.raises(ConfigError, match=r"'quick'.*fast"):
        profile("quick")


ROWS = st.integers(2, 100_000)
COLUMNS = st.lists(st.integers(1, 20_000), min_size=1, max_size=3)


def test_the_example_of_the_docstring_runs():
    found = doctest.testmod(sys.modules[sizes_for.__module__])
    assert (found.attempted > 0, found.failed) == (True, 0)


@given(ROWS, ROWS, COLUMNS)
def test_fewer_rows_are_regularised_at_least_as_much(one, other, columns):
    few, many = (sizes_for(rows, columns) for rows in sorted((one, other)))
    for name in ("input_dropout", "dropout", "mixup", "weight_decay"):
        assert getattr(few, name) >= getattr(many, name), name
    assert few.batch_size <= many.batch_size
    assert few.dbn_widths <= many.dbn_widths
    assert few.steps * few.batch_size <= many.steps * many.batch_size  # rows seen in training


@given(ROWS, COLUMNS, COLUMNS)
def test_more_columns_are_regularised_at_least_as_much(rows, one, other):
    narrow, wide = (sizes_for(rows, columns) for columns in sorted((one, other), key=max))
    for name in ("input_dropout", "mixup", "weight_decay", "width"):
        assert getattr(wide, name) >= getattr(narrow, name), name
    assert wide.members <= narrow.members


def test_narrow_features_of_many_rows_are_read_as_they_are():
    """Each of few columns says what no other does: without one, or blended, rows lose what tells classes apart."""
    for rows, columns in ((1_000, (20, 20)), (10_000, (WIDE_COLUMNS - 1, 8))):
        ample, fewer = sizes_for(rows, columns), sizes_for(10 * max(columns), columns)
        assert (ample.input_dropout, ample.mixup) == (0, 0) and ample.dropout < fewer.dropout
        assert fewer.input_dropout > 0 and fewer.mixup > 0 and fewer.steps < ample.steps
    wide = sizes_for(100 * WIDE_COLUMNS, (WIDE_COLUMNS,))
    assert wide.input_dropout > 0 and wide.mixup > 0


@given(ROWS, COLUMNS)
def test_the_order_of_modalities_does_not_matter(rows, columns):
    assert sizes_for(rows, columns) == sizes_for(rows, columns[::-1])


@pytest.mark.parametrize("sizes", [FAST, sizes_for(2, [1]), sizes_for(10**6, [10**5])])
def test_sizes_can_be_trained(sizes):
    counts = {name: value for name, value in asdict(sizes).items() if isinstance(value, int)}
    assert len(counts) == 6 and min(counts.values()) >= 1
    assert min(sizes.dbn_widths) >= 1
    assert 0 <= sizes.input_dropout < 1 and 0 <= sizes.dropout < 1
    assert sizes.mixup >= 0 and sizes.weight_decay >= 0


def test_the_rule_really_decides_something():
    """Otherwise the comparisons above would compare equal numbers."""
    few, many = sizes_for(100, [WIDE_COLUMNS]), sizes_for(50_000, [WIDE_COLUMNS])
    assert few.batch_size < many.batch_size and few.input_dropout > many.input_dropout
    assert few.weight_decay > many.weight_decay
    assert sizes_for(100, [WIDE_COLUMNS]).width > sizes_for(100, [WIDE_COLUMNS - 1]).width
