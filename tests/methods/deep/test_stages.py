"""Stages: shared through the cache, honest about what they see, loud when they break down."""

from dataclasses import replace

import numpy as np
import pytest

import synthetic
from diptych._core.errors import ConfigError, FitError
from diptych.data import Protocol, training_data
from diptych.methods import create
from diptych.methods.deep import profile as profiles
from diptych.methods.deep.cmdn import BaseNetwork, shared_embeddings
from diptych.methods.deep.dbn import announce_stand_in, train_dbn
from diptych.methods.deep.deep_method import StageContext
from diptych.methods.deep.layers import CountLayer, run_chain
from diptych.training import Constant, StageCache


def stage_context(dataset, cache=None, seed=0) -> StageContext:
    return StageContext(training_data(dataset), profiles.profile("fast"), seed, StageCache(cache))


class Steps:
    """Counts the training steps that really happen."""

    def __init__(self):
        self.stages = set()

    def __call__(self, stage, done, total, figures=None):
        self.stages.add(stage)


def make(name, **params):
    """A method by name; "base" is the base network as published, whose stages are trained one after the other."""
    params = {"profile": "fast", "cache": None} | params
    return BaseNetwork(**params) if name == "base" else create(name, **params)


def fit(name, dataset, cache, **params):
    steps = Steps()
    model = make(name, cache=str(cache), **params).fit(dataset, progress=steps)
    return model, steps.stages


@pytest.mark.slow
def test_methods_share_the_stages_they_have_in_common(counts_dataset, tmp_path):
    _, first = fit("base", counts_dataset, tmp_path)
    _, second = fit("bimodal-ae", counts_dataset, tmp_path)
    assert {"image RBM 1", "text RBM 2", "bimodal autoencoder"} <= first
    assert second == {"bimodal AE"}


def test_a_second_fit_trains_nothing_and_gives_the_same_codes(counts_dataset, tmp_path):
    rows = counts_dataset.split("test").features("image")
    once, _ = fit("base", counts_dataset, tmp_path)
    twice, trained = fit("base", counts_dataset, tmp_path)
    assert trained == set()
    assert twice.record_["fit_seconds"] > 0.5 * once.record_["fit_seconds"]  # a cold start's time, not the cache's
    np.testing.assert_array_equal(once.embed("image", rows), twice.embed("image", rows))


@pytest.mark.slow
@pytest.mark.parametrize("change", ["seed", "data"])
def test_a_changed_seed_or_input_never_hits_the_cache(counts_dataset, tmp_path, change):
    fit("base", counts_dataset, tmp_path / "cache")
    dataset = counts_dataset
    if change == "data":
        draft = synthetic.draft()
        values = draft.modalities["image"].values.copy()
        values[0, 0] += 1.0
        rows = replace(draft.modalities["image"], values=values)
        dataset = synthetic.write(tmp_path / "other", replace(draft, modalities={**draft.modalities, "image": rows}))
    _, trained = fit("base", dataset, tmp_path / "cache", seed=int(change == "seed"))
    assert {"image RBM 1", "image supervised net", "bimodal autoencoder"} <= trained
    assert ("text RBM 1" in trained) == (change == "seed")


def test_labels_alone_retrain_only_what_reads_labels(counts_dataset, tmp_path):
    fit("base", counts_dataset, tmp_path)
    steps = Steps()
    model = make("base", cache=str(tmp_path))
    model.fit(counts_dataset, Protocol(labels_per_class=5), progress=steps)
    assert steps.stages == {"image supervised net", "text supervised net", "bimodal autoencoder"}


def test_counts_go_into_a_replicated_softmax_and_dense_rows_into_a_gaussian_machine(counts_dataset, dense_dataset):
    assert isinstance(train_dbn(stage_context(counts_dataset), "text").chain[0], CountLayer)
    dense = train_dbn(stage_context(dense_dataset), "text")
    assert not any(isinstance(step, CountLayer) for step in dense.chain)


