"""A small set of three modalities: things of three classes whose colour, pitch and words tell the class."""

import json
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from diptych.ingest import IngestOptions, ingest
from diptych.methods import create, save_model
from media.sounds import noise, sound_file, tone

CLASSES = {
    "bird": ((40, 90, 220), 3000.0, "a blue bird that sings high"),
    "dog": ((150, 90, 40), 700.0, "a brown dog that barks"),
    "cow": ((240, 240, 240), 150.0, "a white cow that moos low"),
}
FEATURES = {"image": "colour-moments", "audio": "logmel:32", "text": "bow:60"}


def picture(kind: str, seed: int) -> bytes:
    pixels = np.random.default_rng(seed).normal(CLASSES[kind][0], 12, (24, 24, 3)).clip(0, 255).astype(np.uint8)
    written = BytesIO()
    Image.fromarray(pixels).save(written, "PNG")
    return written.getvalue()


def sound(kind: str, seed: int, format: str = "OGG") -> bytes:
    pitch = CLASSES[kind][1] * (1 + 0.05 * np.sin(seed))
    return sound_file(tone(pitch, 0.3) + noise(0.3, level=0.01, seed=seed), kind=format)


def make(folder: Path, method: str = "sm", each: int = 20, **options):
    """Write, ingest and fit; every fifth thing has no sound, every seventh no image."""
    raw = folder / "raw"
    raw.mkdir(parents=True)
    rows = []
    for kind in CLASSES:
        for number in range(each):
            row = {"id": f"{kind}-{number:02d}", "text": f"{CLASSES[kind][2]}, number {number}", "label": kind}
            if number % 7:
                row["image"] = f"{row['id']}.png"
                (raw / row["image"]).write_bytes(picture(kind, number))
            if number % 5:
                row["audio"] = f"{row['id']}.ogg"
                (raw / row["audio"]).write_bytes(sound(kind, number))
            rows.append(row)
    (raw / "things.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    dataset = ingest(IngestOptions(raw / "things.jsonl", folder / "dataset", features=FEATURES)).dataset
    save_model(create(method, **options).fit(dataset), folder / "model")
    return dataset
