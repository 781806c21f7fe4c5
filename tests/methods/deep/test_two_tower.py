"""Two towers as a method: what it freezes, chooses, reads and writes down, and that every parameter is connected."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from diptych._core.errors import ConfigError
from diptych.data import Protocol, training_data
from diptych.export import export_model
from diptych.methods import create, load_model, save_model
from diptych.methods.deep import two_tower
from diptych.methods.deep.layers import run_chain
from diptych.methods.propagation import propagate

FEW = Protocol(unlabelled="train", labels_per_class=3)
PAIRED = replace(FEW, use_pairs=True)


@pytest.fixture(autouse=True)
def _hurried(monkeypatch) -> None:
    """A few dozen steps of small nets."""
    small = two_tower.TowerSizes(hidden=16, width=8, batch_size=32, epochs=8, least_steps=1)
    monkeypatch.setattr(two_tower, "SIZES", dict.fromkeys(("fast", "standard"), small))


@pytest.fixture
def trained(monkeypatch):
    """The objectives that fits train, in order."""
    made = []

    def watched(*arguments):
        made.append(real(*arguments))
        return made[-1]

    real = two_tower.TwoTowerObjective
    monkeypatch.setattr(two_tower, "TwoTowerObjective", watched)
    return made


def fit(dataset, protocol=None, **params):
    return create("two-tower", **{"profile": "fast", "device": "cpu", "cache": None} | params).fit(dataset, protocol)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class TestCodes:
    @pytest.mark.parametrize("representation", ["embedding", "posteriors", "both"])
    @pytest.mark.parametrize("members", [1, 3])
    def test_frozen_chains_give_what_the_net_gives(self, trained, counts_dataset, representation, members) -> None:
        model = fit(counts_dataset, members=members, representation=representation)
        net = trained[0].module
        for name in ("image", "text"):
            rows = counts_dataset.split("test").features(name)
            with torch.no_grad():
                encoded = net.encode(name, torch.from_numpy(run_chain(model.chains_[name][:-1], rows)))
            embedding = unit(np.hstack([unit(each) for each in encoded["embedding"].numpy()]))
            posteriors = unit(encoded["classes"].softmax(-1).mean(0).numpy())
            parts = {"embedding": [embedding], "posteriors": [posteriors], "both": [embedding, posteriors]}
            np.testing.assert_allclose(model.embed(name, rows), np.hstack(parts[representation]), atol=1e-5)

    @pytest.mark.parametrize("representation", ["embedding", "posteriors", "both"])
    @pytest.mark.parametrize("kind", ["counts_dataset", "dense_dataset"])
    def test_its_graph_gives_the_same_codes(self, representation, kind, tmp_path, request) -> None:
        for package in ("onnx", "onnxruntime"):
            pytest.importorskip(package)
        dataset = request.getfixturevalue(kind)
        model = fit(dataset, members=2, representation=representation)
        save_model(model, tmp_path / "model")
        export_model(tmp_path / "model", tmp_path / "exported")
        exported = load_model(tmp_path / "exported")
        for name in ("image", "text"):
            rows = dataset.split("test").features(name)
            np.testing.assert_allclose(exported.embed(name, rows), model.embed(name, rows), atol=1e-5)

    def test_features_are_scaled_and_clipped_by_training_statistics(self, trained, counts_dataset) -> None:
        fit(counts_dataset)
        for rows in trained[0].rows.values():
            assert rows.abs().max() <= 5.0
            np.testing.assert_allclose(rows.mean(0), 0.0, atol=0.05)


class TestChoice:
    def test_validation_chooses_the_representation_and_the_weights(self, counts_dataset) -> None:
        record = fit(counts_dataset).record_
        scores = {trial["params"]["representation"]: trial["score"] for trial in record["selection"]}
        assert set(scores) == {"embedding", "posteriors", "both"}
        assert record["chosen"]["representation"] == max(scores, key=scores.__getitem__)
        watched = record["monitoring"]
        assert len(watched["validations"]) == two_tower.VALIDATIONS
        assert watched["best_score"] == max(score for _, score in watched["validations"])
        assert watched["best_score"] == pytest.approx(max(scores.values()), abs=1e-6)

    def test_what_is_asked_for_is_not_chosen(self, counts_dataset) -> None:
        record = fit(counts_dataset, representation="embedding").record_
        assert [trial["params"] for trial in record["selection"]] == [{"representation": "embedding"}]

    def test_without_validation_both_are_taken(self, unjudged_dataset) -> None:
        record = fit(unjudged_dataset).record_
        assert record["chosen"]["representation"] == "both"
        assert record["selection"] == [] and record["chosen"]["best_step"] is None

    def test_without_a_loss_on_classes_there_is_the_embedding_alone(self, counts_dataset) -> None:
        assert fit(counts_dataset, class_weight=0.0).record_["chosen"]["representation"] == "embedding"


class TestWhatItReads:
    def test_unlabelled_pairs_are_read_where_they_are_given(self, trained, counts_dataset) -> None:
        model = fit(counts_dataset, PAIRED)
        (objective,) = trained
        train = counts_dataset.split("train")
        assert len(objective.targets) == 18
        assert {len(rows) for rows in objective.rows.values()} == {96}
        assert model.record_["saw"] == "pairs + labels + unlabelled training pairs"
        unlabelled = training_data(counts_dataset, PAIRED).unlabelled_pairs
        for name, chain in model.chains_.items():
            expected = run_chain(chain[:-1], unlabelled.features(name))
            np.testing.assert_array_equal(objective.rows[name][18:].numpy(), expected)
        assert len(train) == 96

    @pytest.mark.parametrize(
        ("protocol", "params"),
        [
            (Protocol(), {}),
            (FEW, {}),
            (Protocol(unlabelled="test-features"), {}),
            (PAIRED, {"contrast_weight": 0.0}),
        ],
    )
    def test_unlabelled_rows_are_left_alone_elsewhere(self, trained, counts_dataset, protocol, params) -> None:
        model = fit(counts_dataset, protocol, **params)
        (objective,) = trained
        assert {len(rows) for rows in objective.rows.values()} == {len(objective.targets)}
        assert model.record_["saw"] == "pairs + labels"

    def test_three_in_ten_rows_of_a_batch_at_least_are_labelled(self) -> None:
        sizes = two_tower.TowerSizes(batch_size=40)
        pool = {"image": 500, "text": 500}
        assert two_tower._batches(100, pool, sizes, 0).sizes == (12, 28)
        assert two_tower._batches(7, pool, sizes, 0).sizes == (7, 33)
        assert two_tower._batches(1500, pool, sizes, 0).sizes == (30, 10)
        assert two_tower._batches(100, {}, sizes, 0).sizes == (40, 0)

    def test_propagated_labels_are_soft_targets(self, trained, counts_dataset) -> None:
        protocol = replace(FEW, propagate=True)
        fit(counts_dataset, protocol)
        data, _ = propagate(training_data(counts_dataset, protocol), protocol)
        labelled = data.train.labels.is_labelled
        assert labelled.sum() > 18
        np.testing.assert_allclose(trained[0].targets.numpy(), data.soft_labels[labelled], rtol=1e-6)


CHANGED = {
    "members": 2,
    "temperature": 0.5,
    "contrast_weight": 0.1,
    "class_weight": 0.1,
    "dropout": 0.1,
    "representation": "embedding",
    "epochs": 3,
    "seed": 1,
}


def test_every_parameter_is_tried_below() -> None:
    assert {*CHANGED, "profile", "device", "cache"} == set(two_tower.TwoTower.parameter_defaults())


@pytest.mark.parametrize("name", CHANGED)
def test_every_parameter_changes_what_is_retrieved(counts_dataset, name) -> None:
    rows = counts_dataset.split("test").features("text")
    fixed = {"representation": "both"}
    before = fit(counts_dataset, **fixed).embed("text", rows)
    found = fit(counts_dataset, **fixed | {name: CHANGED[name]}).embed("text", rows)
    assert np.isfinite(found).all()
    assert found.shape != before.shape or np.abs(found - before).max() > 1e-6


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"members": 0}, "members is 0; it must be at least 1"),
        ({"epochs": 0}, "epochs is 0; it must be at least 1"),
        ({"temperature": -1.0}, "temperature is -1.0"),
        ({"dropout": 1.0}, "dropout is 1.0"),
        ({"representation": "best"}, "representation is 'best'; choose one of embedding, posteriors, both"),
        ({"representation": "both", "class_weight": 0.0}, "class_weight is 0, so no probabilities are learned"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_trained(trained, counts_dataset, params, sentence) -> None:
    with pytest.raises(ConfigError, match=sentence):
        fit(counts_dataset, **params)
    assert trained == []


def test_few_pairs_are_seen_more_often_unless_epochs_are_given(counts_dataset, monkeypatch) -> None:
    sizes = two_tower.TowerSizes(hidden=8, width=4, batch_size=40, epochs=3, least_steps=20)
    monkeypatch.setattr(two_tower, "SIZES", {"fast": sizes})
    assert fit(counts_dataset).record_["chosen"]["steps"] == 20
    assert fit(counts_dataset, epochs=7).record_["chosen"]["steps"] == 14
    monkeypatch.setattr(two_tower, "SIZES", {"fast": replace(sizes, epochs=12)})
    assert fit(counts_dataset).record_["chosen"]["steps"] == 24


def test_a_trained_net_is_found_again(counts_dataset, tmp_path) -> None:
    first, again = (fit(counts_dataset, cache=str(tmp_path)) for _ in range(2))
    other = fit(counts_dataset, cache=str(tmp_path), temperature=0.1)
    assert [model.record_["stages"][0]["from_cache"] for model in (first, again, other)] == [False, True, False]
    rows = counts_dataset.split("test").features("image")
    np.testing.assert_array_equal(first.embed("image", rows), again.embed("image", rows))
