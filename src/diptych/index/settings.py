"""What an engine can be told when an index is created."""

from dataclasses import dataclass, fields
from typing import Any, Self

from diptych._core.errors import ConfigError


@dataclass(frozen=True)
class EngineSettings:
    """The choices of an engine; each engine adds its fields and says what they may be."""

    @classmethod
    def from_options(cls, options: dict[str, Any], *, engine: str, besides: tuple[str, ...] = ()) -> Self:
        """Settings by name; an unknown one is an error, which lists the engine's options `besides` these, too."""
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
        """Refuse what is no whole number from the least to the most that is given for it."""
        for name, (least, most) in ranges.items():
            value = getattr(self, name)
            if not isinstance(value, int) or not least <= value <= most:
                raise ConfigError(f"{name} is {value!r}; it must be a whole number between {least} and {most}.")
