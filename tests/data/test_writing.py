import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from diptych._core.errors import DataError
from diptych.data import Dataset, ModalityRows, write_dataset, writing
from diptych.data.modality import check_rows


def test_the_folder_holds_four_kinds_of_files(tmp_path, make_draft):
    write_dataset(tmp_path / "d", make_draft())
    assert sorted(p.name for p in (tmp_path / "d").iterdir()) == [
        "dataset.json",
        "image.npy",
        "items.parquet",
        "text.npz",
    ]
    assert json.loads((tmp_path / "d" / "dataset.json").read_text())["modalities"] == {
        "image": {"kind": "dense", "dimension": 3, "items": 5},
        "text": {"kind": "counts", "dimension": 7, "items": 5},
    }


def test_existing_dataset_is_kept_unless_asked(tmp_path, make_draft):
    first = write_dataset(tmp_path / "d", make_draft())
    with pytest.raises(DataError, match="already exists"):
        write_dataset(tmp_path / "d", make_draft(name="second"))
    assert Dataset.open(tmp_path / "d").name == first.name
    assert write_dataset(tmp_path / "d", make_draft(name="second"), overwrite=True).name == "second"
    assert [p.name for p in tmp_path.iterdir()] == ["d"]


def test_a_folder_that_is_no_dataset_is_never_overwritten(tmp_path, make_draft):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.tex").write_text("years of work")
    (tmp_path / "file").write_text("x")
    for target in ("thesis", "file"):
        with pytest.raises(DataError, match="is not a dataset, so it is not overwritten"):
            write_dataset(tmp_path / target, make_draft(), overwrite=True)
    assert (tmp_path / "thesis" / "chapter1.tex").read_text() == "years of work"


def test_failure_in_the_middle_keeps_the_old_dataset(tmp_path, make_draft, monkeypatch):
    old = write_dataset(tmp_path / "d", make_draft())

    def full_disk(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(writing.pq, "write_table", full_disk)
    with pytest.raises(DataError, match=r"cannot be written \(no space left\)"):
        write_dataset(tmp_path / "d", make_draft(name="new"), overwrite=True)
    assert Dataset.open(tmp_path / "d").fingerprint == old.fingerprint
    assert [p.name for p in tmp_path.iterdir()] == ["d"]


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (np.float16, np.float32),
        (np.float32, np.float32),
        (np.float64, np.float64),
        (">f8", np.float64),
        (int, np.float32),
    ],
)
def test_dense_types(tmp_path, make_draft, given, stored):
    values = np.arange(18).reshape(6, 3).astype(given)
    opened = write_dataset(tmp_path / "d", make_draft(modalities={"image": ModalityRows("dense", values)}))
    assert opened.columns["image"].values.dtype == stored
    np.testing.assert_array_equal(opened.columns["image"].values, values)


def test_columns_first_arrays_are_stored_rows_first(tmp_path, make_draft):
    values = np.asfortranarray(np.arange(18.0).reshape(6, 3))
    opened = write_dataset(tmp_path / "d", make_draft(modalities={"image": ModalityRows("dense", values)}))
    assert opened.columns["image"].values.flags.c_contiguous


def test_counts_are_stored_in_canonical_form(tmp_path, make_draft):
    messy = sp.csr_array(
        (np.array([1.0, 1.0, 0.0]), np.array([2, 2, 0]), np.array([0, 3, 3, 3, 3, 3, 3])), shape=(6, 3)
    )
    opened = write_dataset(tmp_path / "d", make_draft(modalities={"text": ModalityRows("counts", messy)}))
    stored = opened.columns["text"].values
    assert (stored.nnz, stored.dtype, stored[0, 2]) == (1, np.int32, 2)
    assert messy.nnz == 3, "writing must not change its argument"


