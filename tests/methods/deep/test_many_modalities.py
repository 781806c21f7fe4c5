"""CDMLMR and its kin on three modalities, with items that lack some: what is learned, kept and refused."""

import numpy as np
import pytest

import synthetic
from diptych import CDMLMR
from diptych._core.errors import FitError
from diptych.data import Dataset, ModalityRows, Protocol, training_data
from diptych.methods import create, load_model, save_model
from diptych.methods.linear.partner_space import PartnerScorer, fit_partner_embedders
from diptych.methods.training_inputs import documents, row_numbers

pytestmark = pytest.mark.usefixtures("hurried")
NAMES = ("image", "text", "audio")


def quick(name="cdmlmr", **params):
    return create(name, profile="fast", device="cpu", cache=None, **params)


def rows_of(dataset, name, split="test"):
    return dataset.split(split).having(name).features(name)


@pytest.fixture(scope="module")
def rare_audio(tmp_path_factory):
    """Sounds for every fourth item."""
    base = synthetic.draft(NAMES, seed=2)
    present = np.arange(len(base.ids)) % 4 == 0
    audio = base.modalities["audio"]
    rows = {**base.modalities, "audio": ModalityRows(audio.kind, audio.values[present], present)}
    return synthetic.replace(base, modalities=rows)


@pytest.mark.parametrize("options", [{}, {"unlabelled": "train", "labels_per_class": 6, "use_pairs": True}])
def test_every_space_holds_every_modality(three_gaps_dataset, tmp_path, options):
    model = quick().fit(three_gaps_dataset, Protocol(**options))
    assert model.modalities == NAMES and model.purposes == ("class", "partner", "both")
    classes = len(three_gaps_dataset.classes)
    assert model.spaces["class"] == classes + 3  # a column of their own for what is missing to length one
    for name in NAMES:
        codes = model.embed(name, rows_of(three_gaps_dataset, name), "both")
        assert codes.shape[1] == sum(model.spaces.values()) and np.isfinite(codes).all()
        by_class = model.embed(name, rows_of(three_gaps_dataset, name), "class")
        np.testing.assert_allclose(np.linalg.norm(by_class, axis=1), 1.0, atol=1e-5)
        assert (by_class[:, :classes] >= 0).all()
    save_model(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    for name in NAMES:
        rows = rows_of(three_gaps_dataset, name)
        np.testing.assert_array_equal(again.embed(name, rows, "both"), model.embed(name, rows, "both"))


def test_documents_have_at_least_two_modalities_and_a_label(three_gaps_dataset):
    protocol = Protocol(unlabelled="train", use_pairs=True)
    data = training_data(three_gaps_dataset, protocol)
    source = documents(data, with_pool=True)
    train = three_gaps_dataset.split("train")
    counts = sum(train.has(name).astype(int) for name in NAMES)
    known = train.labels.is_labelled & (counts >= 2)
    np.testing.assert_array_equal(source.labelled.index, train.index[known])
    assert source.paired and len(source.pool_items) == int((~train.labels.is_labelled & (counts >= 2)).sum())
    for name in NAMES:
        rows, targets = source.of(name)
        has = source.labelled.has(name)
        assert rows.shape[0] == len(targets) == int(has.sum()) < len(source.labelled)
        numbers = row_numbers(source.labelled, name)
        np.testing.assert_array_equal(numbers >= 0, has)
        part = source.labelled.take(has)
        assert part.features(name).shape == rows.shape
        np.testing.assert_array_equal(targets.argmax(1), part.labels.codes)


def test_without_labels_the_partner_space_is_learned_from_whatever_two_an_item_has(three_gaps_dataset):
    data = training_data(three_gaps_dataset)
    scorer = PartnerScorer.of(data)
    assert len(scorer.directions) == 6
    embedders, chosen, search = fit_partner_embedders(data, scorer, lambda *report: None)
    assert len({each.width for each in embedders.values()}) == 1 and {"ridge", "components", "power"} == set(chosen)
    found = scorer.score({name: embedders[name](rows) for name, rows in scorer.rows.items()})
    assert found == pytest.approx(max(trial["score"] for trial in search.trials), rel=0.05)
    sizes = [rows.shape[0] for rows in scorer.rows.values()]
    assert found > 3 * np.mean([sum(1 / rank for rank in range(1, size + 1)) / size for size in sizes])  # chance


def test_the_published_network_joins_two(three_dataset):
    with pytest.raises(
        FitError, match=r"CDMLMR joins 2 modalities and the dataset has 3 .*use a method that joins any"
    ):
        CDMLMR(profile="paper", cache=None).fit(three_dataset)


def test_a_modality_without_any_labelled_item_is_refused(rare_audio):
    present = rare_audio.modalities["audio"].present
    labels = [None if has else label for label, has in zip(rare_audio.labels, present, strict=True)]
    data = {name: _spread(rows, len(labels)) for name, rows in rare_audio.modalities.items()}
    dataset = Dataset.from_arrays(data, labels, splits=rare_audio.splits)
    with pytest.raises(FitError, match="no labelled training item has 'audio' beside another modality; label some"):
        quick().fit(dataset)
    assert quick().fit(dataset, modalities=("image", "text")).is_fitted


def _spread(rows, count):
    """Rows of all items, of NaN where an item lacks the modality."""
    if rows.present is None:
        return rows.values
    whole = np.full((count, rows.values.shape[1]), np.nan)
    whole[rows.present] = rows.values
    return whole


def test_arrays_with_rows_of_nan_are_learned_from(rare_audio):
    data = {name: _spread(rows, len(rare_audio.ids)) for name, rows in rare_audio.modalities.items()}
    model = CDMLMR(profile="fast", cache=None).fit(data, labels=rare_audio.labels, splits=rare_audio.splits)
    assert model.modalities == NAMES
    known = rare_audio.modalities["audio"].present
    test = np.array(rare_audio.splits) == "test"
    found = model.transform({"audio": data["audio"][test & known], "image": data["image"][test]})
    assert {name: len(codes) for name, codes in found.items()} == {"audio": int((test & known).sum()), "image": 60}
    part = {name: rows[test] for name, rows in data.items()}
    labels = [label for label, chosen in zip(rare_audio.labels, test, strict=True) if chosen]
    assert 0.1 < model.score(part, labels) <= 1.0


def test_a_class_of_one_item_is_learned_from_and_named(three_dataset, caplog):
    labels = ["alone", *(label for label in three_dataset.items.column("label").to_pylist()[1:])]
    data = {name: three_dataset.everything.features(name) for name in NAMES}
    model = quick().fit(data, labels=labels, splits=three_dataset.splits.tolist())
    assert np.isfinite(model.embed("audio", rows_of(three_dataset, "audio"))).all()
    assert model.record_["class_note"] == "the class 'alone' has a single training item"
    assert "The class 'alone' has a single training item, which tells hardly anything" in caplog.text
    few = create("sm").fit(three_dataset, Protocol(labels_per_class=1))  # which is meant
    assert "class_note" not in few.record_


def test_auto_joins_three(three_gaps_dataset):
    model = create("auto", profile="fast", device="cpu", cache=None).fit(three_gaps_dataset)
    assert model.modalities == NAMES and model.record_["auto"]["chosen"] == "cdmlmr"
