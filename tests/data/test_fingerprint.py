from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from diptych.data import ModalityRows, write_dataset
from diptych.data.dataset_files import hash_features, hash_records


def fingerprint(tmp_path, draft, name="d"):
    return write_dataset(tmp_path / name, draft, overwrite=True).fingerprint


def test_writing_again_elsewhere_gives_the_same_fingerprint(tmp_path, make_draft):
    first = write_dataset(tmp_path / "one", make_draft())
    second = write_dataset(tmp_path / "two", make_draft(name="other name", source={"else": 1}))
    assert first.fingerprint == second.fingerprint
    assert first.hashes == second.hashes


def test_order_of_modalities_does_not_matter(tmp_path, make_draft):
    draft = make_draft()
    turned = replace(draft, modalities=dict(reversed(draft.modalities.items())))
    assert fingerprint(tmp_path, draft) == fingerprint(tmp_path, turned)


def one_value(draft):
    rows = draft.modalities["image"]
    values = rows.values.copy()
    values[2, 1] = np.nextafter(values[2, 1], 9)
    return replace(draft, modalities={**draft.modalities, "image": replace(rows, values=values)})


def one_count(draft):
    rows = draft.modalities["text"]
    values = rows.values.toarray()
    values[4, 6] += 1
    return replace(draft, modalities={**draft.modalities, "text": replace(rows, values=sp.csr_array(values))})


def swapped_rows(draft):
    rows = draft.modalities["image"]
    swapped = replace(rows, values=rows.values[[1, 0, 2, 3, 4]])
    return replace(draft, modalities={**draft.modalities, "image": swapped})


def other_missing(draft):
    rows = draft.modalities["image"]
    moved = replace(rows, present=np.array([1, 1, 1, 0, 1, 1], bool))
    return replace(draft, modalities={**draft.modalities, "image": moved})


def other_kind(draft):
    rows = draft.modalities["text"]
    return replace(draft, modalities={**draft.modalities, "text": replace(rows, kind="dense")})


def renamed(draft):
    return replace(draft, modalities={"picture": draft.modalities["image"], "text": draft.modalities["text"]})


FROZEN = "40e5690dc3ff7ccd29a3336100fdd5ac"

CHANGES = {
    "one value": one_value,
    "one count": one_count,
    "two rows swapped": swapped_rows,
    "another item lacks the image": other_missing,
    "another kind": other_kind,
    "a modality renamed": renamed,
    "one label": lambda d: replace(d, labels=["dog", *d.labels[1:]]),
    "one label withheld": lambda d: replace(d, labels=[None, *d.labels[1:]]),
    "a second label": lambda d: replace(d, labels=[["cat", "dog"], *d.labels[1:]]),
    "one split": lambda d: replace(d, splits=["val", *d.splits[1:]]),
    "one id": lambda d: replace(d, ids=["z", *d.ids[1:]]),
    "one document": lambda d: replace(d, documents=["a", "a", "c", "d", "e", "f"]),
    "one metadata value": lambda d: replace(d, metadata={"year": [1, 2, 3, 4, 5, 6]}),
    "order of the classes": lambda d: replace(d, classes=["dog", "cat"]),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_every_change_shows(tmp_path, make_draft, change):
    assert fingerprint(tmp_path, make_draft()) != fingerprint(tmp_path, change(make_draft()))


def test_all_changes_differ_from_each_other(tmp_path, make_draft):
    found = {fingerprint(tmp_path, change(make_draft())) for change in CHANGES.values()}
    assert len(found) == len(CHANGES)


def test_the_form_of_sparse_storage_does_not_show():
    plain = sp.csr_array(np.array([[0, 2, 1], [0, 0, 0]]))
    messy = sp.csr_array((np.array([1, 1, 1, 0]), np.array([2, 1, 1, 0]), np.array([0, 4, 4])), shape=(2, 3))
    assert hash_features(plain) == hash_features(messy)
    assert messy.nnz == 4, "hashing must not change its argument"


def test_memory_order_and_byte_order_do_not_show():
    values = np.arange(12, dtype=np.float64).reshape(4, 3)
    expected = hash_features(values)
    assert hash_features(np.asfortranarray(values)) == expected
    assert hash_features(values.astype(">f8")) == expected
    assert hash_features(values.astype(np.float32)) != expected
    assert hash_features(values.reshape(3, 4)) != expected


def test_records_are_kept_apart():
    assert hash_records(["ab", "c"]) != hash_records(["a", "bc"])
    assert hash_records([["a", "b"]]) != hash_records(["a", "b"])


def test_fingerprints_are_frozen_across_versions(tmp_path, make_draft):
    values = np.arange(6, dtype=np.float32).reshape(3, 2)
    draft = make_draft(
        ids=["a", "b", "c"],
        splits=["train", "val", "test"],
        labels=["x", None, "x"],
        classes=["x"],
        modalities={"image": ModalityRows("dense", values), "text": ModalityRows("counts", sp.csr_array(values))},
        metadata={},
    )
    assert fingerprint(tmp_path, draft) == FROZEN
