"""Datasets of arrays: what is taken, what is refused, and that a folder of the same content is the same dataset."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from diptych._core.errors import ConfigError, DataError
from diptych.data import Dataset, as_dataset

ITEMS = 40
CLASSES = ["forest", "river"]


@pytest.fixture
def arrays() -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    return {"image": random.normal(size=(ITEMS, 5)), "text": random.normal(size=(ITEMS, 3)).astype(np.float32)}


def names(dataset: Dataset) -> list[list[str]]:
    matrix = dataset.labels.matrix
    return [[dataset.classes[c] for c in matrix.indices[a:b]] for a, b in pairwise(matrix.indptr)]


LABELS = [CLASSES[i % 2] for i in range(ITEMS)]


class TestRows:
    def test_rows_are_those_given(self, arrays) -> None:
        dataset = Dataset.from_arrays(arrays, LABELS)
        for name, rows in arrays.items():
            np.testing.assert_array_equal(dataset.everything.features(name), rows)
            assert dataset.modalities[name].kind == "dense"
        assert dataset.ids.tolist() == [str(i) for i in range(ITEMS)]

    @pytest.mark.parametrize("form", [np.asarray, np.ndarray.tolist, pd.DataFrame, np.asfortranarray])
    def test_any_table_of_numbers(self, arrays, form) -> None:
        doubles = {name: rows.astype(np.float64) for name, rows in arrays.items()}
        given = Dataset.from_arrays({name: form(rows) for name, rows in doubles.items()}, LABELS)
        assert given.fingerprint == Dataset.from_arrays(doubles, LABELS).fingerprint

    @pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix, sp.coo_array, sp.lil_array])
    def test_sparse_whole_numbers_are_counts(self, arrays, form) -> None:
        counts = np.arange(ITEMS * 4).reshape(ITEMS, 4) % 3
        dataset = Dataset.from_arrays({"image": arrays["image"], "text": form(counts)}, LABELS)
        assert dataset.modalities["text"].kind == "counts"
        np.testing.assert_array_equal(dataset.everything.features("text").toarray(), counts)
        dense = Dataset.from_arrays({"image": arrays["image"], "text": form(counts)}, LABELS, kinds={"text": "dense"})
        np.testing.assert_array_equal(dense.everything.features("text"), counts)

    def test_a_folder_of_the_same_content_has_the_same_fingerprint(self, arrays, tmp_path) -> None:
        held = Dataset.from_arrays(arrays, LABELS, seed=3)
        written = held.save(tmp_path / "d")
        assert written.fingerprint == held.fingerprint
        assert held.changed_parts() == written.changed_parts() == []
        np.testing.assert_array_equal(written.splits, held.splits)

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            (np.ones(ITEMS), r"'text' has shape \(40,\); it needs one row per item .*reshape\(-1, 1\)"),
            (np.ones((ITEMS, 2, 2)), r"'text' has shape \(40, 2, 2\)"),
            (np.ones((ITEMS, 0)), r"'text' has shape \(40, 0\)"),
            (np.ones((ITEMS - 1, 2)), "'text' has 39 rows but 'image' has 40; .*pairs="),
            (np.full((ITEMS, 2), "a"), "'text' is of type <U1; features must be real numbers"),
            (np.ones((ITEMS, 2), complex), "'text' is of type complex128"),
            ([[1, 2]] * (ITEMS - 1) + [[1]], "'text' is a list of 40, which is no table .*all of equal length"),
            (np.array([["a", 1]] * ITEMS, object), r"'text' is an array of shape \(40, 2\), which is no table .*'a'"),
            (None, "'text' is None, which is no table of numbers"),
        ],
    )
    def test_what_is_no_table_of_numbers_is_refused(self, arrays, values, message) -> None:
        with pytest.raises(DataError, match=message):
            Dataset.from_arrays({"image": arrays["image"], "text": values}, LABELS)

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_a_value_that_is_not_finite_is_named(self, arrays, value) -> None:
        arrays["image"][7, 2] = value
        with pytest.raises(DataError, match=rf"row 7 .*column 2 of 'image' is {value}: replace it"):
            Dataset.from_arrays(arrays, LABELS)

    def test_no_modality_and_a_bad_name_are_refused(self, arrays) -> None:
        with pytest.raises(DataError, match="no modality is given"):
            Dataset.from_arrays({})
        with pytest.raises(DataError, match="'my image' cannot name a modality"):
            Dataset.from_arrays({"my image": arrays["image"]})
        with pytest.raises(ConfigError, match="a kind is given for 'smell'"):
            Dataset.from_arrays(arrays, kinds={"smell": "dense"})


class TestLabels:
    @pytest.mark.parametrize(
        "labels",
        [
            [3, 7] * 20,
            (3, 7) * 20,
            np.array([3, 7] * 20),
            np.array([3, 7] * 20, np.uint8),
            np.array([3.0, 7.0] * 20),
            np.array([[3], [7]] * 20),
            pd.Series([3, 7] * 20),
            pd.Series([3, 7] * 20, dtype="Int64"),
            pd.Categorical([3, 7] * 20),
            [np.int64(3), np.int32(7)] * 20,
            ["3", "7"] * 20,
        ],
        ids=lambda labels: type(labels).__name__,
    )
    def test_any_sequence_of_numbers(self, arrays, labels) -> None:
        dataset = Dataset.from_arrays(arrays, labels)
        assert dataset.classes == ("3", "7")
        assert names(dataset) == [["3"], ["7"]] * 20

    @pytest.mark.parametrize(
        "labels",
        [
            ["river", None] * 20,
            np.array(["river", None] * 20, object),
            np.array(["river", np.nan] * 20, object),
            pd.Series(["river", None] * 20),
            pd.Series(["river", pd.NA] * 20, dtype="string"),
            pd.Categorical(["river", None] * 20),
            [["river"], []] * 20,
            [("river",), None] * 20,
            [{"river"}, set()] * 20,
        ],
        ids=str,
    )
    def test_none_and_nan_are_unlabelled(self, arrays, labels) -> None:
        assert names(Dataset.from_arrays(arrays, labels)) == [["river"], []] * 20

    @pytest.mark.parametrize(
        "labels",
        [
            [["a", "b"], ["b"]] * 20,
            [{"a", "b"}, {"b"}] * 20,
            [np.array(["a", "b"]), np.array(["b"])] * 20,
        ],
        ids=["lists", "sets", "arrays"],
    )
    def test_several_labels(self, arrays, labels) -> None:
        assert names(Dataset.from_arrays(arrays, labels)) == [["a", "b"], ["b"]] * 20

    @pytest.mark.parametrize("form", [np.asarray, sp.csr_array, pd.DataFrame, lambda rows: rows.astype(bool)])
    def test_a_matrix_of_zeros_and_ones_has_a_column_a_class(self, arrays, form) -> None:
        labels = form(np.array([[1, 1, 0], [0, 0, 1]] * 20))
        assert names(Dataset.from_arrays(arrays, labels)) == [["0", "1"], ["2"]] * 20

    def test_no_labels_at_all(self, arrays) -> None:
        dataset = Dataset.from_arrays(arrays)
        assert not dataset.labels.is_labelled.any()
        assert set(dataset.splits) == {"train", "val", "test"}

    @pytest.mark.parametrize(
        ("labels", "message"),
        [
            (LABELS[:-1], "there are 40 rows but 39 labels; give one for each row, None for an item without"),
            ("river", "labels is 'river'; give one value per row"),
            (3, "labels is 3; give one value per row"),
            ({"a": 1}, "labels is {'a': 1}; give one value per row"),
            ([0.5, 1.0] * 20, "row 0 has the label 0.5; a label must be a whole number or a name"),
            ([-1, 1] * 20, "row 0 has the label -1, .*leave it empty"),
        ],
    )
    def test_what_is_no_label_per_item_is_refused(self, arrays, labels, message) -> None:
        with pytest.raises(DataError, match=message):
            Dataset.from_arrays(arrays, labels)


class TestSplits:
    def test_the_same_seed_draws_the_same_split_within_classes(self, arrays) -> None:
        first, again, other = (Dataset.from_arrays(arrays, LABELS, seed=seed).splits for seed in (0, 0, 1))
        np.testing.assert_array_equal(first, again)
        assert (first != other).any()
        for name in CLASSES:
            mine = [split for split, label in zip(first, LABELS, strict=True) if label == name]
            assert [mine.count(split) for split in ("train", "val", "test")] == [14, 2, 4]

    def test_given_words_are_taken(self, arrays) -> None:
        words = np.array(["train", "Validation", "test", "dev"] * 10)
        dataset = Dataset.from_arrays(arrays, LABELS, splits=words)
        assert dataset.splits.tolist() == ["train", "val", "test", "val"] * 10
        assert set(Dataset.from_arrays(arrays, LABELS, splits="test").splits) == {"test"}

    @pytest.mark.parametrize(
        ("splits", "message"),
        [
            (["train"] * 39, "there are 40 rows but 39 splits"),
            (["train"] * 39 + ["holdout"], "splits: row 39 has the split 'holdout'; use one of train, val, test"),
            ("holdout", "splits: row 0 has the split 'holdout'"),
            (3, "splits is 3; give one value per row"),
        ],
    )
    def test_other_words_are_refused(self, arrays, splits, message) -> None:
        with pytest.raises(DataError, match=message):
            Dataset.from_arrays(arrays, LABELS, splits=splits)


class TestPairs:
    def test_rows_in_another_order(self, arrays) -> None:
        order = np.random.default_rng(1).permutation(ITEMS)
        pairs = np.column_stack([np.arange(ITEMS), np.argsort(order)])
        shuffled = {"image": arrays["image"], "text": arrays["text"][order]}
        given = Dataset.from_arrays(shuffled, LABELS, pairs=pairs)
        assert given.fingerprint == Dataset.from_arrays(arrays, LABELS).fingerprint

    def test_an_item_may_lack_a_modality(self, arrays) -> None:
        dataset = Dataset.from_arrays(arrays, list("abc"), pairs=[(4, 5), (None, 6), (7, -1)], splits=["train"] * 3)
        assert dataset.has("image").tolist() == [True, False, True]
        np.testing.assert_array_equal(dataset.everything.having("image").features("image"), arrays["image"][[4, 7]])
        np.testing.assert_array_equal(dataset.everything.having("text").features("text"), arrays["text"][[5, 6]])
        assert len(set(dataset.everything.documents)) == 3

    def test_captions_of_one_image_are_partners(self, arrays) -> None:
        pairs = [(row // 5, row) for row in range(ITEMS)]
        dataset = Dataset.from_arrays(
            {"image": arrays["image"][:8], "text": arrays["text"]}, [LABELS[image] for image, _ in pairs], pairs=pairs
        )
        assert dataset.has("image").sum() == 8 and dataset.has("text").sum() == ITEMS
        documents = dataset.everything.documents
        assert [len(set(documents[start : start + 5])) for start in range(0, ITEMS, 5)] == [1] * 8
        assert len(set(documents)) == 8
        assert all(len(set(dataset.splits[documents == document])) == 1 for document in documents)

    def test_chains_of_pairs_are_one_document(self, arrays) -> None:
        dataset = Dataset.from_arrays(arrays, pairs=[(0, 0), (1, 1), (2, 2), (0, 3), (4, 3), (1, 5), (4, 1), (9, 9)])
        documents = dataset.everything.documents.tolist()
        assert documents == ["0", "0", "2", "0", "0", "0", "7"]  # (4, 1) joins two documents and is no item

    @pytest.mark.parametrize(
        ("pairs", "message"),
        [
            ([(0, 40)], "pair 0 names row 40 of 'text', which has 40 rows"),
            ([(0, 0), (-2, 1)], "pair 1 names row -2 of 'image'"),
            ([(0, 0), (None, -1)], "pair 1 names no row at all"),
            ([(0, 1, 2)], "one row number for each of image, text per pair"),
            ([(0.5, 1)], "one row number for each of image, text per pair"),
            ([], "one row number for each of image, text per pair"),
            (["ab"], "one row number for each of image, text per pair"),
            (3, "one row number for each of image, text per pair"),
        ],
    )
    def test_impossible_pairs_are_refused(self, arrays, pairs, message) -> None:
        with pytest.raises(DataError, match=message):
            Dataset.from_arrays(arrays, pairs=pairs)

    def test_errors_name_the_row_of_the_array(self, arrays) -> None:
        arrays["text"][9, 1] = np.nan
        with pytest.raises(DataError, match=r"row 9 .*column 1 of 'text' is nan"):
            Dataset.from_arrays(arrays, pairs=[(0, 9)])

    def test_labels_are_one_per_pair(self, arrays) -> None:
        with pytest.raises(DataError, match="there are 2 pairs but 40 labels; give one for each pair"):
            Dataset.from_arrays(arrays, LABELS, pairs=[(0, 0), (1, 1)])


class TestAsDataset:
    def test_a_dataset_is_taken_as_it_is(self, arrays) -> None:
        dataset = Dataset.from_arrays(arrays, LABELS)
        assert as_dataset("fit", dataset) is dataset
        with pytest.raises(ConfigError, match="labels is given beside a dataset"):
            as_dataset("fit", dataset, LABELS)

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (np.ones((4, 2)), r"fit takes all modalities as one mapping .*an array of shape \(4, 2\)"),
            ([np.ones((4, 2))] * 2, "a list of 2"),
            (None, r"fit takes all modalities as one mapping .*it was given None"),
            ("folder", r"diptych\.Dataset\.open\('folder'\)"),
        ],
    )
    def test_anything_else_is_refused_with_the_call_that_works(self, data, message) -> None:
        with pytest.raises(ConfigError, match=message):
            as_dataset("fit", data)


def test_a_dataset_describes_itself_in_a_line(arrays) -> None:
    assert repr(Dataset.from_arrays(arrays, LABELS)) == (
        "Dataset('arrays': 40 items; image 5 dense, text 3 dense; 2 classes; 28 train, 4 val, 8 test)"
    )


class TestItemsThatLackAModality:
    def test_a_row_of_nan_alone_is_an_item_that_lacks_it(self) -> None:
        audio = np.arange(24.0).reshape(8, 3)
        audio[[1, 5]] = np.nan
        data = Dataset.from_arrays({"image": np.eye(8), "text": np.eye(8, 4), "audio": audio}, splits="train")
        assert data.has("audio").tolist() == [True, False, True, True, True, False, True, True]
        part = data.split("train").having("audio")
        np.testing.assert_array_equal(part.features("audio"), audio[[0, 2, 3, 4, 6, 7]])
        assert len(data.split("train").having_two_of("image", "text", "audio")) == 8

    def test_none_in_a_list_of_rows_says_the_same(self, tmp_path) -> None:
        data = Dataset.from_arrays({"image": np.eye(3), "audio": [[1, 2], None, [3, 4]]}, splits="train")
        assert data.has("audio").tolist() == [True, False, True]
        saved = data.save(tmp_path / "saved")
        assert saved.has("audio").tolist() == [True, False, True] and saved.fingerprint == data.fingerprint

    def test_some_nan_is_an_error(self) -> None:
        audio = np.array([[1.0, 2.0], [np.nan, np.nan], [3.0, np.nan]])
        with pytest.raises(DataError, match=r"column 1 of 'audio' is nan"):
            Dataset.from_arrays({"image": np.eye(3), "audio": audio})

    def test_an_item_without_any_modality_is_refused(self) -> None:
        rows = np.eye(3)
        rows[1] = np.nan
        with pytest.raises(DataError, match=r"row 1 \(item '1'\) has none of image, audio; give it one, or leave"):
            Dataset.from_arrays({"image": rows, "audio": rows})
        with pytest.raises(DataError, match="pair 1 names no row at all; leave it out"):
            Dataset.from_arrays({"image": np.eye(3), "audio": np.eye(3)}, pairs=[(0, 0), (-1, -1), (2, 2)])
