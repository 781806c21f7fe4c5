import json
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest

from diptych._core.errors import DataError
from diptych.data import Dataset, write_dataset


@pytest.fixture
def dataset(tmp_path, make_draft):
    return write_dataset(tmp_path / "d", make_draft())


def test_what_was_written_is_read(tmp_path, make_draft):
    draft = make_draft()
    opened = Dataset.open(write_dataset(tmp_path / "d", draft).path)
    assert (len(opened), opened.name, opened.classes) == (6, "small", ("cat", "dog"))
    assert opened.ids.tolist() == list(draft.ids)
    assert opened.splits.tolist() == list(draft.splits)
    assert opened.labels.codes.tolist() == [0, 1, 0, -1, 1, 0]
    assert opened.metadata_columns == ["year"]
    assert opened.source == {"made": "by hand"}
    np.testing.assert_array_equal(opened.columns["image"].values, draft.modalities["image"].values)
    np.testing.assert_array_equal(opened.columns["text"].values.toarray(), draft.modalities["text"].values.toarray())
    assert opened.changed_parts() == []


def test_dense_features_are_memory_mapped_and_read_only(dataset):
    values = dataset.columns["image"].values
    assert isinstance(values, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        values[0, 0] = 1


def test_null_stands_for_no_label_in_the_file(dataset):
    assert pq.read_table(dataset.path / "items.parquet").column("label").to_pylist()[3] is None


def test_several_labels(tmp_path, make_draft):
    labels = [["dog", "cat"], "dog", ["cat"], None, [], "cat"]
    opened = write_dataset(tmp_path / "d", make_draft(labels=labels))
    np.testing.assert_array_equal(opened.labels.matrix.toarray(), [[1, 1], [0, 1], [1, 0], [0, 0], [0, 0], [1, 0]])
    assert not opened.labels.is_single
    assert opened.changed_parts() == []


def test_a_dataset_without_any_label(tmp_path, make_draft):
    opened = write_dataset(tmp_path / "d", make_draft(labels=[None] * 6, classes=[]))
    assert not opened.labels.is_labelled.any()
    assert opened.split("train").labels.codes.tolist() == [-1, -1, -1]


def test_more_modalities_than_two(tmp_path, make_draft):
    draft = make_draft()
    sound = draft.modalities["image"]
    opened = write_dataset(tmp_path / "d", make_draft(modalities={**draft.modalities, "sound": sound}))
    assert list(opened.modalities) == ["image", "text", "sound"]
    assert opened.split("test").having("sound").ids.tolist() == ["f"]


def test_unknown_split_is_refused(dataset):
    with pytest.raises(DataError, match="no split 'dev'; the splits are train, val, test"):
        dataset.split("dev")


def flip_last_byte(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))


def edit_head(path, **changes):
    head = json.loads(path.read_text())
    path.write_text(json.dumps({**head, **changes}))


def test_changed_values_are_found(dataset):
    flip_last_byte(dataset.path / "image.npy")
    assert Dataset.open(dataset.path).changed_parts() == ["image"]


def test_changed_counts_are_found(dataset, tmp_path, make_draft):
    other = make_draft(ids=list("uvwxyz"))
    shutil.copy(write_dataset(tmp_path / "e", other).path / "items.parquet", dataset.path / "items.parquet")
    assert Dataset.open(dataset.path).changed_parts() == ["items"]


def test_changed_class_order_is_found(dataset):
    edit_head(dataset.path / "dataset.json", classes=["dog", "cat"])
    assert Dataset.open(dataset.path).changed_parts() == ["dataset"]


@pytest.mark.parametrize("file", ["image.npy", "text.npz", "items.parquet"])
@pytest.mark.parametrize("left", [0, 40, -3])
def test_truncated_files_are_named(dataset, file, left):
    path = dataset.path / file
    path.write_bytes(path.read_bytes()[: left or None] if left else b"")
    with pytest.raises(DataError, match=rf"{file} cannot be read .*import the dataset again"):
        _ = Dataset.open(dataset.path).columns


@pytest.mark.parametrize("file", ["image.npy", "text.npz", "items.parquet", "dataset.json"])
def test_missing_files_are_named(dataset, file):
    (dataset.path / file).unlink()
    with pytest.raises(DataError, match=file):
        _ = Dataset.open(dataset.path).columns


def test_pickled_features_are_never_opened(dataset):
    np.save(dataset.path / "image.npy", np.array([[{"a": 1}]] * 5, dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match=r"image\.npy cannot be read"):
        _ = Dataset.open(dataset.path).columns


def test_damaged_sparse_index_is_refused(dataset):
    with np.load(dataset.path / "text.npz") as archive:
        parts = dict(archive)
    parts["indices"][0] = 10_000
    np.savez(dataset.path / "text.npz", **parts)
    with pytest.raises(DataError, match=r"text\.npz cannot be read"):
        _ = Dataset.open(dataset.path).columns


def test_features_of_another_shape_are_refused(dataset):
    np.save(dataset.path / "image.npy", np.ones((5, 4)))
    with pytest.raises(DataError, match=r"holds \(5, 4\) numbers but dataset.json says \(5, 3\)"):
        _ = Dataset.open(dataset.path).columns


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("[]", "does not describe a dataset"),
        ("{}", "does not describe a dataset"),
        ('{"format": "diptych-dataset", "format_version": 99}', "version 99; this diptych reads"),
        ('{"format": "other", "format_version": 1}', "format 'other'"),
        ('{"format": "diptych-dataset", "format_version": 1}', "lacks 'name'"),
        ('{"format": ', "not valid JSON"),
    ],
)
def test_bad_heads_are_named(dataset, content, sentence):
    (dataset.path / "dataset.json").write_text(content)
    with pytest.raises(DataError, match=sentence):
        Dataset.open(dataset.path)


def test_head_and_items_must_agree(dataset):
    edit_head(dataset.path / "dataset.json", items=7)
    with pytest.raises(DataError, match=r"has 6 rows but dataset.json says 7"):
        Dataset.open(dataset.path)


def test_lacking_columns_are_named(dataset):
    table = pq.read_table(dataset.path / "items.parquet").drop_columns(["has_text"])
    pq.write_table(table, dataset.path / "items.parquet")
    with pytest.raises(DataError, match="lacks the column 'has_text'"):
        Dataset.open(dataset.path)


def test_a_label_outside_the_classes_is_named(dataset):
    edit_head(dataset.path / "dataset.json", classes=["cat"])
    with pytest.raises(DataError, match=r"names the class 'dog', which dataset\.json lacks"):
        _ = Dataset.open(dataset.path).labels


def test_what_is_no_dataset_is_refused(tmp_path):
    with pytest.raises(DataError, match="is not a folder"):
        Dataset.open(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"holds no dataset\.json"):
        Dataset.open(tmp_path)
