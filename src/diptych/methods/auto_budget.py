"""Estimate how long a fit takes from the numbers of rows and columns, and how many rows fit into a given time.

The rates were measured on two cores, on data of 1,300 to 7,400 training pairs and 140 to 3,000 columns, where the
estimate came within a tenth of the time; `MARGIN` is for machines that are slower or have other work. They are not
measured anew, so that the same data always lead to the same choice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from diptych._core.arrays import Booleans
from diptych._core.seeding import generator
from diptych.data import Labels, TrainingData
from diptych.methods.training_inputs import with_labels_kept

START_SECONDS = 4.0
"""Importing torch, opening the data and scoring."""

MARGIN = 1.1

_NETWORK_ENTRY = 1.0e-6
_MACHINE_COLUMN = 1.5e-3
_STEP_MEMBER = 9.0e-3
_STEP_COLUMN = 4.0e-6
_STEP_ENTRY = 8.0e-8
_PARTNER_ENTRY = 3.2e-7
_PARTNER_SQUARE = 4.4e-7
_POSTERIOR_ENTRY = 1.3e-6

FEWEST_LABELLED = 1_000
FEWEST_PAIRS = 5_000
FEWEST_OF_A_CLASS = 10
MOST_VALIDATION_ITEMS = 1_000
_SHRINK = 0.8


def network_seconds(labelled: int, columns: Sequence[int]) -> float:
    """How long CDMLMR's class space takes to learn from so many labelled pairs."""
    from diptych.methods.deep.profile import sizes_for  # which imports torch, and is asked only where it is installed

    sizes, width = sizes_for(labelled, columns), sum(columns)
    step = _STEP_MEMBER * sizes.members + width * (_STEP_COLUMN + _STEP_ENTRY * sizes.batch_size)
    return _NETWORK_ENTRY * labelled * width + _MACHINE_COLUMN * width + sizes.steps * step


def partner_seconds(pairs: int, columns: Sequence[int]) -> float:
    """How long the partner space takes to learn from so many pairs."""
    return _PARTNER_ENTRY * pairs * sum(columns) + _PARTNER_SQUARE * sum(width**2 for width in columns)


def posterior_seconds(labelled: int, columns: Sequence[int]) -> float:
    """How long one logistic regression for each modality takes."""
    return _POSTERIOR_ENTRY * labelled * sum(columns)


@dataclass(frozen=True)
class Affordable:
    """How much of the data a fit can use within the budget.

    Attributes:
        pairs: training pairs.
        labelled: labelled pairs; 0 where not even the fewest that are worth it can be afforded.
        seconds: how long that will take; None where nobody reckoned.
    """

    pairs: int
    labelled: int
    seconds: float | None


def affordable(pairs: int, labelled: int, columns: Sequence[int], budget_s: float) -> Affordable:
    """The most pairs, and of them the most labelled ones, that are learned from within the budget.

    The partner space is seen to first: it needs pairs more than the class space needs labels.

    >>> affordable(5_000, 5_000, (1_280, 1_000), 60.0).labelled
    5000
    >>> affordable(80_000, 80_000, (1_280, 384), 60.0).labelled < 20_000
    True
    """
    left = (budget_s - START_SECONDS) / MARGIN
    while pairs > FEWEST_PAIRS and partner_seconds(pairs, columns) > left / 2:
        pairs = max(FEWEST_PAIRS, int(pairs * _SHRINK))
    left -= partner_seconds(pairs, columns)
    labelled = min(labelled, pairs)
    while labelled > FEWEST_LABELLED and network_seconds(labelled, columns) > left:
        labelled = max(FEWEST_LABELLED, int(labelled * _SHRINK))
    if labelled and network_seconds(labelled, columns) > left:
        labelled = 0
    seconds = partner_seconds(pairs, columns) + (network_seconds(labelled, columns) if labelled else 0.0)
    return Affordable(pairs, labelled, START_SECONDS + MARGIN * seconds)


def limited(data: TrainingData, found: Affordable, seed: int) -> TrainingData:
    """The training data with no more pairs, labels and validation items than are affordable, drawn by a seed.

    Items without a partner stay: no method's time depends on them much.
    """
    paired = np.sum([data.train.has(name) for name in data.modalities], axis=0) >= 2
    kept = ~paired | _drawn(paired, found.pairs, seed, "pairs")
    if not kept.all():
        soft = None if data.soft_labels is None else data.soft_labels[kept]
        given = None if data.given_labels is None else data.given_labels.take(kept)
        data = replace(data, train=data.train.take(kept), soft_labels=soft, given_labels=given)
    known = data.train.labels.is_labelled
    if found.labelled and np.count_nonzero(known) > found.labelled:
        data = with_labels_kept(data, _drawn_labels(data.train.labels, found.labelled, seed))
    if data.validation is not None and len(data.validation) > MOST_VALIDATION_ITEMS:
        every = np.ones(len(data.validation), dtype=np.bool_)
        data = replace(data, validation=data.validation.take(_drawn(every, MOST_VALIDATION_ITEMS, seed, "validation")))
    return data


def _drawn_labels(labels: Labels, count: int, seed: int) -> Booleans:
    """So many labelled items, the first few of every class before any others."""
    order = generator(seed, "auto", "labels").permutation(np.flatnonzero(labels.is_labelled))
    rank = np.zeros(len(order), dtype=np.int64)
    chosen = labels.take(order).matrix.tocsc()
    for start, end in pairwise(chosen.indptr):
        members = np.sort(chosen.indices[start:end])
        rank[members] = np.maximum(rank[members], np.arange(len(members)))
    first = np.argsort(rank >= FEWEST_OF_A_CLASS, kind="stable")[:count]
    kept = np.zeros(len(labels), dtype=np.bool_)
    kept[order[first]] = True
    return kept


def _drawn(of: Booleans, count: int, seed: int, purpose: str) -> Booleans:
    """At most so many of the items that are named."""
    places = np.flatnonzero(of)
    if len(places) <= count:
        return of
    drawn = np.zeros(len(of), dtype=np.bool_)
    drawn[generator(seed, "auto", purpose).permutation(places)[:count]] = True
    return drawn
