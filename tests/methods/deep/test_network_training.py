"""Training the network as a whole: resumed to the bit, found again in the cache, and never taken for another."""

from dataclasses import replace

import numpy as np
import pytest

import synthetic
from diptych._core.progress import silent
from diptych._core.state import pack
from diptych.data import Protocol, training_data
from diptych.methods import create
from diptych.methods.deep import cdmlmr
from diptych.methods.deep.deep_method import StageContext
from diptych.methods.deep.network_training import train_network
from diptych.methods.deep.profile import FAST, profile
from diptych.methods.training_inputs import documents
from diptych.nets.cdmlmr import CdmlmrOptions
from diptych.training import StageCache

pytestmark = pytest.mark.usefixtures("hurried")

NETWORK_ALONE = {"profile": "fast", "device": "cpu", "partner_space": False, "linear_member": False}
TRANSDUCTIVE = Protocol(unlabelled="test-features")


class Interrupted(Exception):  # noqa: N818
    pass


def learned(model):
    """The frozen networks, in a form that equals only what is bit-identical."""
    state, arrays = pack(model.chains_)
    return str(state), {key: value.tobytes() for key, value in arrays.items()}


def fit(dataset, cache, protocol=TRANSDUCTIVE, progress=silent, **params):
    method = create("cdmlmr", cache=None if cache is None else str(cache), **NETWORK_ALONE | params)
    return method.fit(dataset, protocol, progress=progress)


def network_stage(model):
    (stage,) = (stage for stage in model.record_["stages"] if stage["stage"] == "network")
    return stage


@pytest.mark.parametrize("cut", [13, 20])
def test_an_interrupted_fit_goes_on_to_the_same_bits(counts_dataset, tmp_path, cut, monkeypatch):
    """The network takes 24 steps with a checkpoint after 12, dropout, mixup and validations included."""
    monkeypatch.setattr(cdmlmr, "WholeFit", lambda progress, modalities: progress)  # to hear of single steps
    straight = fit(counts_dataset, None)

    def interrupt(stage, done, total, figures=None):
        if stage == "network" and done >= cut:
            raise Interrupted

    with pytest.raises(Interrupted):
        fit(counts_dataset, tmp_path, progress=interrupt)
    steps = []
    resumed = fit(counts_dataset, tmp_path, progress=lambda stage, done, *_: steps.append((stage, done)))
    assert learned(resumed) == learned(straight)
    assert {stage for stage, _ in steps} == {"network"}  # the machines came from the cache
    assert steps[0][1] == 13
    assert resumed.record_["monitoring"] == straight.record_["monitoring"]
    assert not network_stage(resumed)["from_cache"]


def test_a_second_fit_finds_the_network_in_the_cache(counts_dataset, tmp_path):
    once, steps = fit(counts_dataset, tmp_path), []
    twice = fit(counts_dataset, tmp_path, progress=lambda stage, *_: steps.append(stage))
    assert steps == []
    assert network_stage(twice)["from_cache"]
    assert learned(once) == learned(twice)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def keys():
    """The keys of all networks so far."""
    return set()


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"protocol": Protocol()},
        {"protocol": Protocol(unlabelled="test-features", labels_per_class=3)},
        {"protocol": Protocol(unlabelled="test-features", select_at=1)},
        {"mixup": 0.1},
        {"rate": 0.01},
        {"equal_start": False},
        {"fine_tune": False},
        {"contrastive_margin": 0.7},
    ],
    ids=str,
)
def test_what_decides_the_network_decides_its_key(counts_dataset, keys, cache, change):
    key = network_stage(fit(counts_dataset, cache, steps=2, **change))["key"]
    assert key not in keys
    keys.add(key)


def test_known_pairs_make_another_network_of_the_same_rows(counts_dataset, cache):
    protocol = Protocol(unlabelled="train", labels_per_class=3, use_pairs=True)
    place = replace(context(counts_dataset, protocol), cache=StageCache(cache))
    source = documents(place.data, with_pool=True)
    assert source.paired
    sizes, switches = replace(FAST, steps=2, width=8), {"branches": ("contrastive",)}
    keys = {
        train_network(place, each, sizes, switches, CdmlmrOptions(), with_dbn=False).key
        for each in (source, replace(source, pool_items=None))
    }
    assert len(keys) == 2


def test_items_that_only_the_scaling_reads_make_another_network(tmp_path):
    """An unlabelled item is no row of the network, but the means and spreads that all rows are scaled by know it."""
    draft = synthetic.draft()
    labels = [None, *draft.labels[1:]]
    values = draft.modalities["image"].values.copy()
    values[0] *= 3.0
    moved = {**draft.modalities, "image": replace(draft.modalities["image"], values=values)}
    one = synthetic.write(tmp_path / "one", replace(draft, labels=labels))
    other = synthetic.write(tmp_path / "other", replace(draft, labels=labels, modalities=moved))
    models = [fit(each, tmp_path / "cache", Protocol(), use_dbn=False, steps=2) for each in (one, other)]
    assert not any(network_stage(model)["from_cache"] for model in models)
    assert learned(models[0]) != learned(models[1])


def context(dataset, protocol=TRANSDUCTIVE):
    return StageContext(training_data(dataset, protocol), profile("fast"), 0, StageCache(None))


def test_documents_are_labelled_items_with_every_modality(gaps_dataset):
    source = documents(context(gaps_dataset).data, with_pool=True)
    train = gaps_dataset.split("train").having("image", "text").labelled()
    np.testing.assert_array_equal(source.labelled.index, train.index)
    np.testing.assert_array_equal(source.targets.argmax(axis=1), train.labels.codes)
    np.testing.assert_array_equal(np.sort(source.targets, axis=1)[:, :-1], 0.0)
    assert {name: rows.shape[0] for name, rows in source.pool.items()} == {
        name: len(gaps_dataset.split("test").having(name)) for name in ("image", "text")
    }
    assert not source.paired
    assert documents(context(gaps_dataset).data, with_pool=False).pool == {}
    assert documents(context(gaps_dataset, Protocol()).data, with_pool=True).pool == {}


def test_soft_labels_stand_beside_their_documents(gaps_dataset):
    data = training_data(gaps_dataset)
    soft = np.random.default_rng(0).dirichlet(np.ones(6), size=len(data.train)).astype(np.float32)
    source = documents(replace(data, soft_labels=soft), with_pool=True)
    for row, number in zip(source.targets, source.labelled.index, strict=True):
        np.testing.assert_array_equal(row, soft[data.train.index.tolist().index(number)])