def test_the_stand_in_for_the_replicated_softmax_is_announced_once(dense_dataset, caplog):
    announce_stand_in.cache_clear()
    caplog.set_level("INFO")
    for seed in (0, 1):
        train_dbn(stage_context(dense_dataset, seed=seed), "text")
    assert sum("Gaussian machine" in record.message for record in caplog.records) == 1


def test_shared_codes_are_half_as_wide_as_the_supervised_nets(counts_dataset):
    context = stage_context(counts_dataset)
    for name, coded in shared_embeddings(context).items():
        codes = run_chain(coded.chain, context.data.train.features(name))
        assert codes.shape == (len(context.data.train), context.profile.supervised_width // 2)
        assert codes.min() >= 0 and codes.max() <= 1


def test_an_explosion_names_stage_step_and_what_to_change(counts_dataset, monkeypatch):
    wild = replace(profiles.PUBLISHED["gaussian-rbm"], rate=Constant(1e6))
    monkeypatch.setattr(profiles, "PUBLISHED", {**profiles.PUBLISHED, "gaussian-rbm": wild})
    with pytest.raises(FitError, match=r"image RBM 1.*step.*rate"):
        make("base").fit(counts_dataset)


@pytest.mark.slow
def test_another_rule_of_selection_never_hits_the_cache(counts_dataset, tmp_path):
    fit("base", counts_dataset, tmp_path)
    steps = Steps()
    make("base", cache=str(tmp_path)).fit(counts_dataset, Protocol(select_at=1), progress=steps)
    assert steps.stages == {"bimodal autoencoder"}


@pytest.mark.slow
def test_without_validation_the_published_alpha_is_taken_and_nothing_was_selected(unjudged_dataset):
    model = create("corr-cross-ae", profile="fast", cache=None).fit(unjudged_dataset)
    assert model.record_["chosen"] == {"alpha": 0.2}
    assert model.record_["selection"] == []


@pytest.mark.parametrize(
    ("name", "params", "words"),
    [
        ("cmdn", {"depth": 0}, "depth is 0"),
        ("corr-ae", {"alpha": 1.5}, "alpha is 1.5"),
        ("corr-ae", {"variant": "half"}, "variant is 'half'"),
        ("dcca", {"components": 0}, "components is 0"),
        ("dcca", {"ridge": 0.0}, "ridge is 0"),
        ("deep-corr", {"batch_size": 1}, "batch_size is 1"),
        ("multimodal-dbn", {"representation": "both"}, "representation is 'both'"),
    ],
)
def test_a_parameter_out_of_range_is_refused_before_anything_is_trained(counts_dataset, name, params, words):
    steps = Steps()
    with pytest.raises(ConfigError, match=words):
        create(name, profile="fast", cache=None, **params).fit(counts_dataset, progress=steps)
    assert steps.stages == set()


@pytest.mark.parametrize("name", ["cdmlmr-staged", "cmdn"])
def test_several_labels_are_refused_before_anything_is_trained(tmp_path, name):
    draft = synthetic.draft()
    labels = [["art", "music"], *draft.labels[1:]]
    dataset = synthetic.write(tmp_path / "several", replace(draft, labels=labels))
    steps = Steps()
    with pytest.raises(FitError, match="several labels"):
        make(name).fit(dataset, progress=steps)
    assert steps.stages == set()


def test_a_modality_that_cannot_name_a_part_of_a_network_is_refused(tmp_path):
    draft = synthetic.draft()
    renamed = {"values": draft.modalities["image"], "text": draft.modalities["text"]}
    dataset = synthetic.write(tmp_path / "odd", replace(draft, modalities=renamed))
    with pytest.raises(FitError, match=r"'values'.*another name"):
        create("dcca", profile="fast", cache=None).fit(dataset)


@pytest.mark.slow
def test_the_logs_of_every_stage_are_kept(counts_dataset, tmp_path):
    model, _ = fit("bimodal-ae", counts_dataset, tmp_path)
    for stage in model.record_["stages"]:
        text = (tmp_path / "logs" / stage["key"] / "log.csv").read_text()
        assert text.startswith("step,") and text.strip().splitlines()[-1].startswith(f"{stage['steps']},")
    assert not list((tmp_path / "unfinished").glob("*"))
