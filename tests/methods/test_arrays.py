"""Fit, transform, score and save on arrays, without a folder: the same figures, the same honesty, and clear errors."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import synthetic
from diptych._core.errors import ConfigError, DataError, FitError, NotFittedError
from diptych._core.state import pack
from diptych.data import Dataset, Protocol, as_rows
from diptych.experiments import evaluate_model
from diptych.methods import create

LINEAR = ["cca", "cfa", "cca3v", "sm", "scm", "jrl", "kcca-rbf"]


@pytest.fixture(scope="module")
def draft():
    return synthetic.draft()


@pytest.fixture(scope="module")
def arrays(draft) -> dict:
    """Dense images and counts of words, as a notebook holds them."""
    return {"image": draft.modalities["image"].values, "text": sp.csr_matrix(draft.modalities["text"].values)}


@pytest.fixture(scope="module")
def model(draft, arrays):
    return create("sm").fit(arrays, labels=draft.labels)


def learned(method) -> str:
    state, arrays = pack({key: value for key, value in method.learned_state().items() if key != "record_"})
    return json.dumps(state) + str({name: value.tobytes() for name, value in arrays.items()})


class TestFit:
    @pytest.mark.parametrize("name", LINEAR)
    def test_arrays_and_a_folder_of_them_give_the_same_model(self, name, draft, arrays, counts_dataset) -> None:
        held = create(name).fit(arrays, labels=draft.labels, splits=draft.splits)
        assert learned(held) == learned(create(name).fit(counts_dataset))

    def test_the_validation_split_is_drawn_by_the_methods_seed(self, draft, arrays) -> None:
        class Seen(type(create("sm"))):
            def __init__(self, seed=0) -> None:
                super().__init__(0.1)
                self.seed = seed

            def _fit(self, data, progress) -> None:
                super()._fit(data, progress)
                self.seen = [set(part.ids) for part in (data.train, data.validation)]

        first, again, other = (Seen(seed).fit(arrays, labels=draft.labels).seen for seed in (0, 0, 1))
        assert first == again != other
        assert [len(ids) for ids in first] == [178, 18]
        assert not first[0] & first[1]

    @pytest.mark.parametrize("params", [{"strength": 0.1}, {}], ids=["fixed", "chosen"])
    def test_no_label_of_a_validation_item_reaches_training(self, params, draft, arrays) -> None:
        splits = np.array(draft.splits)
        labels = np.array(draft.labels, object)
        labels[splits == "val"] = np.roll(labels[splits == "val"], 1)
        told = create("sm", **params).fit(arrays, labels=draft.labels, splits=splits)
        misled = create("sm", **params).fit(arrays, labels=labels, splits=splits)
        if params:
            assert learned(told) == learned(misled)
        assert told.record_["selection"] == [] or told.record_["selection"] != misled.record_["selection"]

    def test_nothing_of_a_test_item_reaches_training(self, draft, arrays) -> None:
        splits = np.array(draft.splits)
        image = arrays["image"].copy()
        image[splits == "test"] = 1e6
        labels = [None if split == "test" else label for label, split in zip(draft.labels, splits, strict=True)]
        plain = create("scm").fit(arrays, labels=draft.labels, splits=splits)
        assert learned(plain) == learned(create("scm").fit(arrays | {"image": image}, labels=labels, splits=splits))

    def test_labels_may_hold_none(self, draft, arrays) -> None:
        labels = [None if row % 2 else label for row, label in enumerate(draft.labels)]
        model = create("sm").fit(arrays, labels=labels)
        assert model.score(arrays, draft.labels) > 1.5 * chance(draft)
        assert model.record_["saw"] == "pairs + labels"

    def test_a_protocol_counts_for_arrays_too(self, draft, arrays) -> None:
        few = create("sm").fit(arrays, Protocol(labels_per_class=2), labels=draft.labels)
        assert few.record_["protocol"]["labels_per_class"] == 2

    def test_pandas_is_taken(self, draft, arrays) -> None:
        tables = {"image": pd.DataFrame(arrays["image"]), "text": pd.DataFrame(arrays["text"].toarray())}
        model = create("sm").fit(tables, labels=pd.Series(draft.labels))
        assert model.transform({"image": tables["image"]})["image"].shape == (len(draft.ids), 6)

    def test_pairs_say_which_rows_belong_together(self, draft, arrays) -> None:
        order = np.random.default_rng(0).permutation(len(draft.ids))
        shuffled = {"image": arrays["image"], "text": arrays["text"][order]}
        pairs = np.column_stack([np.arange(len(order)), np.argsort(order)])
        given = create("cca").fit(shuffled, labels=draft.labels, pairs=pairs)
        assert learned(given) == learned(create("cca").fit(arrays, labels=draft.labels))

    def test_what_holds_rows_is_an_array(self, arrays) -> None:
        torch, image = pytest.importorskip("torch"), arrays["image"][:20]
        frame = pd.DataFrame(image).astype("Float64")
        frame.iloc[3] = pd.NA
        gapped = image.copy()
        gapped[3] = np.nan
        column = pd.Series([row if at != 3 else None for at, row in enumerate(image)])
        for given, expected in (
            (torch.tensor(image, requires_grad=True), image),
            (torch.tensor(image).to_sparse(), image),
            (torch.tensor(image).to(torch.bfloat16), np.asarray(torch.tensor(image).to(torch.bfloat16).float())),
            (pd.Series(list(image)), image),
            (column, gapped),
            (frame, gapped),
            (np.ma.masked_greater(image, image.max()), image),
        ):
            np.testing.assert_array_equal(as_rows("image", given), expected)

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (None, "'image' is None, which is no table of numbers"),
            ((row for row in "ab"), "'image' is a generator, which is no table"),
            (np.ma.masked_greater([[1.0, 2.0]], 1.5), "some of it is masked: fill it"),
            ([[1.0], [1.0, 2.0]], "'image' is a list of 2, .*equal length"),
        ],
    )
    def test_what_holds_none_is_named(self, value, message) -> None:
        with pytest.raises(DataError, match=message):
            as_rows("image", value)

    def test_numbers_beyond_single_precision_are_refused(self, arrays) -> None:
        huge = arrays["image"].astype(np.float64)
        huge[4, 2] = 1e300
        with pytest.raises(DataError, match=r"row 4 .*column 2 of 'image' is 1e\+300: .*float32"):
            create("cca").fit(arrays | {"image": huge})

    def test_labels_may_be_bytes(self, draft, arrays) -> None:
        names = np.array([label.encode() for label in draft.labels])
        assert Dataset.from_arrays(arrays, labels=names).classes == Dataset.from_arrays(arrays, draft.labels).classes


class TestErrors:
    def test_two_arrays_side_by_side(self, arrays) -> None:
        with pytest.raises(ConfigError, match=r"CCA\.fit takes all modalities as one mapping .*'image': X, 'text': Y"):
            create("cca").fit(arrays["image"], arrays["text"])

    def test_labels_as_the_second_argument(self, arrays, draft) -> None:
        with pytest.raises(ConfigError, match=r"second argument of CCA\.fit is a protocol.*a list of 196.*labels=y"):
            create("cca").fit(arrays, draft.labels)

    def test_one_modality(self, arrays) -> None:
        with pytest.raises(FitError, match=r"needs two; the dataset gives 1 \(image\).*'image': X, 'text': Y"):
            create("cca").fit({"image": arrays["image"]})

    def test_no_labels_for_a_method_that_needs_them(self, arrays) -> None:
        with pytest.raises(FitError, match=r"no training item has one; label some \(labels=…"):
            create("sm").fit(arrays)

    def test_nan_and_wrong_lengths(self, arrays, draft) -> None:
        bad = arrays["image"].copy()
        bad[3, 1] = np.nan
        with pytest.raises(DataError, match=r"row 3 .*column 1 of 'image' is nan: replace it"):
            create("cca").fit(arrays | {"image": bad})
        with pytest.raises(DataError, match="'text' has 10 rows but 'image' has 196"):
            create("cca").fit(arrays | {"text": arrays["text"][:10]})
        with pytest.raises(DataError, match="there are 196 rows but 195 labels"):
            create("cca").fit(arrays, labels=draft.labels[1:])
        with pytest.raises(DataError, match=r"'image' has shape \(196,\)"):
            create("cca").fit(arrays | {"image": arrays["image"][:, 0]})

    def test_a_refused_call_leaves_an_earlier_fit(self, arrays) -> None:
        model = create("cca").fit(arrays)
        with pytest.raises(DataError):
            model.fit(arrays | {"text": arrays["text"][:10]})
        assert model.is_fitted


class TestTransform:
    def test_it_embeds_each_modality_given(self, model, arrays) -> None:
        embedded = model.transform({"text": arrays["text"], "image": arrays["image"].tolist()})
        assert list(embedded) == ["text", "image"]
        np.testing.assert_array_equal(embedded["text"], model.embed("text", sp.csr_array(arrays["text"])))
        assert embedded["image"].dtype == np.float32
        np.testing.assert_allclose(embedded["image"], model.embed("image", arrays["image"]), rtol=1e-4, atol=1e-6)

    @pytest.mark.parametrize(
        ("data", "error", "message"),
        [
            (np.ones((3, 12)), ConfigError, r"transform takes a mapping .*'image': X.*array of shape \(3, 12\)"),
            ({"smell": np.ones((3, 12))}, DataError, "has no modality 'smell'; it has image, text"),
            ({"image": np.ones((3, 4))}, DataError, r"shape \(3, 4\); this model takes 12 columns"),
            ({"image": np.ones(12)}, DataError, r"reshape\(1, -1\)"),
            ({"image": np.full((3, 12), np.nan)}, DataError, r"row 0, column 0 of 'image' is nan: replace it"),
        ],
    )
    def test_bad_arrays_are_refused(self, model, data, error, message) -> None:
        with pytest.raises(error, match=message):
            model.transform(data)

    def test_before_the_fit(self, arrays) -> None:
        for call in ("transform", "score"):
            with pytest.raises(NotFittedError, match="this CCA is not fitted yet; call fit first"):
                getattr(create("cca"), call)(arrays)


def chance(draft) -> float:
    dataset = Dataset.from_arrays({name: rows.values for name, rows in draft.modalities.items()}, draft.labels)
    return synthetic.chance_score(dataset)


class TestScore:
    @pytest.mark.parametrize("name", ["cca", "sm", "jrl"])
    def test_it_is_the_average_map_of_the_evaluator(self, name, draft, arrays, counts_dataset) -> None:
        model = create(name).fit(counts_dataset)
        expected = evaluate_model(model, counts_dataset).average_map
        assert model.score(counts_dataset) == expected
        test = np.flatnonzero(np.array(draft.splits) == "test")
        labels = [draft.labels[row] for row in test]
        assert model.score({key: rows[test] for key, rows in arrays.items()}, labels) == expected
        assert model.score(counts_dataset, split="val") == evaluate_model(model, counts_dataset, "val").average_map

    def test_without_labels_partners_are_looked_for(self, draft, arrays, counts_dataset) -> None:
        model = create("cca").fit(counts_dataset)
        expected = evaluate_model(model, counts_dataset, relevance="document").average_map
        test = np.array(draft.splits) == "test"
        assert model.score({key: rows[test] for key, rows in arrays.items()}) == pytest.approx(expected, abs=1e-12)

    def test_a_missing_modality_and_a_foreign_split_are_named(self, arrays, draft) -> None:
        model = create("cca").fit(arrays)
        with pytest.raises(DataError, match="'text' is missing; give it too"):
            model.score({"image": arrays["image"]}, draft.labels)
        with pytest.raises(DataError, match="no item of the split 'val' has 'image'"):
            model.score(Dataset.from_arrays(arrays, draft.labels, splits="test"), split="val")

    def test_a_method_whose_space_depends_on_the_direction(self, draft, arrays) -> None:
        model = create("jrl").fit(arrays, labels=draft.labels)
        assert 0 < model.score(arrays, draft.labels) <= 1


def test_a_saved_model_embeds_alike(draft, arrays, tmp_path) -> None:
    import diptych

    model = create("scm").fit(arrays, labels=draft.labels)
    model.save(tmp_path / "model")
    with pytest.raises(DataError, match="already exists"):
        model.save(tmp_path / "model")
    model.save(tmp_path / "model", overwrite=True)
    loaded = diptych.load_model(tmp_path / "model")
    for name, rows in model.transform(arrays).items():
        np.testing.assert_array_equal(loaded.transform(arrays)[name], rows)