def test_dense_rows_given_sparse(tmp_path, make_draft):
    values = sp.csr_array(np.eye(6) * 0.5)
    opened = write_dataset(tmp_path / "d", make_draft(modalities={"text": ModalityRows("dense", values)}))
    np.testing.assert_array_equal(opened.columns["text"].values, np.eye(6) * 0.5)


def test_documents_default_to_the_items_themselves(tmp_path, make_draft):
    assert write_dataset(tmp_path / "d", make_draft()).everything.documents.tolist() == list("abcdef")
    given = make_draft(documents=list("aabbcc"))
    assert write_dataset(tmp_path / "e", given).split("test").documents.tolist() == ["c", "c"]


IDS = ["a", "b", "c", "d"]


def dense(row=1, column=2, value=np.nan):
    values = np.ones((4, 3))
    values[row, column] = value
    return values


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (ModalityRows("dense", dense(value=np.nan)), r"row 1 \(item 'b'\), column 2 of 'm' is nan: replace it"),
        (ModalityRows("dense", dense(value=np.inf)), r"row 1 \(item 'b'\), column 2 of 'm' is inf"),
        (
            ModalityRows("counts", sp.csr_array(dense(3, 0, -2))),
            r"row 3 \(item 'd'\), column 0 of 'm' is -2.0: a count",
        ),
        (ModalityRows("counts", sp.csr_array(dense(3, 1, 0.5))), r"row 3 \(item 'd'\), column 1 .* whole number"),
        (ModalityRows("counts", dense(3, 1, 2**31)), r"row 3 \(item 'd'\), column 1 .* largest count"),
        (ModalityRows("dense", np.ones(4)), r"'m' has shape \(4,\); it needs one row per item"),
        (ModalityRows("dense", np.ones((4, 0))), r"at least one column"),
        (ModalityRows("dense", np.ones((3, 2))), r"'m' has 3 rows but 4 items have this modality"),
        (
            ModalityRows("dense", np.ones((4, 2)), np.ones(3, bool)),
            r"says for 3 items whether they have it; there are 4",
        ),
        (ModalityRows("dense", np.ones((0, 2)), np.zeros(4, bool)), r"no item has 'm'"),
        (ModalityRows("words", np.ones((4, 2))), r"kind 'words' is unknown; it must be one of dense, counts"),
        (ModalityRows("dense", np.full((4, 2), "x")), r"features must be real numbers"),
        (ModalityRows("dense", np.ones((4, 2), complex)), r"features must be real numbers"),
    ],
)
def test_bad_rows_are_named(rows, sentence):
    with pytest.raises(DataError, match=sentence) as caught:
        check_rows("m", replace(rows, origin="file.npy"), IDS)
    assert str(caught.value).startswith("file.npy: ")


def test_the_row_named_is_the_item_s_not_the_array_s():
    present = np.array([False, True, True, True])
    with pytest.raises(DataError, match=r"row 2 \(item 'c'\)"):
        check_rows("m", ModalityRows("dense", dense(1, 0, np.nan)[:3], present), IDS)


