"""How large CDMLMR's network is and how long it trains: one rule, from the numbers of rows and columns.

The rule was made on four data sets and subsets of them from 300 to 7,369 rows; docs/methods/cdmlmr.md shows the curve.
Its idea: the fewer rows there are beside the columns, the more is dropped, blended and decayed; the fewer rows there
are at all, the smaller the batches, so that there are enough steps; and members are as many as time allows.
"""

from collections.abc import Iterable
from dataclasses import dataclass

WIDE_COLUMNS = 256
"""Columns from which on a modality is called wide, and gets wider layers."""


@dataclass(frozen=True)
class Sizes:
    """What the rule decides.

    Attributes:
        members: networks trained side by side.
        width: of the hidden layers, of S and of the branches.
        dbn_widths: of the two machines.
        dense_steps: of a machine over dense rows or over another machine.
        count_steps: of a machine over counts, which learns more slowly.
        batch_size: labelled documents in a batch.
        steps: of the network.
        input_dropout: share of the features dropped.
        dropout: share of the supervised nets' units dropped.
        mixup: parameter of the Beta distribution.
        weight_decay: of AdamW.
    """

    members: int
    width: int
    dbn_widths: tuple[int, int]
    dense_steps: int
    count_steps: int
    batch_size: int
    steps: int
    input_dropout: float
    dropout: float
    mixup: float
    weight_decay: float


def sizes_for(rows: int, columns: Iterable[int]) -> Sizes:
    """The sizes for so many labelled documents, and features of so many columns in each modality.

    >>> sizes_for(7_369, (1_280, 1_000)).members, sizes_for(2_173, (128, 10)).members
    (2, 5)
    """
    widest = max(columns)
    scarce, wide = rows < 2 * widest, widest >= WIDE_COLUMNS
    batch = 256 if rows >= 4_000 else 128 if rows >= 600 else 64
    return Sizes(
        members=2 if wide else 5,
        width=256 if wide else 128,
        dbn_widths=(256, 128) if rows >= 4_000 else (128, 64),
        dense_steps=200,
        count_steps=500,
        batch_size=batch,
        steps=min(2_000, max(240, round(10 * rows / batch))),
        input_dropout=0.5 if 2 * rows < widest else 0.4 if scarce else 0.2,
        dropout=0.3,
        mixup=1.0 if scarce else 0.4,
        weight_decay=0.3 if scarce else 0.01,
    )


FAST = Sizes(
    members=2,
    width=48,
    dbn_widths=(48, 32),
    dense_steps=100,
    count_steps=200,
    batch_size=64,
    steps=120,
    input_dropout=0.1,
    dropout=0.1,
    mixup=0.4,
    weight_decay=0.01,
)
"""A small network for tests and glimpses."""
