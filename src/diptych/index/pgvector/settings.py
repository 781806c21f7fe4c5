"""How vectors are searched: fixed when an index is created and kept with it."""

from dataclasses import dataclass, fields
from typing import Any

from diptych.errors import ConfigError

WIDEST = 16_000
"""Numbers in a vector that pgvector stores."""
WIDEST_GRAPH = 2_000
"""Numbers in a vector that its graph takes; longer ones are compared one by one."""


@dataclass(frozen=True)
class Settings:
    """The choices of this engine.

    Attributes:
        links: neighbours of a vector in the graph.
        ef_construction: candidates kept while the graph is built.
        ef_search: candidates kept while it is searched.
    """

    links: int = 16
    ef_construction: int = 64
    ef_search: int = 64

    def check(self) -> None:
        """Refuse what pgvector would refuse."""
        for name, least, most in (("links", 2, 100), ("ef_construction", 4, 1000), ("ef_search", 1, 1000)):
            value = getattr(self, name)
            if not isinstance(value, int) or not least <= value <= most:
                raise ConfigError(f"{name} is {value!r}; it must be a whole number between {least} and {most}.")
        if self.ef_construction < 2 * self.links:
            raise ConfigError(f"ef_construction is {self.ef_construction}; it must be at least twice links.")


def settings_from(options: dict[str, Any]) -> Settings:
    """Settings by name; an unknown one is an error."""
    known = [field.name for field in fields(Settings)]
    for name in options:
        if name not in known:
            raise ConfigError(f"the engine pgvector has no option {name!r}; it has url, {', '.join(known)}.")
    settings = Settings(**options)
    settings.check()
    return settings
