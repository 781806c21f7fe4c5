"""The raw Wikipedia release, imitated: the real lists with made-up articles and images."""

import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from diptych._core.errors import DataError
from diptych.ingest.releases import read_wikipedia_raw
from ingest.images import encoded, noise
from ingest.imitations import CLASSES, write_wikipedia

REAL = Path(__file__).parents[2].parent / "shared" / "data" / "wikipedia"
FEATURES = {"image": "colour-moments", "text": "bow:12"}


@pytest.fixture
def release(tmp_path):
    return write_wikipedia(tmp_path / "release")


def texts_of(dataset):
    return dict(zip(dataset.ids, dataset.items.column("text").to_pylist(), strict=True))


def test_images_articles_classes_and_splits(release, tmp_path) -> None:
    np.save(release / "val_test_permutation.npy", np.array([5, 0, 1, 2, 3, 4]))
    dataset = read_wikipedia_raw(release, tmp_path / "d", features=FEATURES).ingest().dataset
    assert dataset.classes == CLASSES
    splits = dict(zip(dataset.ids, dataset.splits.tolist(), strict=True))
    assert [name for name, split in splits.items() if split == "val"] == ["test0-0", "test5-5"]
    assert Counter(splits.values()) == {"train": 8, "val": 2, "test": 4}
    assert texts_of(dataset)["train0-0"] == "The art of caf\u00e9s & gardens, number0.", (
        "the title is no part of the text"
    )
    assert "authors' permutation" in dataset.source["split"] and "Rasiwasia" in dataset.source["citation"]
    media = dict(zip(dataset.ids, dataset.items.column("media").to_pylist(), strict=True))
    assert media["train1-1"] == "biology/trainimage1.jpg"


def test_the_split_can_be_drawn(release, tmp_path) -> None:
    drawn = [
        read_wikipedia_raw(release, tmp_path / f"d{seed}", features=FEATURES, seed=seed)
        .ingest()
        .dataset.splits.tolist()
        for seed in (0, 0, 1, 2)
        if not (tmp_path / f"d{seed}").exists()
    ]
    assert all(Counter(splits) == {"train": 8, "val": 2, "test": 4} for splits in drawn)
    assert len({tuple(splits) for splits in drawn}) > 1


def test_strange_articles_are_read_with_a_note(release, tmp_path) -> None:
    texts = release / "texts"
    (texts / "train0-0.xml").write_text("<document><text>Tom & Jerry <b>run</text></document>")
    (texts / "train1-1.xml").write_bytes(
        '<?xml version="1.0" encoding="ISO-8859-1"?><d>Z\u00fcrich</d>'.encode("latin-1")
    )
    (texts / "train2-2.xml").write_text("<document><text> </text></document>")
    (texts / "train3-3.xml").unlink()
    bomb = (
        '<!DOCTYPE d [<!ENTITY a "'
        + "ha" * 5000
        + '">'
        + "".join(f'<!ENTITY {after} "{f"&{before};" * 50}">' for before, after in zip("abcd", "bcde", strict=True))
    )
    (texts / "train4-4.xml").write_text(f"{bomb}]><d><text>&e;</text></d>")
    made = read_wikipedia_raw(release, tmp_path / "d", features=FEATURES).ingest()
    read = texts_of(made.dataset)
    assert read["train0-0"] == "Tom & Jerry  run"
    assert read["train1-1"] == "Z\u00fcrich"
    assert read["train2-2"] is None and read["train3-3"] is None
    assert read["train4-4"] is None or len(read["train4-4"]) < 100_000
    reasons = "\n".join(str(problem) for problem in made.report.problems)
    assert "texts/train0-0.xml: is not valid XML" in reasons
    assert "train1-1.xml, line 1: is not UTF-8" in reasons
    assert "texts/train2-2.xml: is empty" in reasons
    assert "texts/train3-3.xml: cannot be read (No such file or directory)" in reasons
    assert len(made.dataset) == 14


@pytest.mark.parametrize("name", ["texts", "images", "categories.list", "testset_txt_img_cat.list"])
def test_what_is_missing_is_named_with_its_source(release, tmp_path, name) -> None:
    missing = release / name
    shutil.rmtree(missing) if missing.is_dir() else missing.unlink()
    with pytest.raises(DataError, match=f"holds no {name}.*www.svcl.ucsd.edu"):
        read_wikipedia_raw(release, tmp_path / "d", features=FEATURES)


@pytest.mark.real_data
@pytest.mark.skipif(not (REAL / "categories.list").exists(), reason=f"{REAL} is not there")
def test_the_real_lists_give_the_paper_s_splits(tmp_path) -> None:
    folder = tmp_path / "release"
    for name in (
        "categories.list",
        "trainset_txt_img_cat.list",
        "testset_txt_img_cat.list",
        "val_test_permutation.npy",
    ):
        folder.mkdir(exist_ok=True)
        shutil.copy(REAL / name, folder / name)
    text, image, _ = (folder / "trainset_txt_img_cat.list").read_text().splitlines()[0].split("\t")
    (folder / "texts").mkdir()
    (folder / "texts" / f"{text}.xml").write_text("<d><text>words</text></d>")
    (folder / "images" / "media").mkdir(parents=True)
    (folder / "images" / "media" / f"{image}.jpg").write_bytes(encoded(noise("a"), "JPEG"))
    release = read_wikipedia_raw(folder, tmp_path / "d", features=FEATURES)
    assert release.gathered is not None
    items = list(release.gathered.items.values())
    assert Counter(item.split for item in items) == {"train": 2_173, "val": 231, "test": 462}
    assert (items[0].image, items[0].texts, items[0].label) == (f"media/{image}.jpg", ("words",), "media")
