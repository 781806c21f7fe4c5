"""The aerial images of RSICD, where they are at hand."""

from collections import Counter
from pathlib import Path

import pytest

from diptych.ingest import IngestOptions, ingest
from diptych.ingest.plan import plan_ingest

FOLDER = Path(__file__).parents[2].parent / "shared" / "data" / "rsicd"
FEATURES = {"image": "nuswide", "text": "bow:1000"}

pytestmark = [
    pytest.mark.real_data,
    pytest.mark.skipif(not (FOLDER / "images.tar").exists(), reason=f"{FOLDER} is not there"),
]


def test_every_item_is_found(tmp_path) -> None:
    options = IngestOptions(FOLDER / "pairs.jsonl", tmp_path / "d", images=FOLDER / "images.tar", features=FEATURES)
    plan = plan_ingest(options)
    assert (len(plan.items), len(plan.files["image"].places), len(plan.classes)) == (10_260, 10_260, 30)
    assert Counter(plan.splits) == {"train": 7_369, "val": 1_864, "test": 1_027}
    assert not plan.problems
    assert plan.items[0].texts[0].count("\n") == 4


@pytest.mark.slow
def test_a_few_become_a_dataset(tmp_path) -> None:
    lines = (FOLDER / "pairs.jsonl").read_text().splitlines()
    (tmp_path / "pairs.jsonl").write_text("\n".join(lines[::250]))
    options = IngestOptions(tmp_path / "pairs.jsonl", tmp_path / "d", images=FOLDER / "images.tar", features=FEATURES)
    dataset = ingest(options).dataset
    assert len(dataset) == 42
    assert dataset.modalities["image"].dimension == 1_134
    assert dataset.modalities["text"].kind == "counts"
    assert dataset.everything.features("image").std(axis=0).min() >= 0
