"""Whether embedding 100,000 stored items takes more memory than embedding 10,000, and how fast it is.

`cca` and the deep `base` (profile fast) are fitted on 1,200 synthetic items. Each then embeds 512 dense columns of a
stored dataset by the calls that `diptych embed` makes, in its own process that has embedded a small dataset before.

- `peak_extra_mib`: the peak memory of the process above what it held before.
- `opened_mib`: the part of it that is allocated before the first row is read: ids, labels and row numbers, some hundred
  bytes per item whatever its features are.
- `peak_ratio` compares the remaining memory, that of the stream, between the two sizes; `whole_ratio` compares all.

A modality of counts would be read as a whole and is not measured here. Rates include opening the dataset.
"""

import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from diptych._core.files import write_npy
from diptych._core.seeding import generator
from diptych.data import Dataset, Draft, ModalityRows, Partition, write_dataset
from diptych.data.synthetic import make_synthetic
from diptych.methods import Method, create
from diptych.methods.model_folder import load_model, save_model

SIZES = (10_000, 100_000)
FITTED_ON = 1_200
DIMENSION = 512
METHODS: dict[str, dict[str, Any]] = {"cca": {}, "base": {"profile": "fast", "cache": None}}
ALIKE = 1.25
"""Peaks of the stream are called alike up to this ratio; with all rows in memory it would be near 10."""


def run() -> dict[str, Any]:
    """Measure every method at both sizes."""
    figures: dict[str, Any] = {"items": list(SIZES), "dimension": DIMENSION}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fit_on = make_synthetic(
            folder / "small",
            items=FITTED_ON,
            kinds=dict.fromkeys(("image", "text"), "dense"),
            dimensions={"image": DIMENSION},
        )
        for method, params in METHODS.items():
            save_model(create(method, **params).fit(fit_on), folder / method)
        for size in SIZES:
            write_many(folder / str(size), fit_on, size)
        for method in METHODS:
            figures |= measured(method, folder)
    figures["peaks_alike"] = all(figures[f"{method}_peak_ratio"] < ALIKE for method in METHODS)
    return figures


def measured(method: str, folder: Path) -> dict[str, Any]:
    """Rates and peaks of one method at both sizes, and the ratio of the peaks."""
    outcomes = {size: in_a_new_process(folder / method, folder / "small", folder / str(size)) for size in SIZES}
    whole = [outcomes[size]["peak_extra_mib"] for size in SIZES]
    stream = [outcomes[size]["peak_extra_mib"] - outcomes[size]["opened_mib"] for size in SIZES]
    named = {f"{method}_{key}_{size}": value for size, part in outcomes.items() for key, value in part.items()}
    ratios = {f"{method}_peak_ratio": stream[1] / stream[0], f"{method}_whole_ratio": whole[1] / whole[0]}
    return named | ratios


def write_many(folder: Path, like: Dataset, count: int) -> None:
    """A dataset of test items with the rows of another one over and over, each slightly changed."""
    rows = like.everything.features("image")
    noise = generator(0, "benchmark", "embed", str(count)).normal(scale=0.1, size=(count, DIMENSION))
    values = (np.resize(rows, (count, DIMENSION)) + noise).astype(np.float32)
    draft = Draft(
        name=str(count),
        ids=[f"item-{row:06d}" for row in range(count)],
        splits=["test"] * count,
        labels=[like.classes[row % len(like.classes)] for row in range(count)],
        classes=like.classes,
        modalities={"image": ModalityRows("dense", values)},
    )
    write_dataset(folder, draft)


def in_a_new_process(model: Path, small: Path, dataset: Path) -> dict[str, float]:
    """Embed where nothing else has left its traces in memory."""
    code = "import sys; from benchmarks import bench_embed; bench_embed.tell(*sys.argv[1:])"
    command = [sys.executable, "-c", code, str(model), str(small), str(dataset)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def tell(model: str, small: str, dataset: str) -> None:
    """Embed a small dataset to load what is loaded on first use, then the other one, watched; print the figures.

    The peak the system itself keeps is of no use here: a new process inherits that of the one that started it.
    """
    fitted, out = load_model(model), Path(dataset) / "embeddings.npy"
    process, over = psutil.Process(), threading.Event()

    def held_mib() -> float:
        return process.memory_info().rss / 2**20

    embed(fitted, opened(small), out)
    seen = [held_mib()]

    def watch() -> None:
        while not over.wait(0.001):
            seen.append(held_mib())

    watcher = threading.Thread(target=watch)
    watcher.start()
    started = time.perf_counter()
    part = opened(dataset)
    opened_mib = held_mib() - seen[0]
    embed(fitted, part, out)
    seconds = time.perf_counter() - started
    over.set()
    watcher.join()
    figures = {"items_per_s": len(part) / seconds, "opened_mib": opened_mib, "peak_extra_mib": max(seen) - seen[0]}
    print(json.dumps(figures))


def opened(folder: str) -> Partition:
    """The test items of a stored dataset."""
    return Dataset.open(folder).split("test").having("image")


def embed(fitted: Method, part: Partition, out: Path) -> None:
    """From rows on disk to embeddings on disk."""
    write_npy(out, fitted.embed_blocks("image", part.blocks("image")), len(part))


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
