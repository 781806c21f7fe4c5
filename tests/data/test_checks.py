from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from diptych._core.errors import DataError
from diptych.data import ModalityRows, write_dataset
from diptych.data.checks import check_rows

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
