"""Rows whose columns are of several kinds: every block as it would be alone, none drowned by another."""

import numpy as np

from diptych._core.seeding import generator
from diptych._core.state import pack, unpack
from diptych.features.scaling import fit_scaling
from diptych.methods.deep.blocks import Columns, counts_block, prepare_blocks
from diptych.methods.deep.layers import Clip, run_chain

RANDOM = generator(0, "blocks")
ROWS = np.concatenate([RANDOM.poisson(0.5, (50, 30)), RANDOM.normal(3, 2, (50, 4))], axis=1).astype(np.float32)
KIND = "counts:30+dense:4"


def by_kind(rows, kind):
    return fit_scaling(rows, kind), Clip(30.0 if kind == "counts" else 1.0)


def test_each_block_is_prepared_as_it_would_be_alone() -> None:
    prepared = run_chain(prepare_blocks(ROWS, KIND, by_kind), ROWS)
    for columns, kind in ((slice(0, 30), "counts"), (slice(30, 34), "dense")):
        alone = run_chain(by_kind(ROWS[:, columns], kind), ROWS[:, columns])
        factor = np.sqrt(34 / 2 / alone.var(axis=0, dtype=np.float64).sum())
        np.testing.assert_allclose(prepared[:, columns], factor * alone, rtol=1e-5, atol=1e-6)


def test_blocks_have_the_same_say() -> None:
    prepared = run_chain(prepare_blocks(ROWS, KIND, by_kind), ROWS).astype(np.float64)
    np.testing.assert_allclose([prepared[:, :30].var(axis=0).sum(), prepared[:, 30:].var(axis=0).sum()], 17, rtol=1e-4)


def test_rows_of_one_kind_are_prepared_by_their_own_chain() -> None:
    chain = prepare_blocks(ROWS[:, 30:], "dense", by_kind)
    assert [type(step).__name__ for step in chain] == ["Scaling", "Clip"]


def test_the_chain_is_saved() -> None:
    chain = prepare_blocks(ROWS, KIND, by_kind)
    np.testing.assert_array_equal(run_chain(unpack(*pack(chain)), ROWS), run_chain(chain, ROWS))


def test_the_first_counts_are_found() -> None:
    assert counts_block("dense:3+counts:2+counts:4", 9).start == 3
    assert counts_block("counts", 9).stop == 9
    assert counts_block("dense", 9) is None
    np.testing.assert_array_equal(Columns(1, 3)(ROWS), ROWS[:, 1:3])


def test_a_block_that_never_varies_is_no_trouble() -> None:
    rows = ROWS.copy()
    rows[:, :30] = 0
    assert np.isfinite(run_chain(prepare_blocks(rows, KIND, by_kind), rows)).all()
