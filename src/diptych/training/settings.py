"""How a stage is trained, apart from what it learns: steps, batches, rates and momenta as functions of the step."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, Protocol, Self, get_args

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


Optimizer = Literal["sgd", "adam", "adamw"]

_WITHOUT_EFFECT_ON_WEIGHTS = {"checkpoint_every", "log_every", "explosion_factor", "tensorboard", "device"}


@dataclass(frozen=True)
class LoopSettings:
    """One stage's training settings; `momentum` is the first beta under Adam.

    Attributes:
        optimizer: "sgd" and "adam" add the decay to the gradient, "adamw" shrinks the weights beside it.
        weight_decay: Applied to parameters of two or more dimensions, and to the others under `decay_biases`.
        bias_rate_multiplier: Learning rate of parameters of fewer than two dimensions, relative to the weights'.
        rate_multipliers: Learning rate of the parameters whose name starts so, relative to the others'.
        clip_norm: Largest norm of all gradients together, or None for no clipping.
        patience: Validations without improvement after which training stops, or None to train all steps.
        minimum_improvement: How much better a validation score must be to count as an improvement for `patience`.
        explosion_factor: Training fails when the main figure exceeds its first value by this factor.
    """

    steps: int
    batch_size: int = 128
    optimizer: Optimizer = "sgd"
    rate: Schedule = field(default=Constant(0.001))
    momentum: Schedule = field(default=Constant(0.9))
    weight_decay: float = 0.0
    decay_biases: bool = False
    bias_rate_multiplier: float = 1.0
    rate_multipliers: Mapping[str, float] = field(default_factory=dict)
    clip_norm: float | None = None
    validate_every: int = 250
    patience: int | None = None
    minimum_improvement: float = 0.0
    checkpoint_every: int = 1_000
    log_every: int = 100
    explosion_factor: float = 1_000.0
    tensorboard: bool = False
    seed: int = 0
    device: str = "auto"

    def to_json(self) -> dict[str, Any]:
        """Every setting as a JSON value."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        values |= {"rate": self.rate.to_json(), "momentum": self.momentum.to_json()}
        return values | {"rate_multipliers": dict(self.rate_multipliers)}

    def decisive(self) -> dict[str, Any]:
        """The settings that decide which weights come out; the others may change between two attempts."""
        return {name: value for name, value in self.to_json().items() if name not in _WITHOUT_EFFECT_ON_WEIGHTS}

    def check(self) -> None:
        """Refuse settings that cannot be meant.

        Raises:
            ConfigError: If a setting is out of range.
        """
        for name in ("steps", "batch_size", "validate_every", "checkpoint_every", "log_every"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be 1 or more.")
        if self.patience is not None and self.patience < 1:
            raise ConfigError(f"patience is {self.patience}; it must be 1 or more, or left out to train all steps.")
        if self.optimizer not in get_args(Optimizer):
            raise ConfigError(f"optimizer is '{self.optimizer}'; choose one of {', '.join(get_args(Optimizer))}.")
        for name in ("weight_decay", "bias_rate_multiplier", "minimum_improvement"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ConfigError(f"{name} is {value}; it must be zero or a positive number.")
        for prefix, value in self.rate_multipliers.items():
            if not (math.isfinite(value) and value >= 0):
                raise ConfigError(
                    f"the rate multiplier of '{prefix}' is {value}; it must be zero or a positive number."
                )
        for name in ("clip_norm", "explosion_factor"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ConfigError(f"{name} is {value}; it must be positive.")
        if not (math.isfinite(self.rate.at(0)) and self.rate.at(0) > 0):
            raise ConfigError(f"the learning rate starts at {self.rate.at(0)}; it must be positive.")
        if not 0 <= self.momentum.at(0) < 1:
            raise ConfigError(f"the momentum starts at {self.momentum.at(0)}; it must lie in [0, 1).")
        if self.seed < 0:
            raise ConfigError(f"seed is {self.seed}; it must be zero or a positive whole number.")
