"""Label counts: how many training labels per class a point of the curve has, up to all there are."""

from collections.abc import Iterable, Sequence

import numpy as np

from diptych._core.errors import ConfigError
from diptych.data import Dataset, Protocol, training_data

LabelCount = int | None
"""A number of training labels per class; None for all of them."""

ALL_LABELS = "all"
"""How files and people call the count that withholds nothing."""


def sorted_counts(values: Iterable[int | str]) -> tuple[LabelCount, ...]:
    """Check label counts and put them in order, "all" last.

    >>> sorted_counts(["all", "10", 2])
    (2, 10, None)

    Raises:
        ConfigError: for a value that is neither a positive whole number nor "all", for one given twice and for none.
    """
    counts = [_count(value) for value in values]
    if not counts:
        raise ConfigError("there is no label count; give at least one, such as 1,5,all.")
    for count in counts:
        if counts.count(count) > 1:
            raise ConfigError(f"labels per class lists {show_count(count)} twice; keep each once.")
    return tuple(sorted(counts, key=lambda count: np.inf if count is None else count))


def show_count(count: LabelCount) -> str:
    """A label count as files and people call it."""
    return ALL_LABELS if count is None else str(count)


def json_count(count: LabelCount) -> int | str:
    """A label count as JSON."""
    return ALL_LABELS if count is None else count


def kept_labels(dataset: Dataset, count: LabelCount, seeds: Iterable[int]) -> float:
    """How many training labels a class really keeps, on average over classes and seeds.

    Small classes keep fewer than the count; where items carry several labels, a class can keep more.
    """
    kept = [
        training_data(dataset, Protocol(labels_per_class=count, seed=seed)).train.labels.class_counts().mean()
        for seed in seeds
    ]
    return float(np.mean(kept))


def places(counts: Sequence[int | str], kept_of_all: float) -> list[float]:
    """Where label counts lie on an axis: a number at itself, "all" at what it really keeps.

    Where that is not clearly to the right of the largest number, "all" is put half as far again to the right of it,
    so that the two can be told apart.
    """
    numbers = [float(count) for count in counts if count != ALL_LABELS]
    largest = max(numbers, default=0.0)
    last = kept_of_all if kept_of_all >= 1.3 * largest else 1.5 * largest
    return numbers + [max(last, 1.0)] * (len(counts) - len(numbers))


def _count(value: int | str) -> LabelCount:
    text = str(value).strip()
    if text == ALL_LABELS:
        return None
    if isinstance(value, bool) or not (text.isascii() and text.isdigit()) or int(text) < 1:
        raise ConfigError(
            f"labels per class lists '{value}'; write positive whole numbers and '{ALL_LABELS}', such as 1,5,all."
        )
    return int(text)
