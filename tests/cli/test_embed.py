"""Embedding in a stream: the same codes as all at once, and nothing left behind by a failure."""

import json
import re
import shutil

import numpy as np
import pytest

from diptych.data import Dataset, Partition
from diptych.methods.model_folder import load_model

pytestmark = pytest.mark.usefixtures("fake_methods")


@pytest.fixture
def model(diptych, tmp_path, gaps_dataset):
    folder = tmp_path / "model"
    ended = diptych("fit", gaps_dataset.path, "--method", "steady", "--out", folder)
    assert ended.status == 0, ended.err
    return folder


@pytest.fixture
def _small_blocks(monkeypatch):
    monkeypatch.setattr(Partition.blocks, "__defaults__", (7,))


@pytest.mark.usefixtures("_small_blocks")
@pytest.mark.parametrize("modality", ["image", "text"])
def test_a_stream_of_blocks_gives_what_embed_gives(diptych, tmp_path, gaps_dataset, model, modality):
    out = tmp_path / "deep" / "codes.npy"
    ended = diptych("embed", model, gaps_dataset.path, "--modality", modality, "--split", "train", "--out", out)
    assert (ended.status, ended.out) == (0, "")
    part = gaps_dataset.split("train").having(modality)
    expected = load_model(model).embed(modality, part.features(modality))
    codes = np.load(out, allow_pickle=False)
    assert codes.dtype == np.float32
    np.testing.assert_allclose(codes, expected, rtol=1e-5, atol=1e-6)
    assert json.loads((tmp_path / "deep" / "codes.ids.json").read_text()) == part.ids.tolist()
    assert sorted(path.name for path in out.parent.iterdir()) == ["codes.ids.json", "codes.npy"]


def test_the_rate_is_told(diptych, tmp_path, gaps_dataset, model):
    ended = diptych("embed", model, gaps_dataset.path, "--modality", "image", "--out", tmp_path / "codes.npy")
    count, width = np.load(tmp_path / "codes.npy").shape
    assert re.match(rf"{count} items, {width} dimensions, [0-9,]+ items/s: ", ended.err)
    assert ended.err.count("\n") == 1


@pytest.mark.usefixtures("_small_blocks")
def test_a_bad_row_near_the_end_leaves_what_was_there(diptych, tmp_path, gaps_dataset, model):
    broken = tmp_path / "broken"
    shutil.copytree(gaps_dataset.path, broken)
    rows = np.load(broken / "image.npy")
    rows[Dataset.open(broken).split("test").having("image").index.size * -1 + 20 :] = np.nan
    np.save(broken / "image.npy", rows)
    folder = tmp_path / "codes"
    folder.mkdir()
    (folder / "codes.npy").write_text("old codes")
    (folder / "codes.ids.json").write_text("old ids")
    ended = diptych("embed", model, broken, "--modality", "image", "--out", folder / "codes.npy")
    assert ended.status == 2
    assert "row 20, column 0 of 'image' is nan" in ended.err
    kept = {path.name: path.read_text() for path in folder.iterdir()}
    assert kept == {"codes.npy": "old codes", "codes.ids.json": "old ids"}


def test_a_place_that_cannot_be_written_is_named(diptych, tmp_path, gaps_dataset, model):
    (tmp_path / "file").write_text("")
    out = tmp_path / "file" / "codes.npy"
    ended = diptych("embed", model, gaps_dataset.path, "--modality", "image", "--out", out)
    assert ended.status == 2
    assert f"{out} cannot be written" in ended.err
