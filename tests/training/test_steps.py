import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diptych._core.errors import ConfigError
from diptych.training import BatchOrder


@given(st.integers(1, 40), st.integers(1, 50), st.integers(0, 5))
def test_every_epoch_shows_each_row_exactly_once(count, batch_size, seed):
    order = BatchOrder(count, batch_size, seed)
    size = min(count, batch_size)
    stream = np.concatenate([order.rows(step) for step in range(-(-3 * count // size))])
    assert {len(order.rows(step)) for step in range(10)} == {size}
    for epoch in range(3):
        assert sorted(stream[epoch * count : (epoch + 1) * count]) == list(range(count))


def test_a_step_needs_no_history_and_depends_on_the_seed():
    order = BatchOrder(100, 32, 3)
    forward = [order.rows(step).tolist() for step in range(20)]
    assert [order.rows(step).tolist() for step in reversed(range(20))] == forward[::-1]
    assert BatchOrder(100, 32, 4).rows(0).tolist() != forward[0]
    assert sorted(order.rows(0)) != sorted(order.rows(3))


def test_a_batch_may_be_changed_without_changing_the_order():
    order = BatchOrder(10, 10, 0)
    batch = order(0)
    expected = batch.tolist()
    batch.zero_()
    assert order(0).tolist() == expected


def test_no_rows():
    with pytest.raises(ConfigError, match="no rows to train on"):
        BatchOrder(0, 5, 0)
