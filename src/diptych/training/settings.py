"""How a stage is trained, apart from what it learns."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from diptych._core.errors import ConfigError
from diptych.training.schedules import Constant, Schedule

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
