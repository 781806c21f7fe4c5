import multiprocessing
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from diptych._core.errors import ConfigError, FitError
from diptych.training import StageCache, default_cache_root, stage_key
from diptych.training import cache as cache_module
from training import toy

ROWS = np.arange(12.0).reshape(4, 3)


def key(**changes):
    values = {"stage": "rbm", "inputs": {"image": ROWS}, "options": {"hidden": 4}, "upstream": ("u",), **changes}
    return stage_key(values.pop("stage"), **values)


@pytest.mark.parametrize(
    "change",
    [
        {"stage": "rbm-2"},
        {"inputs": {"image": ROWS + 1e-9}},
        {"inputs": {"image": ROWS.astype(np.float32)}},
        {"inputs": {"image": ROWS.reshape(3, 4)}},
        {"inputs": {"text": ROWS}},
        {"inputs": {"image": ROWS, "labels": np.zeros(4)}},
        {"inputs": {"image": torch.from_numpy(ROWS)}},
        {"options": {"hidden": 5}},
        {"options": {"hidden": 4, "dropout": None}},
        {"upstream": ()},
        {"upstream": ("v",)},
        {"upstream": ("u", "u")},
    ],
)
def test_any_change_is_another_key(change):
    assert key(**change) != key()


def test_same_content_is_the_same_key():
    assert key(inputs={"image": ROWS.copy(order="F")}) == key()
    assert key(options={"a": 1, "b": (2, np.float64(0.5))}) == key(options={"b": [2, 0.5], "a": 1})


def test_sparse_fractions_count():
    counts = sp.csr_array(np.eye(3) * 0.25)
    assert key(inputs={"text": counts}) != key(inputs={"text": sp.csr_array(np.eye(3) * 0.75)})
    assert key(inputs={"text": counts}) == key(inputs={"text": counts.copy()})
    assert key(inputs={"text": counts}) != key(inputs={"text": sp.csr_array(np.eye(4)[:3] * 0.25)})


def test_options_must_be_plain():
    with pytest.raises(ConfigError, match="stage 'rbm' must be plain"):
        key(options={"net": torch.zeros(3)})


def test_load_and_store(tmp_path):
    cache = StageCache(tmp_path)
    assert cache.load("ab12") is None
    cache.store("ab12", {"w": torch.ones(2)}, {"history": [1]})
    tensors, record = cache.load("ab12")
    assert torch.equal(tensors["w"], torch.ones(2))
    assert record == {"history": [1]}


def test_without_a_root_nothing_is_kept():
    cache = StageCache(None)
    cache.store("ab12", {"w": torch.ones(2)}, {})
    assert cache.load("ab12") is None


def test_default_root(monkeypatch):
    monkeypatch.setenv("DIPTYCH_CACHE", "/somewhere/else")
    assert default_cache_root() == Path("/somewhere/else")
    monkeypatch.delenv("DIPTYCH_CACHE")
    assert default_cache_root() == Path.home() / ".cache" / "diptych"


def test_second_time_comes_from_the_cache(tmp_path):
    first, trained = toy.cached_stage(tmp_path)
    second, found = toy.cached_stage(tmp_path)
    assert (trained.from_cache, found.from_cache) == (False, True)
    assert trained.key == found.key
    assert toy.same_weights(first, second)
    assert found.history == trained.history
    assert not second.training
    assert not list((tmp_path / "unfinished").iterdir())


@pytest.mark.parametrize(
    "change", [{"inputs": {"x": ROWS + 1}}, {"options": {"a": 1}}, {"upstream": ["k"]}, {"seed": 3}, {"steps": 50}]
)
def test_a_change_is_trained(tmp_path, change):
    toy.cached_stage(tmp_path)
    assert not toy.cached_stage(tmp_path, **change)[1].from_cache


def test_a_change_of_the_code_is_trained(tmp_path, monkeypatch):
    toy.cached_stage(tmp_path)
    monkeypatch.setattr(cache_module, "code_version", lambda module: "another")
    assert not toy.cached_stage(tmp_path)[1].from_cache


@pytest.mark.parametrize("damage", [lambda c: c[:100], lambda c: b"", lambda c: c[:-3] + b"xyz"])
def test_a_damaged_entry_is_rebuilt(tmp_path, caplog, damage):
    first, _ = toy.cached_stage(tmp_path)
    (path,) = (tmp_path / "stages").rglob("*.safetensors")
    path.write_bytes(damage(path.read_bytes()))
    again, done = toy.cached_stage(tmp_path)
    assert not done.from_cache
    assert "trained again" in caplog.text
    assert toy.same_weights(first, again)
    assert toy.cached_stage(tmp_path)[1].from_cache


def test_a_broken_stage_is_not_cached_and_resumes(tmp_path):
    with pytest.raises(FitError):
        toy.cached_stage(tmp_path, fault=33)
    net, done = toy.cached_stage(tmp_path)
    assert not done.from_cache
    assert done.history.resumed_from == 30
    assert toy.same_weights(net, toy.train_toy(None)[0])


def test_processes_that_want_the_same_stage_train_it_once(tmp_path):
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["diptych.training", "torch._dynamo"])
    queue = context.Queue()
    processes = [context.Process(target=toy.train_in_a_process, args=(str(tmp_path), queue)) for _ in range(2)]
    for process in processes:
        process.start()
    outcomes = [queue.get(timeout=60) for _ in processes]
    for process in processes:
        process.join(timeout=60)
    assert sorted(hit for hit, _ in outcomes) == [False, True]
    assert outcomes[0][1] == outcomes[1][1]
