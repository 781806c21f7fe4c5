"""How vectors are searched: fixed when an index is created and kept with it."""

from dataclasses import dataclass

from diptych._core.errors import ConfigError
from diptych.index.settings import EngineSettings

WIDEST = 16_000
"""Numbers in a vector that pgvector stores."""
WIDEST_GRAPH = 2_000
"""Numbers in a vector that its graph takes; longer ones are compared one by one."""


@dataclass(frozen=True)
class Settings(EngineSettings):
    """The choices of this engine.

    Attributes:
        links: neighbours of a vector in the graph.
        ef_construction: candidates kept while the graph is built.
        ef_search: candidates kept while it is searched.
        words: whether items can also be found by words.
    """

    links: int = 16
    ef_construction: int = 64
    ef_search: int = 64
    words: bool = False

    def check(self) -> None:
        """Refuse what pgvector would refuse."""
        if not isinstance(self.words, bool):
            raise ConfigError(f"words is {self.words!r}; it must be true or false.")
        self.check_between(links=(2, 100), ef_construction=(4, 1000), ef_search=(1, 1000))
        if self.ef_construction < 2 * self.links:
            raise ConfigError(f"ef_construction is {self.ef_construction}; it must be at least twice links.")
