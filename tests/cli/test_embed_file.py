"""New pictures and sentences through a saved model."""

import json

import numpy as np
import pytest

from diptych.ingest import IngestOptions, ingest
from diptych.methods import create, load_model, save_model
from ingest.conftest import write_pairs
from ingest.images import png


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("embed")
    pairs = write_pairs(folder / "raw")
    features = {"image": "colour-moments", "text": "bow:12"}
    dataset = ingest(IngestOptions(pairs, folder / "d", features=features)).dataset
    save_model(create("cca", components=6).fit(dataset), folder / "model")
    other = ingest(IngestOptions(pairs, folder / "e", features=features, captions="first")).dataset
    (folder / "new.png").write_bytes(png("new"))
    (folder / "new.txt").write_text("a red and round thing")
    assert other.modalities["image"].dimension == dataset.modalities["image"].dimension
    return folder


def test_files_are_embedded_as_python_does(diptych, made, tmp_path) -> None:
    out = tmp_path / "codes.npy"
    ended = diptych("embed-file", made / "model", made / "new.png", made / "new.txt", "--out", out, "--json")
    assert ended.status == 0, ended.err
    model = load_model(made / "model")
    expected = [model.embed_raw("image", made / "new.png"), model.embed_raw("text", "a red and round thing")]
    np.testing.assert_array_equal(np.load(out), np.concatenate(expected))
    assert json.loads((tmp_path / "codes.ids.json").read_text()) == [str(made / "new.png"), str(made / "new.txt")]
    told = json.loads(ended.out)
    assert [one["modality"] for one in told] == ["image", "text"]
    np.testing.assert_allclose(told[0]["embedding"], expected[0][0], rtol=1e-6)


def test_a_sentence_needs_no_file(diptych, made) -> None:
    ended = diptych("embed-file", made / "model", "--text", "blue")
    assert ended.status == 0, ended.err
    assert ended.out.startswith("blue: text, 6 dimensions [") and ended.out.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["gone.png"], "gone.png cannot be read"),
        (["gone.txt"], "gone.txt cannot be read"),
        ([], "there is nothing to embed"),
        (["--text", "x", "--out", "x.csv"], "does not end in .npy"),
        (["--text", "x", "--modality", "sound"], "has no modality 'sound'"),
    ],
)
def test_mistakes_are_told(diptych, made, words, message) -> None:
    ended = diptych("embed-file", made / "model", *words)
    assert ended.status == 2 and message in ended.err and "Traceback" not in ended.err


def test_no_picture_is_named(diptych, made, tmp_path) -> None:
    (tmp_path / "x.jpg").write_text("hello")
    ended = diptych("embed-file", made / "model", tmp_path / "x.jpg")
    assert ended.status == 2 and "x.jpg: not an image: it holds text" in ended.err


@pytest.mark.parametrize("command", [["embed", "--modality", "image", "--out", "codes.npy"], ["evaluate"]])
def test_rows_of_another_pipeline_are_refused(diptych, made, tmp_path, monkeypatch, command) -> None:
    monkeypatch.chdir(tmp_path)
    name, *rest = command
    assert diptych(name, made / "model", made / "d", *rest).status == 0
    ended = diptych(name, made / "model", made / "e", *rest)
    assert ended.status == 2
    assert "this model was made by pipeline" in ended.err and "--pipeline MODEL" in ended.err
