"""CDMLMR compared with `sm` and, at equal epochs, with `two-tower`: whole fits, cold, including validation searches.

Time and peak memory of a whole fit on RSICD with convolutional features (7,369 training pairs, 1,280 and 1,000
columns), each in its own process. Needs RSICD in `shared/data/rsicd` beside the checkout. The network alone is
compared with two towers that make as many passes over the same rows.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from diptych.data.modality import ModalityRows
from diptych.data.writing import Draft, write_dataset
from diptych.features.text.counts import BagOfWords

SOURCE = Path(__file__).parents[2] / "shared" / "data" / "rsicd"
WORDS = 1_000

_FIT = """
import json, resource, sys, time
from diptych.data import Dataset
from diptych.methods import create
dataset, name, params = Dataset.open(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
model = create(name, **params)
started = time.perf_counter()
model.fit(dataset)
seconds = time.perf_counter() - started
stages = {stage["stage"]: stage["seconds"] for stage in model.record_.get("stages", [])}
sizes = model.record_.get("sizes", {})
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"seconds": seconds, "stages": stages, "sizes": sizes, "peak": peak, "before": before}))
"""


def run() -> dict[str, object]:
    """Fit each method once."""
    if not SOURCE.exists():
        return {"skipped": "RSICD is not beside the checkout"}
    with tempfile.TemporaryDirectory() as folder:
        rows = write_rows(Path(folder) / "rsicd")
        ours = _fit(folder, "cdmlmr", cache=None)
        sizes = ours["sizes"]
        epochs = max(1, round(sizes["steps"] * sizes["batch_size"] / rows))
        towers = _fit(folder, "two-tower", cache=None, epochs=epochs, members=sizes["members"])
        regression = _fit(folder, "sm")
    network, peer = ours["stages"]["network"], next(iter(towers["stages"].values()))
    return {
        "seconds": ours["seconds"],
        "network_seconds": network,
        "sm_seconds": regression["seconds"],
        "ratio_sm": ours["seconds"] / regression["seconds"],
        "epochs": epochs,
        "two_tower_seconds": peer,
        "ratio_two_tower": network / peer,
        "peak_rss_mib": ours["peak"],
        "peak_rss_before_mib": ours["before"],
        "sm_peak_rss_mib": regression["peak"],
    }


def _fit(folder: str, method: str, **params: object) -> dict[str, dict[str, float]]:
    command = [sys.executable, "-c", _FIT, str(Path(folder) / "rsicd"), method, json.dumps(params)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def read_items() -> list[dict[str, Any]]:
    """The items of RSICD: image, captions, label and split of each."""
    return [json.loads(line) for line in (SOURCE / "pairs.jsonl").read_text().splitlines()]


def write_rows(folder: Path, kept: Sequence[int] | None = None) -> int:
    """Write a dataset of RSICD, or of some of its items; returns the number of training pairs."""
    every = read_items()
    classes = sorted({item["label"] for item in every})
    places = list(range(len(every)) if kept is None else kept)
    items = [every[place] for place in places]
    texts, splits = [" ".join(item["captions"]) for item in items], [item["split"] for item in items]
    words = BagOfWords(WORDS).fit(text for text, split in zip(texts, splits, strict=True) if split == "train")
    image = np.load(SOURCE / "efficientnet_lite0.npy")[places].astype(np.float32)
    write_dataset(
        folder,
        Draft(
            name=folder.name,
            ids=[item["image"] for item in items],
            splits=splits,
            labels=[item["label"] for item in items],
            classes=classes,
            modalities={
                "image": ModalityRows("dense", image),
                "text": ModalityRows("counts", words(texts)),
            },
        ),
    )
    return splits.count("train")
