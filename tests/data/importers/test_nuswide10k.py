from collections import Counter

import numpy as np
import pytest

from diptych._core.errors import DataError
from diptych.data.importers import import_nuswide10k

BLOCKS = {"CH": 3, "CORR": 2, "EDH": 2, "WT": 2, "CM55": 4, "BoW": 5}
SIZES = {"Train": 70, "Test": 50}
OPTIONS = {"blocks": BLOCKS, "tags": 6, "concepts": 3, "per_class": 10}
CONCEPTS = {"sky": 0.5, "water": 0.45, "person": 0.4, "zebra": 0.05}


def write_matrix(path, values, separator=" "):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(separator.join(f"{v:g}" for v in row) + separator + "\n" for row in values))


@pytest.fixture
def release(tmp_path):
    """A small imitation of the release under the official names; every feature row tells which item it is of."""
    folder = tmp_path / "nus"
    random = np.random.default_rng(0)
    truth = {}
    for part, size in SIZES.items():
        for concept, share in CONCEPTS.items():
            truth[concept, part] = (random.random(size) < share).astype(int)
            write_matrix(folder / "TrainTestLabels" / f"Labels_{concept}_{part}.txt", truth[concept, part][:, None])
        offset = 0 if part == "Train" else 1000
        items = np.arange(size)[:, None] + offset
        for block, width in BLOCKS.items():
            name = f"BoW_{part}_int.dat" if block == "BoW" else f"{part}_Normalized_{block}.dat"
            write_matrix(folder / "Low_Level_Features" / name, items + np.arange(width) / 10)
        tags = random.integers(0, 2, size=(size, 6))
        truth["tags", part] = tags
        write_matrix(folder / "NUS_WID_Tags" / f"{part}_Tags1k.dat", tags, "\t")
        write_matrix(folder / "NUS_WID_Tags" / f"{part}_Tags81.dat", tags[:, :2])
        names = "".join(f"dir\\{part}{i}.jpg\n" for i in range(size))
        (folder / "ImageList").mkdir(exist_ok=True)
        (folder / "ImageList" / f"{part}Imagelist.txt").write_text(names)
    return folder, truth


def test_selection_and_rows_match_a_naive_reading(release, tmp_path):
    folder, truth = release
    dataset = import_nuswide10k(folder, tmp_path / "out", **OPTIONS)
    assert set(dataset.classes) == {"sky", "water", "person"}
    assert dataset.labels.class_counts().tolist() == [10, 10, 10]
    assert Counter(dataset.splits.tolist()) == {"train": 24, "val": 3, "test": 3}
    assert (dataset.modalities["image"].dimension, dataset.modalities["text"].dimension) == (18, 6)
    assert dataset.modalities["text"].kind == "counts"
    widths = np.concatenate([np.arange(width) / 10 for width in BLOCKS.values()])
    pictures = dataset.items.column("picture").to_pylist()
    for position, (item, code) in enumerate(zip(dataset.ids, dataset.labels.codes, strict=True)):
        part, row = item.split("-")[0].capitalize(), int(item.split("-")[1])
        carried = [concept for concept in dataset.classes if truth[concept, part][row]]
        assert carried == [dataset.classes[code]]
        expected = row + (0 if part == "Train" else 1000) + widths
        np.testing.assert_allclose(dataset.columns["image"].values[position], expected, rtol=1e-6)
        np.testing.assert_array_equal(dataset.columns["text"].values[[position]].toarray()[0], truth["tags", part][row])
        assert pictures[position] == f"dir/{part}{row}.jpg"


def test_classes_are_the_most_frequent_concepts_in_order(release, tmp_path):
    folder, truth = release
    totals = {c: sum(truth[c, part].sum() for part in SIZES) for c in CONCEPTS}
    dataset = import_nuswide10k(folder, tmp_path / "out", **OPTIONS)
    assert list(dataset.classes) == sorted(totals, key=lambda c: (-totals[c], c))[:3]


