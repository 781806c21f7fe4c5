from typing import NamedTuple

import pytest
import torch

from diptych._core.errors import ConfigError
from diptych.training import pick_device
from diptych.training.device import to_device


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
