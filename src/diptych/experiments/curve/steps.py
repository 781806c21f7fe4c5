"""The steps of a curve: one comparison for every label count, and one for the methods that no count changes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from diptych._core.errors import ConfigError, DiptychError
from diptych.data import Protocol
from diptych.experiments.curve.counts import LabelCount, show_count
from diptych.experiments.recipe import Recipe
from diptych.methods import registry

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
