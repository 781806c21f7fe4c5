from pathlib import Path

import numpy as np
import pytest
import scipy.io

from diptych._core.errors import ConfigError, DataError
from diptych.data.importers import import_wikipedia

REAL = Path(__file__).parents[3].parent / "shared" / "data" / "wikipedia"
PERMUTATION = [4, 1, 5, 0, 3, 2]


@pytest.fixture
def release(tmp_path):
    """A release of 8 training and 6 test documents in the official form."""
    folder = tmp_path / "release"
    folder.mkdir()
    random = np.random.default_rng(0)
    shapes = {"I_tr": (8, 5), "I_te": (6, 5), "T_tr": (8, 3), "T_te": (6, 3)}
    scipy.io.savemat(folder / "raw_features.mat", {name: random.random(shape) for name, shape in shapes.items()})
    (folder / "categories.list").write_text("art\nsport\n")
    for part, count in (("train", 8), ("test", 6)):
        lines = [f"{part}text{i}-1\t{part}image{i}\t{i % 2 + 1}\n" for i in range(count)]
        (folder / f"{part}set_txt_img_cat.list").write_text("".join(lines))
    np.save(folder / "val_test_permutation.npy", np.array(PERMUTATION))
    return folder


def test_small_release(release, tmp_path):
    dataset = import_wikipedia(release, tmp_path / "out")
    assert dataset.splits.tolist() == ["train"] * 8 + ["test", "val", "test", "test", "val", "test"]
    assert dataset.ids[8] == "testtext0-1"
    assert dataset.items.column("image_id").to_pylist()[13] == "testimage5"
    assert dataset.classes == ("art", "sport")
    assert dataset.labels.codes.tolist() == [0, 1] * 7
    mat = scipy.io.loadmat(release / "raw_features.mat")
    np.testing.assert_array_equal(dataset.columns["image"].values, np.vstack([mat["I_tr"], mat["I_te"]]))
    np.testing.assert_array_equal(dataset.columns["text"].values, np.vstack([mat["T_tr"], mat["T_te"]]))
    assert [file["file"] for file in dataset.source["files"]] == [
        "raw_features.mat",
        "trainset_txt_img_cat.list",
        "testset_txt_img_cat.list",
        "categories.list",
        "val_test_permutation.npy",
    ]
    assert all(len(file["blake2b"]) == 32 for file in dataset.source["files"])
    assert "Rasiwasia" in dataset.source["citation"]


def test_seeded_split(release, tmp_path):
    one = import_wikipedia(release, tmp_path / "one", split="seeded", seed=1)
    again = import_wikipedia(release, tmp_path / "again", split="seeded", seed=1)
    others = [import_wikipedia(release, tmp_path / f"s{s}", split="seeded", seed=s).fingerprint for s in range(2, 8)]
    assert one.fingerprint == again.fingerprint
    assert set(others) != {one.fingerprint}
    assert [len(one.split(name)) for name in ("train", "val", "test")] == [8, 2, 4]
    assert "seed 1" in one.source["split"]


def test_auto_falls_back_to_the_seed(release, tmp_path):
    (release / "val_test_permutation.npy").unlink()
    dataset = import_wikipedia(release, tmp_path / "out")
    assert "seed 0" in dataset.source["split"]
    with pytest.raises(DataError, match=r"val_test_permutation\.npy does not exist"):
        import_wikipedia(release, tmp_path / "other", split="authors")


def test_repeated_text_ids_get_their_row(release, tmp_path):
    path = release / "testset_txt_img_cat.list"
    path.write_text(path.read_text().replace("testtext1-1", "testtext0-1"))
    dataset = import_wikipedia(release, tmp_path / "out")
    assert dataset.ids[8:10].tolist() == ["testtext0-1-row8", "testtext0-1-row9"]
    assert dataset.items.column("text_id").to_pylist()[9] == "testtext0-1"


def replace_line(path: Path, line: str) -> None:
    path.write_text(line + "\n" + path.read_text().split("\n", 1)[1])


BREAKS = {
    "two fields": (lambda f: replace_line(f / "trainset_txt_img_cat.list", "a\tb"), "line 1 has 2 fields"),
    "class 0": (
        lambda f: replace_line(f / "testset_txt_img_cat.list", "a\tb\t0"),
        "line 1 has the class '0'; it must be 1",
    ),
    "class 3": (lambda f: replace_line(f / "testset_txt_img_cat.list", "a\tb\t3"), "the class '3'; it must be 1 to 2"),
    "no class": (lambda f: replace_line(f / "testset_txt_img_cat.list", "a\tb\tart"), "the class 'art'"),
    "no features": (lambda f: (f / "raw_features.mat").unlink(), r"raw_features\.mat does not exist"),
    "empty list": (lambda f: (f / "categories.list").write_text(""), r"categories\.list is empty"),
    "truncated": (
        lambda f: (f / "raw_features.mat").write_bytes((f / "raw_features.mat").read_bytes()[:300]),
        "MATLAB",
    ),
    "no variable": (
        lambda f: scipy.io.savemat(f / "raw_features.mat", {"X": np.eye(2)}),
        "no variable 'I_tr'; it has X",
    ),
    "fewer rows": (
        lambda f: scipy.io.savemat(f / "raw_features.mat", {n: np.eye(8) for n in ("I_tr", "I_te", "T_tr", "T_te")}),
        r"raw_features\.mat:I_te has 8 rows but testset_txt_img_cat\.list has 6",
    ),
    "not an order": (
        lambda f: np.save(f / "val_test_permutation.npy", np.array([0, 0, 1, 2, 3, 4])),
        "not an order of the 6 test documents",
    ),
    "an order of text": (lambda f: np.save(f / "val_test_permutation.npy", np.array(["a"])), "not an order"),
}


@pytest.mark.parametrize(("damage", "sentence"), BREAKS.values(), ids=BREAKS.keys())
def test_damage_is_named_and_leaves_nothing(release, tmp_path, damage, sentence):
    damage(release)
    with pytest.raises(DataError, match=sentence):
        import_wikipedia(release, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["release"]


def test_unknown_split_rule(release, tmp_path):
    with pytest.raises(ConfigError, match="split is 'random'; choose one of auto, authors, seeded"):
        import_wikipedia(release, tmp_path / "out", split="random")


@pytest.mark.real_data
@pytest.mark.skipif(not REAL.exists(), reason="the Wikipedia features are not beside the checkout")
def test_the_real_release(tmp_path):
    dataset = import_wikipedia(REAL, tmp_path / "out")
    assert (len(dataset), len(dataset.classes)) == (2866, 10)
    assert [len(dataset.split(name)) for name in ("train", "val", "test")] == [2173, 231, 462]
    assert {name: (m.kind, m.dimension) for name, m in dataset.modalities.items()} == {
        "image": ("dense", 128),
        "text": ("dense", 10),
    }
    order = np.load(REAL / "val_test_permutation.npy")
    assert sorted(dataset.split("val").index.tolist()) == sorted((2173 + order[:231]).tolist())
    np.testing.assert_allclose(dataset.split("test").features("image").sum(axis=1), 1, atol=1e-6)