def test_a_late_row_is_named_right():
    values = np.ones((20000, 2), np.float32)
    values[17123, 1] = np.nan
    with pytest.raises(DataError, match=r"row 17123 \(item '17123'\), column 1"):
        check_rows("m", ModalityRows("dense", values), [str(i) for i in range(20000)])


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int64, np.float16, np.float64])
def test_all_number_types_pass(dtype):
    for kind in ("dense", "counts"):
        check_rows("m", ModalityRows(kind, np.ones((4, 2), dtype)), IDS)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"ids": ["a", "b", "a", "d", "e", "f"]}, "rows 0 and 2 share the id 'a'"),
        ({"ids": ["a", "", "c", "d", "e", "f"]}, "row 1 has an empty id"),
        ({"splits": ["train"] * 5 + ["dev"]}, r"row 5 \(item 'f'\) is in split 'dev'; use one of train, val, test"),
        ({"splits": ["train"] * 5}, "6 items but 5 values of 'split'"),
        ({"labels": ["cat"] * 7}, "6 items but 7 values of 'label'"),
        ({"labels": ["cat", "cow", "dog", None, None, None]}, r"row 1 \(item 'b'\) has the class 'cow'"),
        ({"classes": ["cat", "dog", "emu"]}, "no item carries the class 'emu'"),
        ({"classes": ["cat", "dog", "cat"]}, "listed twice"),
        ({"ids": [], "splits": [], "labels": []}, "there are no items"),
        ({"modalities": {}}, "at least one modality"),
        ({"metadata": {"split": ["x"] * 6}}, "reserved name"),
        ({"metadata": {"has_image": [True] * 6}}, "reserved name"),
        ({"metadata": {"year": [1]}}, "column 'year' has 1 values for 6 items"),
        ({"metadata": {"year": [1, "x", 3, 4, 5, 6]}}, "'year' cannot be stored .* values of one type"),
        ({"documents": ["a"]}, "column 'document' has 1 values"),
    ],
)
def test_bad_drafts_leave_nothing_behind(tmp_path, make_draft, changes, sentence):
    with pytest.raises(DataError, match=sentence):
        write_dataset(tmp_path / "out", make_draft(**changes))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["my image", "../x", "", "items", "dataset", "1st"])
def test_bad_modality_names_are_refused(tmp_path, make_draft, name):
    with pytest.raises(DataError, match="cannot name a modality"):
        write_dataset(tmp_path / "out", make_draft(modalities={name: make_draft().modalities["image"]}))
    assert list(tmp_path.iterdir()) == []


NAMED = [["cat"], ["dog"], ["cat"], [], ["dog"], ["cat"]]


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["cat", "dog", "cat", None, "dog", "cat"], dtype=object),
        np.array([0, 1, 0, np.nan, 1, 0]),
        [np.int64(1), np.int64(2), np.int32(1), None, np.int8(2), np.uint16(1)],
        [{"cat"}, ("dog",), np.array(["cat"]), np.array([], dtype=str), ["dog"], np.str_("cat")],
        np.array([[1, 0], [0, 1], [1, 0], [0, 0], [0, 1], [1, 0]]),
        sp.csr_array(np.array([[1, 0], [0, 1], [1, 0], [0, 0], [0, 1], [1, 0]])),
    ],
    ids=["objects", "numbers and NaN", "numbers from 1", "sequences", "indicator", "sparse indicator"],
)
def test_labels_may_be_any_array(tmp_path, make_draft, labels):
    made = write_dataset(tmp_path / "d", make_draft(labels=labels))
    found = made.labels
    assert [[found.classes[code] for code in row.indices] for row in found.matrix] == NAMED
    assert made.fingerprint == write_dataset(tmp_path / "e", make_draft()).fingerprint


def test_ids_classes_and_labels_may_be_numbers(tmp_path, make_draft):
    numbers = np.array([3, 7, 3, 7, 7, 3])
    changes = {"ids": np.arange(6), "documents": np.arange(6), "labels": numbers, "classes": np.unique(numbers)}
    made = write_dataset(tmp_path / "d", make_draft(**changes))
    assert made.ids.tolist() == ["0", "1", "2", "3", "4", "5"]
    assert made.classes == ("3", "7") and made.labels.codes.tolist() == [0, 1, 0, 1, 1, 0]
    assert made.items.column("label").to_pylist() == ["3", "7", "3", "7", "7", "3"]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.array([0, 1, 5, 0, 1, 0]), "the labels run from 0 to 5"),
        (np.array([0, 1, -1, 0, 1, 0]), "a negative label means nothing"),
        (np.array([0, 1.5, 1, 0, 1, 0]), "must be a whole number"),
    ],
)
def test_numbers_that_are_no_labels_are_named(tmp_path, make_draft, labels, message):
    with pytest.raises(DataError, match=message):
        write_dataset(tmp_path / "d", make_draft(labels=labels))
