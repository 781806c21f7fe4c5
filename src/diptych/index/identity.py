"""Who made the vectors: those of two models do not live in one space, however alike their shapes are."""

from dataclasses import dataclass
from typing import Literal

from diptych._core.errors import ConfigError, DataError

Metric = Literal["cosine"]
METRICS: tuple[Metric, ...] = ("cosine",)
WIDEST = 65_536


@dataclass(frozen=True)
class Maker:
    """What turned items into vectors.

    Attributes:
        model: the fingerprint of the model.
        pipeline: the fingerprint of the feature pipeline; empty for a model that was given ready features.
    """

    model: str
    pipeline: str = ""


@dataclass(frozen=True)
class Identity:
    """What an index holds, fixed when it is created.

    Attributes:
        maker: who made its vectors.
        dimension: numbers in a vector.
        metric: how vectors are compared.
    """

    maker: Maker
    dimension: int
    metric: Metric = "cosine"

    def check(self) -> None:
        """Refuse what no index can be."""
        if not 1 <= self.dimension <= WIDEST:
            raise ConfigError(f"dimension is {self.dimension}; it must lie between 1 and {WIDEST}.")
        if self.metric not in METRICS:
            raise ConfigError(f"metric is {self.metric!r}; choose one of {', '.join(METRICS)}.")
        if not self.maker.model:
            raise ConfigError("the model's fingerprint is empty; an index must record who made its vectors.")

    def require(self, maker: Maker) -> None:
        """Refuse vectors of another maker, and say what to run."""
        for part, ours, theirs in (
            ("model", self.maker.model, maker.model),
            ("feature pipeline", self.maker.pipeline, maker.pipeline),
        ):
            if ours != theirs:
                raise DataError(
                    f"this index holds vectors of {part} {_short(ours)}, but these come from {part} {_short(theirs)};"
                    f" use the {part} it was built with, or run `diptych index MODEL DATASET --out INDEX` to build an"
                    " index for this one."
                )


def _short(fingerprint: str) -> str:
    return fingerprint[:12] if fingerprint else "(none)"
