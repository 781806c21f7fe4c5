"""How fast an ingest is, how much memory it takes, and what the encoder adds to its bare network.

An ingest reads images from a tar, and decodes and describes them in two worker processes. The rate is that of the
extraction, without fitting visual words first. Memory is the peak of the main process and of its largest worker, at
500 and at 2,000 images: it must not grow with their number. Images are those of RSICD if the data folder is beside
the checkout, else blurred noise of the same size, 192 × 192.

The encoder is compared, in turns, with its bare network, which receives batches of ready tensors, in one process with
one thread and the allocator settings of the workers. `overhead` is the median over turns of the ratio of processor
times, less 1.
"""

import io
import json
import multiprocessing
import resource
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.bench_image_features import ARCHIVE, decode_all, encoded_images
from diptych._core.processes import roomy_allocator
from diptych.ingest import IngestOptions, ingest

COUNTS, WORKERS = (500, 2_000), 2
NETWORK_IMAGES, TURNS = 64, 5
STAGE = "image features"


def write_pictures(folder: Path, count: int) -> None:
    """A tar of so many images and a table of them."""
    folder.mkdir()
    rows = []
    with tarfile.open(folder / "images.tar", "w") as archive:
        for number, content in enumerate(encoded_images(count)):
            info = tarfile.TarInfo(f"{number:05d}.jpg")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
            rows.append({"image": info.name, "split": "train" if number < count // 2 else "test"})
    (folder / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))


def measure_ingest(folder: Path, features: str) -> dict[str, float]:
    """Ingest in this process and its workers; images a second while they are described, and peaks of memory."""
    seen: dict[str, float] = {}

    def watch(stage: str, done: int, total: int, figures: dict[str, float] | None = None) -> None:
        if stage == STAGE:
            seen.setdefault("start", time.perf_counter())
            seen["end"] = time.perf_counter()

    options = IngestOptions(
        folder / "pairs.jsonl",
        folder / "made",
        images=folder / "images.tar",
        features={"image": features},
        columns={"text": "-"},
        fit_images=200,
        overwrite=True,
        reuse=False,
    )
    items = ingest(options, workers=WORKERS, progress=watch).report.items
    return {
        "images_per_s": items / (seen["end"] - seen["start"]),
        "parent_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10,
        "worker_mib": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**10,
    }


def in_new_process(folder: Path, features: str) -> dict[str, float]:
    """Measure where nothing was loaded before, so that peaks are the ingest's own."""
    command = [sys.executable, "-m", "benchmarks.bench_ingest", str(folder), features]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def network_turns() -> list[tuple[float, float]]:
    """Processor seconds of the encoder, from images to rows, and of its bare network, turn by turn."""
    import torch

    from diptych.features.image.cnn import EfficientNetLite0, _network
    from diptych.features.image.preprocessing import batches

    torch.set_num_threads(1)
    images = decode_all(encoded_images(NETWORK_IMAGES))
    encoder = EfficientNetLite0().fit([])
    network = _network(encoder.weights_sha256)
    ready = [
        torch.from_numpy((batch - 127.0) / 128.0).permute(0, 3, 1, 2).contiguous()
        for batch in batches(images, encoder.batch_size, 224, 224)
    ]

    def bare() -> None:
        with torch.inference_mode():
            for batch in ready:
                network.extract_features(batch)

    turns = []
    for _ in range(TURNS + 1):
        times = []
        for work in (lambda: encoder(images), bare):
            start = time.process_time()
            work()
            times.append((time.process_time() - start) / len(images))
        turns.append((times[0], times[1]))
    return turns[1:]  # the first warms up


def run() -> dict[str, float | str]:
    """Measure all."""
    figures: dict[str, float | str] = {"source": "RSICD" if ARCHIVE.exists() else "noise", "workers": WORKERS}
    with tempfile.TemporaryDirectory() as temporary:
        for count in COUNTS:
            folder = Path(temporary) / str(count)
            write_pictures(folder, count)
            for name, value in in_new_process(folder, "nuswide").items():
                figures[f"nuswide_{count}_{name}"] = round(value, 1)
    with (
        roomy_allocator(),
        ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool,
    ):
        turns = pool.submit(network_turns).result()
    figures["encoder_images_per_s_core"] = round(1 / min(encoder for encoder, _ in turns), 1)
    figures["bare_network_images_per_s_core"] = round(1 / min(bare for _, bare in turns), 1)
    figures["encoder_overhead"] = round(statistics.median(encoder / bare for encoder, bare in turns) - 1, 3)
    return figures


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(measure_ingest(Path(sys.argv[1]), sys.argv[2])))
    else:
        print(json.dumps(run(), indent=2))
