"""The steps of a label curve: one comparison for each label count, one for the methods that no count changes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from diptych._core.errors import ConfigError, DiptychError
from diptych.data import Dataset, Protocol, training_data
from diptych.experiments.recipe import Recipe
from diptych.methods import registry

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


PROPAGATED = " + propagation"
"""What the name of a method's second line ends in, where it is drawn with and without propagated labels."""


@dataclass(frozen=True)
class Step:
    """One comparison of a curve.

    Attributes:
        counts: the label counts it answers for.
        folder: where it is kept, inside the curve's folder.
        recipe: what it runs.
        words: what tells its runs from those of other steps; empty where a method runs in one step only.
        suffix: what is put behind its methods' names.
    """

    counts: tuple[LabelCount, ...]
    folder: str
    recipe: Recipe
    words: str = ""
    suffix: str = ""


def steps_of(recipe: Recipe, counts: Sequence[LabelCount], *, compare_propagation: bool = False) -> list[Step]:
    """Cut a curve into comparisons; methods that read no labels are fitted once for all counts.

    To compare with propagation, methods that read labels run twice at every count.

    Raises:
        ConfigError: when the recipe's protocol withholds labels itself.
    """
    protocol = recipe.protocol
    if protocol.withholds_labels:
        raise ConfigError("the protocol withholds labels already; a curve does so itself, so leave that setting out.")
    names = recipe.method_names
    steady = tuple(name for name in names if not _depends_on_count(name, protocol))
    varying = tuple(name for name in names if name not in steady)
    steps = [Step(tuple(counts), "label-free", replace(recipe, methods=steady))] if steady else []
    for count in counts if varying else ():
        seen = replace(protocol, labels_per_class=count)
        words = "all labels" if count is None else f"{count} label{'s' * (count > 1)} per class"
        plain = Step((count,), f"labels-{show_count(count)}", replace(recipe, methods=varying, protocol=seen), words)
        if not compare_propagation:
            steps.append(plain)
            continue
        steps.append(replace(plain, recipe=replace(plain.recipe, protocol=replace(seen, propagate=False))))
        readers = tuple(name for name in varying if registry.method_class(name).uses_labels)
        if readers:
            spread = replace(recipe, methods=readers, protocol=replace(seen, propagate=True))
            steps.append(Step((count,), f"{plain.folder}-propagated", spread, f"{words}, propagated", PROPAGATED))
    return steps


def _depends_on_count(name: str, protocol: Protocol) -> bool:
    """Whether a fit changes with the number of labels: it reads them or items that lost theirs, or chooses by them."""
    try:
        method = registry.method_class(name)
    except (DiptychError, ImportError):
        return False  # it cannot run at any count, and is said to fail once
    reads_pool = method.uses_unlabelled and protocol.unlabelled == "train"
    return method.uses_labels or reads_pool or protocol.withhold_validation
