"""What happened during training, in the order it happened."""

import math
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass
class History:
    """The record of one stage.

    Attributes:
        rows: One dict a log point: `step`, the mean of each figure since the last one, `rate`, `momentum`.
        validations: Steps done and score, higher is better.
        steps: Steps done.
        best_step: Steps done when the validation score was best, or None without validation.
        stopped_early: Whether patience ran out.
        resumed_from: Steps already done when this attempt began; two histories that differ only here are equal.
    """

    stage: str
    rows: list[dict[str, float]] = field(default_factory=list)
    validations: list[tuple[int, float]] = field(default_factory=list)
    steps: int = 0
    best_step: int | None = None
    best_score: float | None = None
    stopped_early: bool = False
    resumed_from: int = field(default=0, compare=False)

    def to_json(self) -> dict[str, Any]:
        """The record as JSON; a figure that was not a number is None."""
        rows = [{name: value if math.isfinite(value) else None for name, value in row.items()} for row in self.rows]
        return {**vars(self), "rows": rows}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Rebuild what `to_json` wrote."""
        rows = [{name: math.nan if value is None else value for name, value in row.items()} for row in values["rows"]]
        validations = [(int(step), float(score)) for step, score in values["validations"]]
        return cls(**{**values, "rows": rows, "validations": validations})
