"""Kinds of columns: blocks are joined, read back and refused where they do not fit."""

import numpy as np
import pytest
import scipy.sparse as sp

from diptych._core.errors import DataError
from diptych.data import Dataset, Draft, Modality, ModalityRows, join_kinds, kind_blocks, training_data, write_dataset

ROWS = np.array([[1, 0, 0.5, -1], [0, 2, 0.1, 3], [4, 4, 0, 0]], dtype=np.float32)
KIND = "counts:2+dense:2"


def draft(rows, kind: str = KIND) -> Draft:
    return Draft(
        name="mixed",
        ids=["a", "b", "c"],
        splits=["train"] * 3,
        labels=["x", "y", None],
        classes=["x", "y"],
        modalities={"text": ModalityRows(kind, rows)},
    )


@pytest.mark.parametrize(
    ("parts", "kind"),
    [
        ([("dense", 3)], "dense"),
        ([("counts", 3), ("counts", 4)], "counts"),
        ([("dense", 3), ("dense", 4)], "dense"),
        ([("counts", 3), ("dense", 4)], "counts:3+dense:4"),
        ([("counts:1+dense:2", 3), ("counts", 4)], "counts:1+dense:2+counts:4"),
    ],
)
def test_kinds_are_joined_and_taken_apart(parts, kind) -> None:
    assert join_kinds(parts) == kind
    total = sum(width for _, width in parts)
    blocks = kind_blocks(kind, total)
    assert blocks[0].start == 0 and blocks[-1].stop == total
    assert join_kinds([(block.kind, block.width) for block in blocks]) == kind


@pytest.mark.parametrize("kind", ["words", "counts:2+", "counts:2+dense", "counts:0+dense:4", "counts:-2+dense:2", ""])
def test_unknown_kinds_are_refused(kind) -> None:
    with pytest.raises(DataError, match=r"is unknown; it must be one of dense, counts, or blocks such as"):
        kind_blocks(kind, 4)


def test_blocks_must_cover_all_columns() -> None:
    with pytest.raises(DataError, match="describes 5 columns, but there are 4"):
        kind_blocks("counts:2+dense:3", 4)


@pytest.mark.parametrize("values", [ROWS, sp.csr_array(ROWS)], ids=["dense", "sparse"])
def test_a_dataset_of_blocks_comes_back(tmp_path, values) -> None:
    write_dataset(tmp_path / "d", draft(values))
    dataset = Dataset.open(tmp_path / "d")
    assert dataset.modalities["text"] == Modality("text", KIND, 4, 3)
    assert [block.kind for block in dataset.modalities["text"].blocks] == ["counts", "dense"]
    assert (tmp_path / "d" / "text.npy").is_file() and not dataset.changed_parts()
    np.testing.assert_array_equal(dataset.everything.features("text"), ROWS)
    assert training_data(dataset).kinds == {"text": KIND}


def test_the_blocks_are_part_of_the_fingerprint(tmp_path) -> None:
    one = write_dataset(tmp_path / "one", draft(ROWS))
    other = write_dataset(tmp_path / "other", draft(ROWS, "dense"))
    assert one.fingerprint != other.fingerprint


def test_a_wrong_count_is_named_by_its_column(tmp_path) -> None:
    rows = np.concatenate([ROWS[:, 2:], ROWS[:, :2]], axis=1)
    rows[1, 3] = 0.5
    with pytest.raises(
        DataError, match=r"row 1 \(item 'b'\), column 3 of 'text' is 0.5: a count must be a whole number"
    ):
        write_dataset(tmp_path / "d", draft(rows, "dense:2+counts:2"))
    with pytest.raises(DataError, match="'text': the kind 'counts:3\\+dense:2' describes 5 columns"):
        write_dataset(tmp_path / "e", draft(rows, "counts:3+dense:2"))
