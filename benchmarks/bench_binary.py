"""How much memory binary codes save, and what they cost in recall and time.

The vectors of the benchmark `index` (256 numbers, around a thousand centres) are put into an index with default
settings and into one with codes of 256 bits, `bits=256`. Each index is opened and queried in its own process.

- `recall_at_10`: compared with exact search over all vectors; `float_recall_at_10` is that of the index without
  codes.
- `recall_ratio`: the former divided by the latter.
- `searched_mb`: the size of what a search reads: the codes and their parameters, or the graph (`float_searched_mb`).
- `resident_mb`: the part of it in memory after a thousand queries, plus what the process has allocated since it
  opened the index. Vectors are excluded for both indexes: those of candidates are read from a memory-mapped file,
  whose pages the system reclaims when it needs them.
- `memory_ratio`: that figure divided by the one of the index without codes.
- `vectors_resident_mb`: the pages of that file in memory after a thousand queries.
- `single_per_s`, `batch_per_s`: queries per second, with one query per call and with all in one call.
- `codes_only_recall_at_10`: for an index that keeps no vectors at all (`keep_float=False`); `codes_only_disk_ratio`:
  the size of its folder divided by that of the index without codes.

DIPTYCH_BENCH_INDEX=20000 measures another size, for a quick look.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import faiss
import numpy as np

from benchmarks.bench_index import BLOCK, DIMENSION, QUERIES, K, block, drawn, exact, recall
from diptych.index import EmbedderId, Identity, create_index, open_index
from diptych.methods.binary_codes import learn_codes

BITS, TURNS = 256, 5
SIZES = "100000,1000000"
KINDS: dict[str, dict[str, Any]] = {
    "float_": {},
    "": {"bits": BITS},
    "codes_only_": {"bits": BITS, "keep_float": False},
}
STRUCTURES = ("neighbours.faiss", "codes.u8", "projection.f32")


def run() -> dict[str, Any]:
    """Measure every size."""
    sizes = [int(size) for size in os.environ.get("DIPTYCH_BENCH_INDEX", SIZES).split(",")]
    figures: dict[str, Any] = {"sizes": sizes, "dimension": DIMENSION, "bits": BITS, "k": K}
    for size in sizes:
        measured: dict[str, Any] = {}
        truth = exact(drawn(QUERIES, "queries"), size)
        for kind, options in KINDS.items():
            with tempfile.TemporaryDirectory() as name:
                found = built(Path(name) / "index", size, options)
                told = asked_in_a_new_process(Path(name) / "index")
            found["recall_at_10"] = recall(told.pop("found"), truth)
            measured |= {f"{kind}{key}": value for key, value in (found | told).items()}
        measured["recall_ratio"] = measured["recall_at_10"] / measured["float_recall_at_10"]
        measured["memory_ratio"] = measured["resident_mb"] / measured["float_resident_mb"]
        measured["codes_only_disk_ratio"] = measured["codes_only_disk_mb"] / measured["float_disk_mb"]
        figures |= {f"{key}_{size}": value for key, value in measured.items()}
    return figures


def built(folder: Path, size: int, options: dict[str, Any]) -> dict[str, float]:
    """Fill an index as the command line does; codes are learned from some of the items first."""
    started = time.perf_counter()
    codes = {"codes": learn_codes(block(0), BITS)} if options else {}
    create_index(folder, Identity(EmbedderId("benchmark"), DIMENSION), **options, **codes).close()
    with open_index(folder, auto_fold=False) as index:
        for number, start in enumerate(range(0, size, BLOCK)):
            rows = block(number)[: size - start]
            index.add([f"item-{row:08d}" for row in range(start, start + len(rows))], rows, modality="image")
        index.optimise()
    on_disk = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return {"build_s": time.perf_counter() - started, "disk_mb": on_disk / 1e6}


def asked_in_a_new_process(folder: Path) -> dict[str, Any]:
    """Open and ask where building has left no traces in memory."""
    code = "import sys; from benchmarks import bench_binary; bench_binary.tell(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", code, str(folder)], check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def tell(folder: str) -> None:
    """Print the figures of one built index."""
    queries = drawn(QUERIES, "queries")
    faiss.knn(queries[:1], queries, 1)  # loads what is loaded on first use
    faiss.knn_hamming(np.zeros((1, 32), np.uint8), np.zeros((9, 32), np.uint8), 1)
    with open_index(folder, read_only=True) as warm:
        warm.search(queries[0], K)
    before = resident()
    with open_index(folder, read_only=True) as index:
        found = [index.search(row, K)[0] for row in queries]
        after = resident()
        times: dict[str, list[float]] = {"single": [], "batch": []}
        for _ in range(TURNS):
            for name, rows in (("single", queries[:100]), ("batch", queries)):
                started = time.perf_counter()
                _ = [index.search(row, K) for row in rows] if name == "single" else index.search(rows, K)
                times[name].append((time.perf_counter() - started) / len(rows))
    searched = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.name in STRUCTURES)
    in_memory = sum(after.get(name, 0) for name in STRUCTURES) + max(0, after[""] - before[""])
    figures = {
        "found": [[int(id[-8:]) for id in answer.ids] for answer in found],
        "searched_mb": searched / 1e6,
        "resident_mb": in_memory / 1e6,
        "vectors_resident_mb": after.get("vectors.f32", 0) / 1e6,
        **{f"{name}_per_s": 1 / float(np.median(spent)) for name, spent in times.items()},
    }
    print(json.dumps(figures))


def resident() -> dict[str, int]:
    """Bytes of this process in memory: by the name of the file that is mapped, and under "" what belongs to none."""
    found: dict[str, int] = {"": 0}
    name = ""
    for line in Path("/proc/self/smaps").read_text().splitlines():
        words = line.split()
        if not words[0].endswith(":"):  # the head of a mapping: its file stands at the end
            name = Path(words[5]).name if len(words) > 5 and words[5].startswith("/") else ""
        elif words[0] == "Rss:":
            found[name] = found.get(name, 0) + 1024 * int(words[1])
    return found


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
