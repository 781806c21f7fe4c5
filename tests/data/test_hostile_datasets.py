"""Damaged or hostile dataset folders: whatever a file holds, what comes out is a dataset or a sentence."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from data.conftest import small_draft
from diptych._core.errors import DataError, DiptychError
from diptych.data import SPLITS, Dataset, media_of, training_data, write_dataset
from diptych.data.synthetic import make_synthetic

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
COLUMNS = {
    "numbers": pa.array(range(6)),
    "nulls": pa.nulls(6),
    "nulls of texts": pa.nulls(6, pa.string()),
    "bytes": pa.array([b"\xff"] * 6),
    "texts": pa.array(list("xyzuvw")),
    "repeated": pa.array(["a"] * 6).dictionary_encode(),
    "lists": pa.array([["cat"], [], None, ["dog", "dog"], ["bird"], [None]]),
    "truth": pa.array([True, False] * 3),
    "structures": pa.array([{"a": 1}] * 6),
}


def use(folder) -> None:
    """Open a dataset and read all of it."""
    dataset = Dataset.open(folder)
    repr(dataset)
    assert len(dataset.ids) == len(dataset.splits) == len(dataset) == len(dataset.labels)
    for split in SPLITS:
        part = dataset.split(split)
        for modality in dataset.modalities:
            having = part.having(modality)
            assert having.features(modality).shape[0] == len(having)
    dataset.everything.labels.class_counts()
    dataset.changed_parts()
    for name in dataset.metadata_columns:
        dataset.items.column(name).to_pylist()
    training_data(dataset)
    media_of(dataset)


def is_refused_or_read(folder) -> None:
    try:
        use(folder)
    except DiptychError as error:
        assert len(str(error)) < 2000


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound") / "d"
    write_dataset(folder, small_draft(source={"importer": "ingest", "images": ".", "images_kind": "folder"}))
    use(folder)
    return folder


@pytest.fixture
def damaged(sound, tmp_path):
    return shutil.copytree(sound, tmp_path / "d")


def places(value, path=()):
    """Every path into a JSON value."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from places(each, (*path, key))


