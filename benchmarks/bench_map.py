"""Time and memory of the MAP of 10,000 queries against 10,000 items.

The peers score one query at a time, so they are timed on the first 500 queries and their time is scaled up.
All three are timed in the same run on the same machine, and must agree on those queries.
"""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import numpy as np
import psutil
import torch
from sklearn.metrics import average_precision_score
from torchmetrics.functional.retrieval import retrieval_average_precision

from diptych._core.seeding import generator
from diptych.data import Labels
from diptych.evaluation import mean_average_precision

ITEMS = 10_000
DIMENSIONS = 64
CLASSES = 10
SAMPLE = 500
SEED = 0

Problem = tuple[np.ndarray, np.ndarray, np.ndarray]


def make_problem() -> Problem:
    """Queries and gallery scattered around ten class centres, and the class of each pair."""
    random = generator(SEED, "benchmark", "map")
    codes = random.integers(CLASSES, size=ITEMS)
    centres = random.normal(size=(CLASSES, DIMENSIONS))[codes] * 0.3
    queries, gallery = (centres + random.normal(size=(ITEMS, DIMENSIONS)) for _ in range(2))
    return queries, gallery, codes


def ours(queries: np.ndarray, gallery: np.ndarray, query_codes: np.ndarray, gallery_codes: np.ndarray) -> float:
    """MAP by this project's evaluator, from raw representations."""
    names = [str(code) for code in range(CLASSES)]
    return mean_average_precision(
        queries, gallery, Labels.from_codes(query_codes, names), Labels.from_codes(gallery_codes, names)
    )


def by_sklearn(queries: np.ndarray, gallery: np.ndarray, query_codes: np.ndarray, gallery_codes: np.ndarray) -> float:
    """MAP by scikit-learn, query after query."""
    similarities = cosines(queries, gallery)
    rows = zip(query_codes, similarities, strict=True)
    return float(np.mean([average_precision_score(gallery_codes == code, row) for code, row in rows]))


def by_torchmetrics(
    queries: np.ndarray, gallery: np.ndarray, query_codes: np.ndarray, gallery_codes: np.ndarray
) -> float:
    """MAP by torchmetrics, query after query; it wants positive scores, and the sigmoid keeps their order."""
    similarities = torch.sigmoid(torch.from_numpy(cosines(queries, gallery)))
    relevant = torch.from_numpy(query_codes[:, None] == gallery_codes[None, :])
    pairs = zip(similarities, relevant, strict=True)
    return float(np.mean([float(retrieval_average_precision(row, hits)) for row, hits in pairs]))


def cosines(queries: np.ndarray, gallery: np.ndarray) -> np.ndarray:
    """The whole table of cosines, which the peers are given for granted."""
    units = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (queries, gallery)]
    return np.asarray(units[0] @ units[1].T)


def seconds(call: Callable[[], float], repeats: int = 3) -> tuple[float, float]:
    """The shortest of some timings, and the result."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - start)
    return min(times), result


def peak_extra_mib() -> float:
    """How much our evaluation raises the peak memory of a fresh process that already holds the problem."""
    code = "from benchmarks import bench_map; print(bench_map.growth_mib())"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return float(done.stdout.splitlines()[-1])


def growth_mib() -> float:
    """Evaluate once while another thread watches the memory, and say by how much it rose at most.

    The peak the system itself keeps is of no use here: a new process inherits that of the one that started it.
    """
    queries, gallery, codes = make_problem()
    small = slice(0, 200)
    ours(queries[small], gallery[small], codes[small], codes[small])  # load what is loaded on first use
    process, over = psutil.Process(), threading.Event()
    seen = [process.memory_info().rss]

    def watch() -> None:
        while not over.wait(0.001):
            seen.append(process.memory_info().rss)

    watcher = threading.Thread(target=watch)
    watcher.start()
    ours(queries, gallery, codes, codes)
    over.set()
    watcher.join()
    return (max(seen) - seen[0]) / 2**20


def run() -> dict[str, float]:
    """Time all three and compare."""
    queries, gallery, codes = make_problem()
    small = slice(0, 200)
    for measure in (ours, by_sklearn, by_torchmetrics):
        measure(queries[small], gallery[small], codes[small], codes[small])
    scale = ITEMS / SAMPLE
    sample = queries[:SAMPLE], gallery, codes[:SAMPLE], codes
    ours_s, score = seconds(lambda: ours(queries, gallery, codes, codes))
    sklearn_s, sklearn_map = seconds(lambda: by_sklearn(*sample))
    torchmetrics_s, torchmetrics_map = seconds(lambda: by_torchmetrics(*sample))
    sampled = ours(*sample)
    return {
        "queries": ITEMS,
        "gallery": ITEMS,
        "dimensions": DIMENSIONS,
        "classes": CLASSES,
        "sampled_queries": SAMPLE,
        "map": score,
        "ours_s": ours_s,
        "sklearn_s": sklearn_s * scale,
        "torchmetrics_s": torchmetrics_s * scale,
        "ratio_sklearn": sklearn_s * scale / ours_s,
        "ratio_torchmetrics": torchmetrics_s * scale / ours_s,
        "peak_extra_mib": peak_extra_mib(),
        "map_difference": max(abs(sampled - sklearn_map), abs(sampled - torchmetrics_map)),
        "map_difference_sklearn": abs(sampled - sklearn_map),
        "map_difference_torchmetrics": abs(sampled - torchmetrics_map),
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
