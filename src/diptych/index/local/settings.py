"""How vectors are searched: fixed when an index is created, kept with it, the same for everybody who opens it."""

from dataclasses import dataclass, fields
from typing import Literal

from diptych._core.errors import ConfigError
from diptych.index.settings import EngineSettings

Structure = Literal["auto", "flat", "hnsw"]
STRUCTURES: tuple[Structure, ...] = ("auto", "flat", "hnsw")


@dataclass(frozen=True)
class Settings(EngineSettings):
    """The choices of the local engine.

    Attributes:
        structure: "flat" compares with every vector, "hnsw" walks a graph over 8-bit codes; "auto" takes "flat" for
            fewer than `exact_below` vectors of a modality.
        exact_below: where "auto" changes over.
        links: neighbours of a vector in the graph.
        ef_construction: candidates kept while the graph is built.
        ef_search: candidates kept while it is searched.
        fold_at: so many recent vectors are searched one by one before they are folded into the structure.
        words: whether items can also be found by words.
    """

    structure: Structure = "auto"
    exact_below: int = 50_000
    links: int = 16
    ef_construction: int = 64
    ef_search: int = 128
    fold_at: int = 10_000
    words: bool = False

    def check(self) -> None:
        """Refuse values out of range."""
        if self.structure not in STRUCTURES:
            raise ConfigError(f"structure is {self.structure!r}; choose one of {', '.join(STRUCTURES)}.")
        if not isinstance(self.words, bool):
            raise ConfigError(f"words is {self.words!r}; it must be true or false.")
        for field in fields(self):
            value, least = getattr(self, field.name), 2 if field.name == "links" else 1
            if field.name not in ("structure", "words") and (not isinstance(value, int) or value < least):
                raise ConfigError(f"{field.name} is {value!r}; it must be a whole number of at least {least}.")

    def wants_graph(self, count: int) -> bool:
        """Whether so many vectors are searched by a graph."""
        return self.structure == "hnsw" or (self.structure == "auto" and count >= self.exact_below)

    def too_many_recent(self, recent: int, folded: int) -> bool:
        """Whether recent vectors should be folded: a share of those folded, so that adding many stays linear."""
        return recent > max(self.fold_at, folded // 8)
