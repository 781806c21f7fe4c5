import socket
from typing import NamedTuple

import pytest
import torch

from diptych._core.errors import ConfigError
from diptych.training import Constant, pick_device
from diptych.training.distributed import World, to_device
from diptych.training.steps import read_bundle
from training.together import (
    everything,
    few_rows,
    first_gradients,
    metric_objective,
    run_together,
    train_and_be_killed,
    train_metric,
    train_whole,
)
from training.toy import train_toy


class Pair(NamedTuple):
    left: torch.Tensor
    right: torch.Tensor


def pretend(monkeypatch, *, cuda=0, mps=False):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)


def test_auto_takes_the_best_there_is(monkeypatch):
    pretend(monkeypatch)
    assert pick_device("auto") == torch.device("cpu")
    pretend(monkeypatch, mps=True)
    assert pick_device("auto") == torch.device("mps")
    pretend(monkeypatch, cuda=1, mps=True)
    assert pick_device("auto") == torch.device("cuda")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cuda", "sees no CUDA device; use cpu"),
        ("mps", "no Apple GPU"),
        ("gpu", "device is 'gpu'; it must be auto, cpu, cuda"),
        ("cuda:x", "must be auto"),
    ],
)
def test_absent_or_unknown(monkeypatch, name, message):
    pretend(monkeypatch)
    with pytest.raises(ConfigError, match=message):
        pick_device(name)


def test_a_number_beyond_the_last_device(monkeypatch):
    pretend(monkeypatch, cuda=2)
    assert pick_device("cuda:1") == torch.device("cuda:1")
    with pytest.raises(ConfigError, match="there are 2 CUDA devices"):
        pick_device("cuda:2")


def test_rows_of_any_shape_move():
    tensor = torch.ones(2)
    moved = to_device({"pair": Pair(tensor, tensor), "list": [tensor], "name": "x"}, torch.device("meta"))
    assert isinstance(moved["pair"], Pair)
    assert moved["pair"].right.device.type == moved["list"][0].device.type == "meta"
    assert moved["name"] == "x"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """What two processes ended with: `pair(name, rank)` gives tensors and record."""
    folder = tmp_path_factory.mktemp("pair")
    train_and_be_killed(folder / "interrupted", after=6)
    run_together(everything, 2, free_port(), folder)

    def read(name, rank=0):
        return read_bundle(folder / f"{name}-{rank}")

    read.folder = folder
    return read


def assert_close(found, expected):
    assert found.keys() == expected.keys()
    for name in expected:
        torch.testing.assert_close(found[name], expected[name], rtol=1e-10, atol=1e-12, msg=name)


def assert_equal(found, expected):
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], expected[name]) for name in expected)


def test_a_process_by_itself_is_a_world_of_one():
    world = World.current()
    assert world == World(0, 1)
    assert world.is_first
    assert not world.is_shared
    bundle = {"a": torch.ones(2)}, {"b": 1}
    assert world.hand_over(bundle) is bundle
    assert world.hand_over(None) is None
    assert world.agree(lambda: 3) == 3
    world.wait_for_all()


def test_the_gradients_of_two_processes_are_those_of_one_with_the_whole_batch(pair):
    expected = first_gradients(15)
    assert all(value.abs().max() > 1e-6 for value in expected.values())
    for rank in (0, 1):
        assert_close(pair("gradients", rank)[0], expected)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_the_weights_after_several_steps_are_those_of_one_process(pair, optimizer):
    changes = {"optimizer": "adam", "rate": Constant(0.01)} if optimizer == "adam" else {}
    expected, history = train_metric(**changes)
    start = metric_objective().module.state_dict()
    assert not any(torch.equal(start[name], value) for name, value in expected.module.state_dict().items())
    assert_close(pair(optimizer)[0], expected.module.state_dict())
    assert_equal(pair(optimizer, 1)[0], pair(optimizer, 0)[0])
    if optimizer == "sgd":
        for found, row in zip(pair("sgd")[1]["rows"], history.rows, strict=True):
            assert found == pytest.approx(row, rel=1e-6)


def test_a_network_of_several_members_trained_together_is_that_of_one_process(pair):
    """All that is drawn, dropout and blending included, is drawn for the whole batch before it is divided."""
    expected, start = train_whole(), train_whole(steps=1)
    assert not any(torch.allclose(start[name], value, atol=1e-4) for name, value in expected.items())
    assert_close(pair("whole")[0], expected)
    assert_equal(pair("whole", 1)[0], pair("whole", 0)[0])


def test_two_runs_end_with_the_same_bits(pair):
    assert_equal(pair("sgd-again")[0], pair("sgd")[0])


def test_the_first_process_decides_when_to_stop_and_which_step_was_best(pair):
    for rank in (0, 1):
        assert pair("stopped", rank)[1] == {"steps": 8, "best": 4}
    assert_equal(pair("stopped", 1)[0], pair("stopped", 0)[0])
    assert_close(pair("stopped")[0], train_metric(steps=4)[0].module.state_dict())


def test_all_resume_from_the_checkpoint_of_the_first(pair):
    assert [pair("resumed", rank)[1]["resumed_from"] for rank in (0, 1)] == [4, 4]
    assert_close(pair("resumed")[0], train_metric()[0].module.state_dict())
    assert_equal(pair("resumed", 1)[0], pair("resumed", 0)[0])
    assert not (pair.folder / "never").exists()


def test_a_stage_that_cannot_be_divided_comes_from_the_first_process_to_the_bit(pair):
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    net, history = train_toy(None)
    torch.set_num_threads(threads)
    for rank in (0, 1):
        tensors, record = pair("toy", rank)
        assert_equal(tensors, net.state_dict())
        assert [tuple(entry) for entry in record["validations"]] == history.validations
    assert (pair.folder / "toy-work-0" / "log.csv").exists()
    assert not (pair.folder / "toy-work-1").exists()


def test_only_the_first_process_has_a_cache_and_all_follow_it(pair):
    for attempt in range(2):
        (first, record), (second, other) = pair(f"cached-{attempt}", 0), pair(f"cached-{attempt}", 1)
        assert record == other
        assert record["from_cache"] is (attempt == 1)
        assert record["steps"] == 12
        assert_equal(first, second)
    assert_equal(pair("cached-0")[0], pair("cached-1")[0])
    assert len(list((pair.folder / "cache-0").rglob("*.safetensors"))) == 1
    assert not (pair.folder / "cache-1").exists()


@pytest.mark.slow
def test_those_who_leave_leave_no_threads_that_could_abort_them_at_the_end(pair):
    assert [(pair.folder / f"threads-{rank}").read_text() for rank in (0, 1)] == ["", ""]


@pytest.mark.slow
def test_a_process_without_rows_still_counts(tmp_path):
    run_together(few_rows, 3, free_port(), tmp_path)
    expected = first_gradients(4)
    trained = train_metric(batch=4)[0].module.state_dict()
    for rank in range(3):
        assert_close(read_bundle(tmp_path / f"few-{rank}")[0], expected)
        assert_close(read_bundle(tmp_path / f"few-trained-{rank}")[0], trained)
