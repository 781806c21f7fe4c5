"""Search compared with bare faiss with the same parameters, and the size and build time of an index.

Clustered vectors of 256 numbers are generated, added through `Index.add`, and made searchable by `optimise`. Then, for
each size in its own process, the index is opened and queried. Bare faiss reads the same graph (or a flat index of the
same vectors, if there are too few for a graph), and both run the same queries in turns.

- `add_s` and `optimise_s`: adding to SQLite, then building the neighbour structure and writing it.
- `open_s`: from opening the built index to the first result, with the files in the system's cache.
- `recall_at_10`: compared with exact search over all vectors; `bare_recall_at_10` is that of faiss alone.
- `single_ratio`: our rate divided by that of bare faiss, one query per call; `batch_ratio`: all queries in one call.
- `memory_mib_per_million`: growth of the process by opening and searching; most of it is files that processes share.
- `graph_mb_per_million`: the size of the graph with its 8-bit codes, as a file.
- `disk_mib_per_million`: the whole folder, including derived files.

DIPTYCH_BENCH_INDEX=20000 measures another size, for a quick look.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import psutil

from diptych._core.arrays import Singles
from diptych._core.seeding import generator
from diptych.index import EmbedderId, Identity, create_index, open_index
from diptych.index.local import LocalIndex

DIMENSION, CLUSTERS, QUERIES, TURNS, K = 256, 1_000, 1_000, 7, 10
BLOCK = 10_000
SIZES = "100000,1000000"


def run() -> dict[str, Any]:
    """Measure every size."""
    sizes = [int(size) for size in os.environ.get("DIPTYCH_BENCH_INDEX", SIZES).split(",")]
    figures: dict[str, Any] = {"sizes": sizes, "dimension": DIMENSION, "k": K}
    for size in sizes:
        with tempfile.TemporaryDirectory() as name:
            measured = built(Path(name) / "index", size) | asked_in_a_new_process(Path(name) / "index", size)
        figures |= {f"{key}_{size}": value for key, value in measured.items()}
    return figures


def drawn(count: int, *purpose: str) -> Singles:
    """Points around a thousand centres, of length 1."""
    rng = generator(0, "benchmark", "index", *purpose)
    centres = generator(0, "benchmark", "index", "centres").normal(size=(CLUSTERS, DIMENSION)).astype(np.float32)
    rows = centres[rng.integers(0, CLUSTERS, count)] + 0.7 * rng.standard_normal((count, DIMENSION), dtype=np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def block(number: int) -> Singles:
    """One part of the items: always the same, so that all of them need never be in memory twice."""
    return drawn(BLOCK, "items", str(number))


def built(folder: Path, size: int) -> dict[str, float]:
    """Fill an index as the command line does."""
    create_index(folder, Identity(EmbedderId("benchmark"), DIMENSION)).close()
    with open_index(folder, auto_fold=False) as index:
        adding = 0.0
        for number, start in enumerate(range(0, size, BLOCK)):
            rows = block(number)[: size - start]
            ids = [f"item-{row:08d}" for row in range(start, start + len(rows))]
            known = [{"split": ("train", "test")[row % 2], "label": row % 100} for row in range(len(rows))]
            started = time.perf_counter()
            index.add(ids, rows, modality="image", metadata=known)
            adding += time.perf_counter() - started
        started = time.perf_counter()
        index.optimise()
        optimising = time.perf_counter() - started
    on_disk = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return {"add_s": adding, "optimise_s": optimising, "disk_mib_per_million": on_disk / 2**20 / size * 1e6}


def asked_in_a_new_process(folder: Path, size: int) -> dict[str, Any]:
    """Open and ask where building has left no traces in memory."""
    code = "import sys; from benchmarks import bench_index; bench_index.tell(*sys.argv[1:])"
    command = [sys.executable, "-c", code, str(folder), str(size)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def tell(folder: str, size: str) -> None:
    """Print the figures of one built index."""
    process, queries = psutil.Process(), drawn(QUERIES, "queries")
    faiss.knn(queries[:1], queries, 1)  # loads what is loaded on first use
    before, started = process.memory_info().rss, time.perf_counter()
    with open_index(folder) as index:
        assert isinstance(index, LocalIndex)
        index.search(queries[0], K)
        opened = time.perf_counter() - started
        found = index.search(queries, K)
        held = process.memory_info().rss - before
        bare, structure = bare_index(Path(folder), int(size), index)
        truth = exact(queries, int(size))
        ours = [[int(id[-8:]) for id in answer.ids] for answer in found]
        figures = {
            "structure": structure,
            "open_s": opened,
            "graph_mb_per_million": sum(path.stat().st_size for path in graphs_of(Path(folder))) / int(size),
            "memory_mib_per_million": held / 2**20 / int(size) * 1e6,
            "recall_at_10": recall(ours, truth),
            "bare_recall_at_10": recall(bare.search(queries, K)[1].tolist(), truth),
            **rates(index, bare, queries),
        }
    print(json.dumps(figures))


def bare_index(folder: Path, size: int, index: LocalIndex) -> tuple[Any, str]:
    """Faiss alone: the same graph, or the same vectors in a flat index."""
    graphs = graphs_of(folder)
    if graphs:
        bare = faiss.read_index(str(graphs[0]))
        bare.hnsw.efSearch = index.settings.ef_search
        return bare, "hnsw"
    bare = faiss.IndexFlatIP(DIMENSION)
    for number, start in enumerate(range(0, size, BLOCK)):
        bare.add(block(number)[: size - start])
    return bare, "flat"


def graphs_of(folder: Path) -> list[Path]:
    """The files of the graphs."""
    return list(folder.rglob("neighbours.faiss"))


def exact(queries: Singles, size: int) -> list[list[int]]:
    """The true neighbours, block by block."""
    best = faiss.ResultHeap(len(queries), K, keep_max=True)
    for number, start in enumerate(range(0, size, BLOCK)):
        scores, found = faiss.knn(queries, block(number)[: size - start], K, metric=faiss.METRIC_INNER_PRODUCT)
        best.add_result(scores, found + start)
    best.finalize()
    return [list(map(int, row)) for row in best.I]


def recall(found: list[list[int]], truth: list[list[int]]) -> float:
    """The share of true neighbours that were found."""
    return float(np.mean([len(set(one) & set(other)) / K for one, other in zip(found, truth, strict=True)]))


def rates(index: LocalIndex, bare: Any, queries: Singles) -> dict[str, float]:  # noqa: ANN401 - faiss has no types
    """Queries a second, ours and bare in turns, so that both meet the same moods of the machine; medians."""
    single = queries[: QUERIES // 2]
    asked: dict[str, Callable[[], object]] = {
        "single": lambda: [index.search(row, K) for row in single],
        "bare_single": lambda: [bare.search(row[None], K) for row in single],
        "batch": lambda: index.search(queries, K),
        "bare_batch": lambda: bare.search(queries, K),
        "with_metadata": lambda: [index.search(row, K, with_metadata=True) for row in single[:100]],
        "half_filtered": lambda: [index.search(row, K, where="split = 'train'") for row in single[:100]],
        "one_in_100_filtered": lambda: [index.search(row, K, where="label = 7") for row in single[:100]],
    }
    counts = dict.fromkeys(asked, 100) | dict.fromkeys(("single", "bare_single"), len(single))
    counts |= dict.fromkeys(("batch", "bare_batch"), len(queries))
    for ask in asked.values():
        ask()
    times: dict[str, list[float]] = {name: [] for name in asked}
    for _ in range(TURNS):
        for name, ask in asked.items():
            started = time.perf_counter()
            ask()
            times[name].append(time.perf_counter() - started)
    result = {f"{name}_per_s": counts[name] / float(np.median(spent)) for name, spent in times.items()}
    for name in ("single", "batch"):
        result[f"{name}_ratio"] = result[f"{name}_per_s"] / result[f"bare_{name}_per_s"]
    return result


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
