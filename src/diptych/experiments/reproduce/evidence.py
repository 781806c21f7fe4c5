"""What is known about every method under one protocol, as the rules need it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from diptych._core.arrays import Floats


@dataclass(frozen=True)
class Evidence:
    """What one protocol and one kind of codes say about every method.

    Attributes:
        items: by measure and method, one number per item, items in the same order; the mean is the score.
        missing: why a method has no complete result, as the end of a sentence that begins with its name.
        figures: by method, column and measure, the mean.
        chance: by measure, the level of a random ranking on average.
        inputs_differ: how the inputs differ from the paper's; empty when they do not.
    """

    items: Mapping[str, Mapping[str, Floats]]
    missing: Mapping[str, str] = field(default_factory=dict)
    figures: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    chance: Mapping[str, float] = field(default_factory=dict)
    inputs_differ: str = ""

    def absent(self, methods: Collection[str], measure: str = "map") -> list[str]:
        """A phrase for every one of the methods that cannot be judged."""
        known = self.items.get(measure, {})
        reasons = {name: self.missing.get(name, "was not run") for name in methods if name not in known}
        reasons |= {name: self.missing[name] for name in methods if name in self.missing}
        return [f"{name} {reason}" for name, reason in reasons.items()]
