"""What is fixed when an index is created: the embedder of its vectors, their dimension, the engine's settings."""

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, Self

from diptych._core.errors import ConfigError, DataError

Metric = Literal["cosine"]
METRICS: tuple[Metric, ...] = ("cosine",)
WIDEST = 65_536


@dataclass(frozen=True)
class EmbedderId:
    """Names what turned items into vectors; vectors of two models do not share a space, however alike their shapes.

    Attributes:
        model: the fingerprint of the model.
        pipeline: the fingerprint of the feature pipeline; empty for a model that was given ready features.
    """

    model: str
    pipeline: str = ""


@dataclass(frozen=True)
class Identity:
    """What an index holds.

    Attributes:
        embedder: what made its vectors.
        dimension: numbers in a vector.
        metric: how vectors are compared.
    """

    embedder: EmbedderId
    dimension: int
    metric: Metric = "cosine"

    def check(self) -> None:
        """Refuse what no index can be."""
        if not 1 <= self.dimension <= WIDEST:
            raise ConfigError(f"dimension is {self.dimension}; it must lie between 1 and {WIDEST}.")
        if self.metric not in METRICS:
            raise ConfigError(f"metric is {self.metric!r}; choose one of {', '.join(METRICS)}.")
        if not self.embedder.model:
            raise ConfigError("the model's fingerprint is empty; an index must record who made its vectors.")

    def require(self, embedder: EmbedderId) -> None:
        """Refuse vectors of another embedder, and say what to run."""
        for part, ours, theirs in (
            ("model", self.embedder.model, embedder.model),
            ("feature pipeline", self.embedder.pipeline, embedder.pipeline),
        ):
            if ours != theirs:
                raise DataError(
                    f"this index holds vectors of {part} {_short(ours)}, but these come from {part} {_short(theirs)};"
                    f" use the {part} it was built with, or run `diptych index MODEL DATASET --out INDEX` to build an"
                    " index for this one."
                )

    def to_json(self) -> dict[str, Any]:
        """Return what is stored; the key of the embedder is that of the first version."""
        return {"maker": asdict(self.embedder), "dimension": self.dimension, "metric": self.metric}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Self:
        """Read what `to_json` wrote."""
        return cls(EmbedderId(**stored["maker"]), stored["dimension"], stored["metric"])


@dataclass(frozen=True)
class EngineSettings:
    """The settings of an engine, given when an index is created; each engine adds its fields and their ranges."""

    @classmethod
    def from_options(cls, options: dict[str, Any], *, engine: str, besides: tuple[str, ...] = ()) -> Self:
        """Make settings from options by name; an error for an unknown one lists all, `besides` included."""
        known = [field.name for field in fields(cls)]
        for name in options:
            if name not in known:
                raise ConfigError(f"{engine} has no option {name!r}; it has {', '.join((*besides, *known))}.")
        settings = cls(**options)
        settings.check()
        return settings

    def check(self) -> None:
        """Refuse values out of range."""

    def check_between(self, **ranges: tuple[int, int]) -> None:
        """Refuse what is no whole number between the given limits."""
        for name, (least, most) in ranges.items():
            value = getattr(self, name)
            if not isinstance(value, int) or not least <= value <= most:
                raise ConfigError(f"{name} is {value!r}; it must be a whole number between {least} and {most}.")


def _short(fingerprint: str) -> str:
    return fingerprint[:12] if fingerprint else "(none)"
