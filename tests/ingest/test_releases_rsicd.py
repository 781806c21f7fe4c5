"""RSICD as its authors release it, imitated; the copy with a table of pairs, imitated and, where it is, real."""

import json
import shutil
import tarfile
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from diptych._core.errors import DataError
from diptych.data import media_of
from diptych.ingest.plan import plan_ingest
from diptych.ingest.releases import import_rsicd, read_rsicd
from ingest.conftest import WORDS
from ingest.images import encoded, noise

REAL = Path(__file__).parents[2].parent / "shared" / "data" / "rsicd"
SMALL = {"image_features": "colour-moments", "text_features": "bow:12"}
NAMES = [*(f"airport_{n}.jpg" for n in range(1, 7)), *(f"bareland_{n}.jpg" for n in range(1, 5)), "00623.jpg"]


@pytest.fixture
def release(tmp_path):
    folder = tmp_path / "release"
    (folder / "RSICD_images").mkdir(parents=True)
    entries = []
    for number, name in enumerate(NAMES):
        (folder / "RSICD_images" / name).write_bytes(encoded(noise(name), "JPEG"))
        sentences = [
            {"tokens": ["many"], "raw": f"{WORDS[(number + k) % 8]} planes near runway {k} .", "imgid": number}
            for k in range(5)
        ]
        split = ("train", "train", "val", "test")[number % 4]
        entries.append({"filename": name, "imgid": number, "sentences": sentences, "split": split, "sentids": []})
    (folder / "dataset_rsicd.json").write_text(json.dumps({"images": entries, "dataset": "rsicd"}))
    return folder


def write_lists(folder, **lists):
    (folder / "txtclasses_rsicd").mkdir()
    for name, images in lists.items():
        (folder / "txtclasses_rsicd" / f"{name}.txt").write_text("\r\n".join(images) + "\r\n")


def test_classes_in_names_captions_and_splits(release, tmp_path) -> None:
    dataset = import_rsicd(release, tmp_path / "d", **SMALL)
    assert dataset.classes == ("airport", "bareland")
    labels = dict(zip(dataset.ids, dataset.items.column("label").to_pylist(), strict=True))
    assert labels["airport_3.jpg"] == "airport" and labels["bareland_1.jpg"] == "bareland"
    assert labels["00623.jpg"] is None
    assert Counter(dataset.splits.tolist()) == {"train": 6, "val": 3, "test": 2}
    assert dataset.items.column("text")[0].as_py().count("\n") == 4
    assert dataset.source["release"] == "rsicd" and "Lu" in dataset.source["citation"]
    with media_of(dataset) as images:
        media = dataset.items.column("media").to_pylist()
        assert images.read(images.locate(media[0])) == (release / "RSICD_images" / NAMES[0]).read_bytes()


def test_lists_of_classes_count_more_than_names(release, tmp_path) -> None:
    write_lists(release, Airport=NAMES[:5], BareLand=[*NAMES[6:10], NAMES[0]], playfields=[NAMES[5], NAMES[1]])
    made = read_rsicd(release, tmp_path / "d", features={"image": "colour-moments", "text": "bow:12"}).ingest()
    labels = dict(zip(made.dataset.ids, made.dataset.items.column("label").to_pylist(), strict=True))
    assert NAMES[5] not in labels, "it is only of the class that overlaps"
    assert labels[NAMES[1]] == "airport"
    assert labels[NAMES[0]] == "airport"
    assert labels["00623.jpg"] is None
    reasons = [str(problem) for problem in made.report.problems]
    assert reasons == [
        "airport_1.jpg: is listed as 'airport' and as 'bareland'; 'airport' is kept",
        "airport_6.jpg: is of the class 'playfields', which overlaps others",
    ]


@pytest.mark.parametrize("inner", ["", "RSICD_images/"])
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_images_in_an_archive(release, tmp_path, inner, kind) -> None:
    plain = import_rsicd(release, tmp_path / "plain", **SMALL)
    folder = release / "RSICD_images"
    if kind == "zip":
        with zipfile.ZipFile(release / "RSICD_images.zip", "w") as archive:
            for path in folder.iterdir():
                archive.write(path, inner + path.name)
    else:
        with tarfile.open(release / "RSICD_images.tar", "w") as archive:
            for path in folder.iterdir():
                archive.add(path, inner + path.name)
    shutil.rmtree(folder)
    packed = import_rsicd(release, tmp_path / "packed", **SMALL)
    assert packed.source["images_kind"] == kind
    assert (packed.everything.features("image") == plain.everything.features("image")).all()


def test_each_caption_can_be_an_item(release, tmp_path) -> None:
    dataset = import_rsicd(release, tmp_path / "d", captions="each", **SMALL)
    assert len(dataset) == 5 * len(NAMES)
    assert dataset.modalities["image"].items == len(NAMES)


def test_what_is_missing_is_named_with_its_source(release, tmp_path) -> None:
    def refused(folder) -> str:
        with pytest.raises(DataError) as caught:
            import_rsicd(folder, tmp_path / "d", **SMALL)
        assert "RSICD_optimal" in str(caught.value)
        assert not (tmp_path / "d").exists()
        return str(caught.value)

    assert "holds neither dataset_rsicd.json nor pairs.jsonl" in refused(tmp_path)
    shutil.move(release / "RSICD_images", release / "elsewhere")
    assert "holds no RSICD_images" in refused(release)
    (release / "RSICD_images").mkdir()
    assert "does not hold the images that the release lists ('airport_1.jpg'" in refused(release)
    (release / "dataset_rsicd.json").write_text('{"images": [{"imgid": 1}]}')
    assert "entry 0 of 'images' has no 'filename'" in refused(release)
    (release / "dataset_rsicd.json").write_text('{"pictures": []}')
    assert "has no list 'images'" in refused(release)
    (release / "dataset_rsicd.json").write_text("{")
    assert "is not valid JSON" in refused(release)


@pytest.mark.real_data
@pytest.mark.skipif(not (REAL / "images.tar").exists(), reason=f"{REAL} is not there")
def test_the_real_copy_is_planned(tmp_path) -> None:
    release = read_rsicd(REAL, tmp_path / "d", features={"image": "nuswide", "text": "bow:1000"})
    plan = plan_ingest(release.options, release.gathered)
    assert (len(plan.items), len(plan.files["image"].places), len(plan.classes)) == (10_260, 10_260, 30)
    assert Counter(plan.splits) == {"train": 7_369, "val": 1_864, "test": 1_027}
