"""How vectors are kept and searched: fixed when an index is created and kept with it."""

from dataclasses import dataclass
from typing import Any, Literal

from diptych._core.errors import ConfigError
from diptych.index.settings import EngineSettings

Structure = Literal["hnsw", "flat", "ivf_sq8", "diskann"]
STRUCTURES: tuple[Structure, ...] = ("hnsw", "flat", "ivf_sq8", "diskann")
WIDEST = 32_768
"""Numbers in a vector that Milvus stores."""


@dataclass(frozen=True)
class Settings(EngineSettings):
    """The choices of this engine.

    Attributes:
        structure: "hnsw" keeps a graph and all vectors in memory, "ivf_sq8" clusters of 8-bit codes, "diskann" codes in
            memory and the rest on disk, "flat" compares with every vector.
        links: neighbours of a vector in the graph (hnsw).
        ef_construction: candidates kept while the graph is built (hnsw).
        ef_search: candidates kept while it is searched (hnsw, diskann).
        clusters: into how many a part of the vectors is divided (ivf_sq8).
        probes: how many of them are searched (ivf_sq8).
        shards: how many streams take in changes; more for many writers.
        replicas: how many copies of everything answer searches.
    """

    structure: Structure = "hnsw"
    links: int = 16
    ef_construction: int = 64
    ef_search: int = 64
    clusters: int = 1_024
    probes: int = 32
    shards: int = 1
    replicas: int = 1

    def check(self) -> None:
        """Refuse values out of range."""
        if self.structure not in STRUCTURES:
            raise ConfigError(f"structure is {self.structure!r}; choose one of {', '.join(STRUCTURES)}.")
        self.check_between(
            links=(2, 2_048),
            ef_construction=(1, 65_536),
            ef_search=(1, 16_384),
            clusters=(1, 65_536),
            probes=(1, 65_536),
            shards=(1, 64),
            replicas=(1, 1_000),
        )

    def to_build(self) -> dict[str, Any]:
        """What the server is told when it builds the structure."""
        given: dict[Structure, dict[str, int]] = {
            "hnsw": {"M": self.links, "efConstruction": self.ef_construction},
            "ivf_sq8": {"nlist": self.clusters},
        }
        return {
            "index_type": self.structure.upper(),
            "metric_type": "IP",
            "params": given.get(self.structure, {}),
        }

    def to_search(self, limit: int) -> dict[str, Any]:
        """What the server is told when it looks for so many."""
        kept = max(self.ef_search, limit)
        given: dict[Structure, dict[str, int]] = {
            "hnsw": {"ef": kept},
            "ivf_sq8": {"nprobe": min(self.probes, self.clusters)},
            "diskann": {"search_list": kept},
        }
        return {"metric_type": "IP", "params": given.get(self.structure, {})}