def test_the_seed_decides(release, tmp_path):
    folder, _ = release
    prints = [
        import_nuswide10k(folder, tmp_path / str(i), seed=s, **OPTIONS).fingerprint for i, s in enumerate([1, 1, 2])
    ]
    assert prints[0] == prints[1] != prints[2]


def test_normalised_features_win_and_lists_are_optional(release, tmp_path):
    folder, _ = release
    write_matrix(folder / "Low_Level_Features" / "Train_CH.dat", np.zeros((70, 3)))
    for path in (folder / "ImageList").iterdir():
        path.unlink()
    dataset = import_nuswide10k(folder, tmp_path / "out", **OPTIONS)
    assert dataset.columns["image"].values[:, 0].max() > 0
    assert dataset.metadata_columns == []


def features(folder, name):
    return folder / "Low_Level_Features" / name


def change_line(path, number, content):
    lines = path.read_text().splitlines()
    lines[number] = content
    path.write_text("\n".join(lines) + "\n")


def change_every_line(path, content):
    path.write_text((content + "\n") * len(path.read_text().splitlines()))


BREAKS = {
    "no block": (lambda f: features(f, "Test_Normalized_WT.dat").unlink(), "no test file for 'WT'"),
    "no tags": (lambda f: (f / "NUS_WID_Tags" / "Train_Tags1k.dat").unlink(), "no train file for 'Tags1k'"),
    "no truth": (lambda f: [p.unlink() for p in (f / "TrainTestLabels").iterdir()], r"no Labels_<concept>_Train\.txt"),
    "half a truth": (lambda f: (f / "TrainTestLabels" / "Labels_sky_Test.txt").unlink(), r"lacks Labels_sky_Test\.txt"),
    "bad truth": (lambda f: change_line(f / "TrainTestLabels" / "Labels_sky_Test.txt", 4, "2"), "holds '2'"),
    "short truth": (lambda f: (f / "TrainTestLabels" / "Labels_sky_Test.txt").write_text("1\n"), "lines where other"),
    "empty truth": (lambda f: (f / "TrainTestLabels" / "Labels_sky_Test.txt").write_text(""), "holds nothing"),
    "wide block": (
        lambda f: change_every_line(features(f, "Train_Normalized_CH.dat"), "1 2"),
        r"Train_Normalized_CH\.dat, line \d+ has 2 numbers where 3 belong",
    ),
    "damaged block": (lambda f: change_every_line(features(f, "Train_Normalized_CH.dat"), "1 x 3"), "is damaged"),
    "nan": (
        lambda f: change_every_line(features(f, "Train_Normalized_CH.dat"), "1 nan 3"),
        "column 1 of 'image' is nan",
    ),
    "truncated block": (
        lambda f: features(f, "BoW_Train_int.dat").write_text("1 2 3 4 5\n" * 69),
        r"has 69 lines but the ground truth has 70",
    ),
    "twice": (
        lambda f: write_matrix(f / "copy" / "Train_Normalized_CH.dat", np.zeros((1, 3))),
        "several train files for 'CH'",
    ),
}


@pytest.mark.parametrize(("damage", "sentence"), BREAKS.values(), ids=BREAKS.keys())
def test_damage_is_named_and_leaves_nothing(release, tmp_path, damage, sentence):
    damage(release[0])
    with pytest.raises(DataError, match=sentence):
        import_nuswide10k(release[0], tmp_path / "out", **OPTIONS)
    assert [path.name for path in tmp_path.iterdir()] == ["nus"]


def test_too_few_items_and_no_folder(release, tmp_path):
    with pytest.raises(DataError, match=r"has .* items without another chosen concept, and 1000 are asked for"):
        import_nuswide10k(release[0], tmp_path / "out", **{**OPTIONS, "per_class": 1000})
    with pytest.raises(DataError, match="5 concepts are asked for, but the ground truth has 4"):
        import_nuswide10k(release[0], tmp_path / "out", **{**OPTIONS, "concepts": 5})
    with pytest.raises(DataError, match="is not a folder"):
        import_nuswide10k(tmp_path / "none", tmp_path / "out")
