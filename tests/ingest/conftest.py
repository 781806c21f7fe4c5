"""A small set of images and texts to ingest."""

import json
from dataclasses import replace

import pytest

from diptych.ingest import IngestOptions
from ingest.images import png

WORDS = ("red", "green", "blue", "small", "large", "round", "flat", "bright")


def write_pairs(folder, count=30):
    """A JSON lines table with images beside it."""
    (folder / "images").mkdir(parents=True)
    rows = []
    for number in range(count):
        name = f"images/{number:03d}.png"
        (folder / name).write_bytes(png(number))
        captions = [f"{WORDS[number % 8]} {WORDS[(number + k) % 8]} thing number{number}" for k in (1, 2)]
        split = "train" if number < count * 0.6 else "validation" if number < count * 0.8 else "test"
        rows.append(
            {"image": name, "captions": captions, "label": "even" if number % 2 == 0 else "odd", "split": split}
        )
    (folder / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    return folder / "pairs.jsonl"


@pytest.fixture
def options(tmp_path):
    """Options for the small set, with one feature that learns and one that does not."""
    pairs = write_pairs(tmp_path / "raw")
    features = {"image": "visual-words:4+colour-moments", "text": "bow:12"}
    return IngestOptions(pairs, tmp_path / "made", features=features)


@pytest.fixture
def small_shards(monkeypatch):
    """Several shards of a few images."""
    monkeypatch.setattr("diptych.ingest.extract._SHARD_FILES", 4)
    monkeypatch.setattr("diptych.ingest.extract._SHARD_TEXTS", 7)


@pytest.fixture
def folder_content():
    """The bytes of every file of a folder by name."""

    def read(folder):
        return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}

    return read


@pytest.fixture
def with_options(options):
    """The options with changes."""
    return lambda **changes: replace(options, **changes)
