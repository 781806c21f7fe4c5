"""Whatever a model's folder holds, opening it works or ends in one sentence, and what is damaged does not embed."""

import copy
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diptych._core.errors import DataError, DiptychError
from diptych.methods import load_model, model_fingerprint, save_model

FORMER = Path(__file__).parents[1] / "former"
SOURCES = [
    FORMER / "index" / "model",
    FORMER / "models" / "exported",
    *(FORMER / "models" / name for name in ("cca", "kcca-rbf", "jrl", "cdmlmr", "two-tower", "multimodal-dbm")),
]
VALUES = [
    *(None, True, 0, -1, 3, 10**30, 1e308, "", "x", "../../secret", [], [1, "a"], {}, {"a": 1}),
    *({"$array": "absent"}, {"$array": 3}, {"$tuple": 3}, {"$type": "Posteriors"}, {"$type": "Kernel", "fields": 1}),
    *({"$csr": {}, "shape": []}, {"$csr": 1}, {"$float": "x"}, {"$type": "DenseLayer", "fields": {"weight": 1}}),
]
"""What stands where something else is expected."""


def places(value, at=()) -> list[tuple]:
    """Every place in a JSON value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for key, child in inside for place in places(child, (*at, key)))]


def changed(body, place, value, *, delete=False):
    """A copy with another value at a place, or none."""
    if not place:
        return value
    body = copy.deepcopy(body)
    parent = body
    for key in place[:-1]:
        parent = parent[key]
    if delete:
        del parent[place[-1]]
    else:
        parent[place[-1]] = value
    return body


def use(folder) -> dict[str, np.ndarray]:
    """Open a model and do all that needs its files."""
    model = load_model(folder)
    model_fingerprint(folder)
    embedded = {}
    for name, known in model.record_["modalities"].items():
        for purpose in model.purposes or ("auto",):
            embedded[f"{name} {purpose}"] = model.embed(name, np.ones((3, min(known["dimension"], 1_000))), purpose)
    if model.pipeline_folder is not None:
        embedded["raw"] = model.embed_raw("text", "a red wall")
    return embedded


def ends_in_a_sentence(folder) -> bool:
    """Whether using a model fails as it should; it may also work."""
    try:
        use(folder)
    except DiptychError as error:
        assert "\n" not in str(error)
        assert len(str(error)) < 2_000
        return True
    return False


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> list[Path]:
    """The former models as they are saved today: with a checksum."""
    folder = tmp_path_factory.mktemp("saved")
    for source in SOURCES:
        if source.name != "exported":
            save_model(load_model(source), folder / source.name)
    return sorted(folder.iterdir())


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    return tmp_path_factory.mktemp("hostile")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numbers that overflow are not refused
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
@settings(max_examples=40)
@given(data=st.data())
def test_any_value_of_the_document_may_be_wrong_or_missing(source, workplace, data):
    folder = workplace / "changed"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder)
    document = folder / "model.json"
    body = json.loads(document.read_text())
    # The first levels say what the model is, and are changed as often as all that lies below them.
    every = places(body)
    place = data.draw(st.sampled_from([each for each in every if len(each) < 4]) | st.sampled_from(every))
    body = changed(body, place, data.draw(st.sampled_from(VALUES)), delete=bool(place) and data.draw(st.booleans()))
    document.write_text(json.dumps(body))
    ends_in_a_sentence(folder)


@settings(max_examples=100)
@given(data=st.data())
def test_a_changed_byte_is_an_error_or_changes_nothing(saved, workplace, data):
    source = data.draw(st.sampled_from(saved))
    expected = use(source)
    folder = workplace / "flipped"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder)
    path = data.draw(st.sampled_from(sorted(each for each in folder.rglob("*") if each.is_file())))
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    how = data.draw(st.sampled_from(["flip", "cut", "add", "swap"]))
    if how == "flip":
        content[place] ^= 1 << data.draw(st.integers(0, 7))
    elif how == "cut":
        del content[place:]
    elif how == "add":
        content[place:place] = b"\0" * data.draw(st.integers(1, 9))
    else:
        content[place : place + 8] = content[place : place + 8][::-1]
    path.write_bytes(content)
    if not ends_in_a_sentence(folder):
        for name, rows in use(folder).items():
            np.testing.assert_array_equal(rows, expected[name])


def test_flipped_weights_are_refused(saved, tmp_path):
    for source in saved:
        folder = shutil.copytree(source, tmp_path / source.name)
        content = bytearray((folder / "weights.safetensors").read_bytes())
        content[-5] ^= 64
        (folder / "weights.safetensors").write_bytes(content)
        with pytest.raises(DataError, match=r"is damaged: model\.json and weights\.safetensors are not"):
            load_model(folder)


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"7", b'"text"', b"null", b"\xff\xfe", b"{", b"[" * 100_000, b"1" * 10_000, b'{"format": []}'],
    ids=lambda content: content[:9].decode(errors="replace"),
)
def test_a_document_that_is_none(content, tmp_path):
    folder = shutil.copytree(FORMER / "models" / "cca", tmp_path / "model")
    (folder / "model.json").write_bytes(content)
    with pytest.raises(DataError, match=r"model\.json"):
        load_model(folder)


def test_files_that_are_folders(tmp_path):
    for name in ("model.json", "weights.safetensors"):
        folder = shutil.copytree(FORMER / "models" / "cca", tmp_path / name / "model")
        (folder / name).unlink()
        (folder / name).mkdir()
        with pytest.raises(DataError):
            load_model(folder)


def test_no_attribute_of_the_class_can_be_replaced(tmp_path):
    folder = shutil.copytree(FORMER / "models" / "cca", tmp_path / "model")
    body = json.loads((folder / "model.json").read_text())
    for name in ("__class__", "embed", "_embed", "was_loaded", "fit"):
        (folder / "model.json").write_text(json.dumps(body | {"state": body["state"] | {name: 1}}))
        with pytest.raises(DataError, match="nothing that a method learns"):
            load_model(folder)


def test_a_graph_outside_of_the_folder_is_refused(tmp_path):
    folder = shutil.copytree(FORMER / "models" / "exported", tmp_path / "model")
    body = json.loads((folder / "model.json").read_text())
    body["graphs"]["image"]["file"] = "../elsewhere.onnx"
    (folder / "model.json").write_text(json.dumps(body))
    with pytest.raises(DataError, match=r"the graph of 'image' is '\.\./elsewhere\.onnx'"):
        load_model(folder)
