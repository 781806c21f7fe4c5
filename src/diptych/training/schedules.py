"""Learning rates and momenta as pure functions of the step."""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol, Self

from diptych._core.errors import ConfigError

SHARE_OF_HALF_LIFE = 1 / 10
"""Half-life of the rate in a short run, as a share of its steps."""

SHARE_OF_TIME_CONSTANT = 1 / 20
"""Time constant of the momentum in a short run, as a share of its steps."""


class Schedule(Protocol):
    """A number that depends on the step and on nothing else, so that resuming needs no memory of it."""

    def at(self, step: int) -> float:
        """The value used by step `step`, counted from zero."""
        ...

    def scaled_to(self, steps: int) -> Self:
        """The same schedule for a run of `steps` steps: long time scales shrink with the run, none grows.

        The published time scales (10,000 steps) belong to runs of 100,000 steps or more; kept in a short
        run, the rate and the momentum would hardly leave their first values.
        """
        ...

    def to_json(self) -> dict[str, Any]:
        """The kind of schedule and its numbers."""
        ...


def _require_positive(kind: str, name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise ConfigError(f"the {name} of an {kind} schedule is {value}; it must be a positive number.")


@dataclass(frozen=True)
class Constant:
    """The same value at every step."""

    value: float

    def at(self, step: int) -> float:
        """Return the value."""
        return self.value

    def scaled_to(self, steps: int) -> Self:
        """Return itself."""
        return self

    def to_json(self) -> dict[str, Any]:
        """The kind of schedule and its numbers."""
        return {"kind": "constant", **asdict(self)}


@dataclass(frozen=True)
class InverseT:
    """initial / (1 + t / scale): half the initial value after `scale` steps, a third after twice as many."""

    initial: float
    scale: float = 10_000

    def __post_init__(self) -> None:
        _require_positive("inverse_t", "scale", self.scale)

    def at(self, step: int) -> float:
        """Return initial / (1 + step / scale)."""
        return self.initial / (1 + step / self.scale)

    def scaled_to(self, steps: int) -> Self:
        """Shorten the scale to a tenth of the run."""
        return replace(self, scale=min(self.scale, steps * SHARE_OF_HALF_LIFE))

    def to_json(self) -> dict[str, Any]:
        """The kind of schedule and its numbers."""
        return {"kind": "inverse_t", **asdict(self)}


@dataclass(frozen=True)
class Exponential:
    """initial * 2^(-t / half_life)."""

    initial: float
    half_life: float = 10_000

    def __post_init__(self) -> None:
        _require_positive("exponential", "half-life", self.half_life)

    def at(self, step: int) -> float:
        """Return initial * 2^(-step / half_life)."""
        return self.initial * math.pow(2.0, -step / self.half_life)

    def scaled_to(self, steps: int) -> Self:
        """Shorten the half-life to a tenth of the run."""
        return replace(self, half_life=min(self.half_life, steps * SHARE_OF_HALF_LIFE))

    def to_json(self) -> dict[str, Any]:
        """The kind of schedule and its numbers."""
        return {"kind": "exponential", **asdict(self)}


@dataclass(frozen=True)
class Ramp:
    """final - (final - initial) * exp(-t / time_constant): from `initial` towards `final`."""

    initial: float = 0.5
    final: float = 0.9
    time_constant: float = 10_000

    def __post_init__(self) -> None:
        _require_positive("ramp", "time constant", self.time_constant)

    def at(self, step: int) -> float:
        """Return final - (final - initial) * exp(-step / time_constant)."""
        return self.final - (self.final - self.initial) * math.exp(-step / self.time_constant)

    def scaled_to(self, steps: int) -> Self:
        """Shorten the time constant to a twentieth of the run."""
        return replace(self, time_constant=min(self.time_constant, steps * SHARE_OF_TIME_CONSTANT))

    def to_json(self) -> dict[str, Any]:
        """The kind of schedule and its numbers."""
        return {"kind": "ramp", **asdict(self)}


@dataclass(frozen=True)
class Cosine:
    """initial * ½(1 + cos(π t / steps)) after a linear rise over `warm_up` steps: from `initial` down to zero."""

    initial: float
    steps: int
    warm_up: int = 0

    def __post_init__(self) -> None:
        _require_positive("cosine", "number of steps", self.steps)

    def at(self, step: int) -> float:
        """Return the value on the way down, less while it still rises."""
        rise = min(1.0, (step + 1) / self.warm_up) if self.warm_up else 1.0
        return self.initial * rise * 0.5 * (1.0 + math.cos(math.pi * min(step, self.steps) / self.steps))

    def scaled_to(self, steps: int) -> Self:
        """Reach zero where the run ends."""
        return replace(self, steps=min(self.steps, steps))

    def to_json(self) -> dict[str, Any]:
        """The kind of schedule and its numbers."""
        return {"kind": "cosine", **asdict(self)}
