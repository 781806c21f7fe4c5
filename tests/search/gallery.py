"""A tiny set of real pictures: plain colours with noise, and sentences that name them."""

import io
import json

import numpy as np
from PIL import Image

from diptych._core.seeding import generator
from diptych.ingest import IngestOptions, ingest
from diptych.methods import create, save_model
from diptych.search import build_index

COLOURS = {
    "red": (210, 40, 30),
    "green": (40, 170, 60),
    "blue": (40, 60, 200),
    "grey": (128, 128, 128),
}
THINGS = ("wall", "cloth", "paper", "tile")
SPLITS = ("train", "train", "train", "val", "test")


def picture(colour, name, side=32) -> Image.Image:
    """A noisy field of one colour."""
    random = generator(0, "field", str(name))
    field = np.array(COLOURS[colour]) + random.normal(0, 18, (side, side, 3)) + random.normal(0, 12, 3)
    return Image.fromarray(field.clip(0, 255).astype(np.uint8))


def png(colour, name, side=32) -> bytes:
    buffer = io.BytesIO()
    picture(colour, name, side).save(buffer, "PNG")
    return buffer.getvalue()


def write_raw(folder, per_colour=20):
    """The pictures, and a table of them."""
    (folder / "pictures").mkdir(parents=True)
    rows = []
    for colour in COLOURS:
        for number in range(per_colour):
            name = f"{colour}-{number:02d}"
            (folder / "pictures" / f"{name}.png").write_bytes(png(colour, name))
            text = f"a {colour} {THINGS[number % 4]} in the light"
            split = SPLITS[number % 5]
            rows.append({"id": name, "image": f"pictures/{name}.png", "text": text, "label": colour, "split": split})
    (folder / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    (folder / "ATTRIBUTION.md").write_text("Painted by nobody.\n")
    return folder / "pairs.jsonl"


def make(folder, features=("colour-moments", "bow:30"), method="cca", **params):
    """A dataset and a model of it."""
    pairs = write_raw(folder / "raw")
    written = dict(zip(("image", "text"), features, strict=True))
    dataset = ingest(IngestOptions(pairs, folder / "dataset", features=written, name="fields")).dataset
    save_model(create(method, **params).fit(dataset), folder / "model")
    return dataset


def build_unlabelled(folder):
    """Make `raw`, `dataset`, `model` and `index` in a folder; no item has a label."""
    pairs = write_raw(folder / "raw")
    rows = [json.loads(line) for line in pairs.read_text().splitlines()]
    pairs.write_text("\n".join(json.dumps({k: v for k, v in row.items() if k != "label"}) for row in rows) + "\n")
    features = {"image": "colour-moments", "text": "bow:30"}
    dataset = ingest(IngestOptions(pairs, folder / "dataset", features=features, name="fields")).dataset
    save_model(create("cca", components=4).fit(dataset), folder / "model")
    build_index(folder / "model", dataset, folder / "index")
    return folder
