"""When to stop, and which step was best."""

import math
from dataclasses import dataclass
from typing import Any

_SEEN = ("best_score", "best_step", "reference", "without_improvement")


@dataclass
class EarlyStop:
    """Follows a validation score where higher is better.

    The best step is the first with the highest score. Patience is stricter: it starts again only when a
    score exceeds the last one that did so by more than `minimum_improvement`.
    """

    patience: int | None = None
    minimum_improvement: float = 0.0
    best_score: float = -math.inf
    best_step: int = 0
    reference: float = -math.inf
    without_improvement: int = 0

    def update(self, step: int, score: float) -> bool:
        """Take note of a score; say whether it is the best so far."""
        if score > self.reference + self.minimum_improvement:
            self.reference, self.without_improvement = score, 0
        else:
            self.without_improvement += 1
        if score <= self.best_score:
            return False
        self.best_score, self.best_step = score, step
        return True

    @property
    def exhausted(self) -> bool:
        """Whether patience has run out."""
        return self.patience is not None and self.without_improvement >= self.patience

    def to_json(self) -> dict[str, Any]:
        """What has been seen so far; no score yet is None, since JSON has no infinity."""
        return {name: None if getattr(self, name) == -math.inf else getattr(self, name) for name in _SEEN}

    def restore(self, values: dict[str, Any]) -> None:
        """Go back to what `to_json` wrote; patience and the least improvement stay as they are."""
        for name in _SEEN:
            setattr(self, name, -math.inf if values[name] is None else values[name])
