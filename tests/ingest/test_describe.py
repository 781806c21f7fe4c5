"""Rows of some units: a few in memory at a time, the broken ones noted."""

import numpy as np
import pytest
import scipy.sparse as sp

from diptych._core.errors import ConfigError
from diptych.ingest.describe import Broken, describe
from diptych.ingest.work_folder import Shard, read_shard, write_shard


class Lengths:
    """A word's length and first letter; "bad" cannot be described, and "nan" is described badly."""

    def __init__(self, sparse=False) -> None:
        self.sparse, self.batches = sparse, []

    def __call__(self, items):
        self.batches.append(len(items))
        if "bad" in items:
            raise ValueError("a bad word")
        if "wrong" in items:
            raise ConfigError("wrong from the start")
        rows = np.array([[len(item), ord(item[0])] for item in items], dtype=np.float32).reshape(-1, 2)
        rows[[item == "nan" for item in items]] = np.nan
        return sp.csr_array(rows.astype(np.int32)) if self.sparse else rows


def read(unit):
    return Broken("silence") if unit == "" else unit


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_and_reasons_stay_in_order(sparse) -> None:
    units = ["one", "", "three", "bad", "sixsix"] * 7
    shard = describe(Lengths(sparse), units, read)
    dense = shard.rows.toarray() if sparse else shard.rows
    assert dense[:, 0].tolist() == [3, 5, 6] * 7
    assert shard.present.tolist() == [True, False, True, False, True] * 7
    assert shard.reasons[:5] == ("", "silence", "", "cannot be described (ValueError: a bad word)", "")


def test_values_that_are_not_finite_are_broken() -> None:
    shard = describe(Lengths(), ["one", "nan", "two"], read)
    assert shard.rows.tolist() == [[3, ord("o")], [3, ord("t")]]
    assert shard.reasons[1] == "its features hold a value that is not finite"


def test_large_items_come_in_small_batches(monkeypatch) -> None:
    monkeypatch.setattr("diptych.ingest.describe._BATCH_BYTES", 100)

    class Sums:
        def __init__(self) -> None:
            self.batches = []

        def __call__(self, items):
            self.batches.append(len(items))
            return np.array([[item.sum()] for item in items], dtype=np.float32)

    sums = Sums()
    sizes = [10, 10, 90, 200, *[1] * 20]
    shard = describe(sums, sizes, lambda size: np.ones(size, dtype=np.uint8))
    assert sums.batches == [3, 1, 16, 4]
    assert shard.rows[:, 0].tolist() == sizes


def test_nothing_left_has_the_width_of_a_row() -> None:
    assert describe(Lengths(), ["", "bad"], read).rows.shape == (0, 2)


def test_a_mistake_in_the_settings_is_not_the_items_fault() -> None:
    with pytest.raises(ConfigError, match="wrong from the start"):
        describe(Lengths(), ["one", "wrong"], read)


@pytest.mark.parametrize("sparse", [False, True])
def test_shards_survive_being_written(tmp_path, sparse) -> None:
    rows = np.array([[1, 0, 2], [0, 0, 3]], dtype=np.float32)
    shard = Shard(sp.csr_array(rows) if sparse else rows, np.array([True, False, True]), ("", "broken: été 東京", ""))
    write_shard(tmp_path / "s.npz", shard)
    again = read_shard(tmp_path / "s.npz")
    np.testing.assert_array_equal(again.rows.toarray() if sparse else again.rows, rows)
    assert again.rows.dtype == shard.rows.dtype
    assert again.present.tolist() == [True, False, True] and again.reasons == shard.reasons