def changed(value, path, new, *, drop=False):
    """A JSON value with another value, or none, at one place."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    if len(path) == 1 and drop:
        del copy[path[0]]
    else:
        copy[path[0]] = changed(value[path[0]], path[1:], new, drop=drop)
    return copy


several = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@several
@given(data=st.data())
def test_any_value_in_the_head(damaged, sound, data) -> None:
    head = json.loads((sound / "dataset.json").read_text())
    for _ in range(data.draw(st.integers(1, 2))):
        path = data.draw(st.sampled_from(list(places(head))))
        head = changed(head, path, data.draw(ANYTHING), drop=bool(path) and data.draw(st.booleans()))
        if not isinstance(head, dict):
            break
    (damaged / "dataset.json").write_text(json.dumps(head))
    is_refused_or_read(damaged)


@several
@given(column=st.sampled_from(["id", "split", "label", "document", "has_image", "has_text", "year"]), data=st.data())
def test_any_column_in_the_table(damaged, sound, column, data) -> None:
    table = pq.read_table(sound / "items.parquet")
    at = table.column_names.index(column)
    kind = data.draw(st.sampled_from(["drop", "double", "fewer rows", *COLUMNS]))
    if kind == "drop":
        table = table.remove_column(at)
    elif kind == "double":
        table = table.append_column(column, table.column(at))
    elif kind == "fewer rows":
        table = table.slice(0, data.draw(st.integers(0, 5)))
    else:
        table = table.set_column(at, column, COLUMNS[kind])
    pq.write_table(table, damaged / "items.parquet")
    is_refused_or_read(damaged)


@several
@given(
    name=st.sampled_from(["dataset.json", "items.parquet", "image.npy", "text.npz"]),
    kind=st.sampled_from(["flip", "cut", "garbage", "swap", "folder", "gone"]),
    at=st.floats(0, 1, exclude_max=True),
    bit=st.integers(0, 7),
)
def test_any_byte_of_any_file(damaged, sound, name, kind, at, bit) -> None:
    content = bytearray((sound / name).read_bytes())
    place = int(at * len(content))
    target = damaged / name
    shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)
    if kind == "flip":
        content[place] ^= 1 << bit
        target.write_bytes(content)
    elif kind == "cut":
        target.write_bytes(content[:place])
    elif kind == "garbage":
        target.write_bytes(bytes(range(256)) * 4)
    elif kind == "swap":
        other = {"dataset.json": "items.parquet", "items.parquet": "text.npz", "image.npy": "text.npz"}
        target.write_bytes((sound / other.get(name, "image.npy")).read_bytes())
    elif kind == "folder":
        target.mkdir()
    is_refused_or_read(damaged)
    if target.is_dir():
        target.rmdir()
    shutil.copytree(sound, damaged, dirs_exist_ok=True)


def with_head(folder, **changes):
    file = folder / "dataset.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


IMAGE, TEXT = {"kind": "dense", "dimension": 3, "items": 5}, {"kind": "counts", "dimension": 7, "items": 5}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"items": "6"}, "has '6' for 'items', which must be a number of items"),
        ({"items": True}, "has True for 'items'"),
        ({"classes": ["cat", 3]}, "for 'classes', which must be a list of different names"),
        ({"classes": ["cat", "cat"]}, "must be a list of different names"),
        ({"classes": ["cat", "bird"]}, "names the class 'dog', which dataset.json lacks"),
        ({"source": []}, "for 'source', which must be an object"),
        ({"hashes": {"items": 3}}, "for 'hashes'"),
        ({"pipeline": {"fingerprint": None}}, "for 'pipeline', which must name a fingerprint"),
        ({"modalities": {"image": 3}}, "for 'modalities.image', which must be an object"),
        ({"modalities": {"image": {"kind": "dense"}}}, "lacks 'modalities.image.dimension'"),
        ({"modalities": {"image": IMAGE | {"dimension": 0}}}, "for 'modalities.image.dimension'"),
        ({"modalities": {"image": IMAGE | {"kind": "odd"}}}, "the kind 'odd' is unknown"),
        ({"modalities": {"../../secret": IMAGE}}, "'../../secret' cannot name a modality"),
        ({"modalities": {"image": IMAGE | {"items": 4}}}, "5 items with 'image' but dataset.json says 4"),
        ({"modalities": {"image": IMAGE | {"dimension": 4}, "text": TEXT}}, r"holds \(5, 3\) numbers"),
        ({"modalities": {"sound": IMAGE}}, "lacks the column 'has_sound'"),
    ],
)
def test_the_sentence_names_the_value(damaged, changes, message) -> None:
    with_head(damaged, **changes)
    with pytest.raises(DataError, match=message):
        use(damaged)


@pytest.mark.parametrize("text", ["", "[" * 100_000, "1" * 5_000, "\ufeff{}", '{"format": 1e999}'])
def test_a_head_that_is_no_json(damaged, text) -> None:
    (damaged / "dataset.json").write_text(text)
    with pytest.raises(DataError, match=r"dataset\.json"):
        Dataset.open(damaged)


@pytest.mark.parametrize(
    "values",
    [
        np.array([["a"] * 3] * 5),
        np.zeros((5, 3), complex),
        np.zeros(15),
        np.zeros((5, 3), [("a", "f4")]),
        sp.csr_array((5, 3)),
    ],
    ids=["texts", "complex", "flat", "records", "sparse"],
)
def test_rows_that_are_no_numbers(damaged, values) -> None:
    if isinstance(values, np.ndarray):
        np.save(damaged / "image.npy", values)
    else:
        with (damaged / "image.npy").open("wb") as file:
            sp.save_npz(file, values)
    with pytest.raises(DataError, match=r"image\.npy"):
        use(damaged)


def test_the_same_for_several_labels(tmp_path) -> None:
    make_synthetic(tmp_path / "d", items=60, classes=3, multi_label=True)
    table = pq.read_table(tmp_path / "d" / "items.parquet")
    at = table.column_names.index("label")
    for odd in ([[None]] * 60, [["class-9"]] * 60, [[]] * 60):
        labels = pa.array(odd, pa.list_(pa.string()))
        pq.write_table(table.set_column(at, "label", labels), tmp_path / "d" / "items.parquet")
        is_refused_or_read(tmp_path / "d")
