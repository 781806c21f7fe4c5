import json

import numpy as np
import pytest
import scipy.sparse as sp

from diptych._core.errors import DataError
from diptych.data import Dataset, ModalityRows, write_dataset, writing


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
