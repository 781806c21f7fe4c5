"""Images per second on one core, for each descriptor and each recipe.

Images are decoded before the clock starts; decoding has its own line. They are the first images of RSICD (192 × 192) if
the data folder is beside the checkout, else blurred noise of that size. Everything runs on one thread. Learned features
are fitted beforehand, on the same images and with a small sample, since this does not change what applying them costs.
Times are processor time, which depends less on other work than wall time does; each figure is the fastest of a few
passes. To measure another feature, add a line to `FEATURES`.
"""

import json
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from threadpoolctl import threadpool_limits

from diptych._core.arrays import ImageArray
from diptych._core.seeding import generator
from diptych.features.contract import Feature
from diptych.features.image.colour import ColourCorrelogram, ColourHistogram, ColourMoments
from diptych.features.image.mpeg7 import ColourLayout, ColourStructure, EdgeHistogram, ScalableColour
from diptych.features.image.recipes import nuswide, wikipedia_images
from diptych.features.image.texture import EdgeDirection, Gist, WaveletTexture
from diptych.features.image.visual_words import VisualWords
from diptych.media.decoding import Limits, decode_image

ARCHIVE = Path(__file__).parents[1].parent / "shared" / "data" / "rsicd" / "images.tar"
IMAGES, SIDE, REPEATS = 60, 192, 3

FEATURES: dict[str, Callable[[], Feature[ImageArray]]] = {
    "colour_histogram": ColourHistogram,
    "colour_correlogram": ColourCorrelogram,
    "edge_direction": EdgeDirection,
    "wavelet_texture": WaveletTexture,
    "colour_moments": ColourMoments,
    "visual_words_500": lambda: VisualWords(500, sample_per_word=20),
    "nuswide": lambda: nuswide(VisualWords(500, sample_per_word=20)),
    "gist": Gist,
    "colour_structure": ColourStructure,
    "scalable_colour": ScalableColour,
    "colour_layout": ColourLayout,
    "edge_histogram": EdgeHistogram,
    "wikipedia": wikipedia_images,
}


def encoded_images(count: int) -> list[bytes]:
    """JPEG files: the first of the archive, or noise over and over."""
    if ARCHIVE.exists():
        with tarfile.open(ARCHIVE) as archive:
            members = (archive.extractfile(member) for member in archive if member.isreg())
            return [file.read() for file, _ in zip(members, range(count), strict=False) if file is not None]
    noise = [cv2.imencode(".jpg", image[..., ::-1])[1].tobytes() for image in noise_images()]
    return [noise[number % len(noise)] for number in range(count)]


def noise_images() -> list[ImageArray]:
    """Images of no particular content, smooth enough to have edges and flat parts."""
    random = generator(0, "bench-image-features")
    noise = (random.integers(256, size=(SIDE, SIDE, 3), dtype=np.uint8) for _ in range(IMAGES))
    return [np.asarray(cv2.GaussianBlur(image, (0, 0), 3), dtype=np.uint8) for image in noise]


def milliseconds(work: Callable[[list[Any]], object], items: list[Any]) -> float:
    """The time one item takes, in the fastest of a few passes over all."""
    work(items[:2])  # tables and filters are made on first use
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        work(items)
        times.append(time.process_time() - start)
    return 1e3 * min(times) / len(items)


def decode_all(files: list[bytes]) -> list[ImageArray]:
    """What an ingest does before it describes anything."""
    return [decode_image(file, Limits()) for file in files]


def run() -> dict[str, float | str]:
    """Measure every feature of the table."""
    cv2.setNumThreads(1)
    files = encoded_images(IMAGES)
    images = decode_all(files)
    source = "RSICD" if ARCHIVE.exists() else "noise"
    figures: dict[str, float | str] = {"pictures": len(images), "source": source}
    with threadpool_limits(1):
        figures["decoding_ms"] = round(milliseconds(decode_all, files), 3)
        for name, make in FEATURES.items():
            cost = milliseconds(make().fit(images), images)
            figures[f"{name}_ms"] = round(cost, 3)
            figures[f"{name}_images_per_s_core"] = round(1e3 / cost, 1)
    return figures


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
