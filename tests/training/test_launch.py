import os
import time

import pytest
import torch

from diptych._core.errors import ConfigError, FitError
from diptych.training.launch import check_devices, launch

WORKER = """
import os, signal, sys, torch
from diptych._core.errors import FitError
from diptych.training.distributed import all_threads
from diptych.training.launch import worker
with worker() as world:
    {body}
    world.agree(lambda: 0)
    world.wait_for_all()
"""


def run(body: str, count: int = 2) -> None:
    launch(["-c", WORKER.format(body=body.replace("\n", "\n    "))], count)


@pytest.mark.parametrize(
    ("count", "device", "cuda", "sentence"),
    [
        (0, "auto", 0, "devices is 0; it must be 1 or more"),
        (-2, "cpu", 0, "devices is -2; it must be 1 or more"),
        (2, "cuda", 0, "devices is 2 but torch sees 0 CUDA devices"),
        (3, "cuda", 2, "devices is 3 but torch sees 2 CUDA devices"),
        (3, "auto", 2, "devices is 3 but torch sees 2 CUDA devices"),
        (2, "cuda:1", 2, "devices is 2 and device is 'cuda:1'"),
        (2, "mps", 0, "devices is 2 and device is 'mps'"),
        (1, "cuda:1", 2, None),
        (2, "cuda", 2, None),
        (2, "auto", 2, None),
        (2, "auto", 0, None),
        (9, "cpu", 2, None),
    ],
)
def test_a_machine_serves_as_many_processes_as_it_has_devices(monkeypatch, count, device, cuda, sentence):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    if sentence is None:
        check_devices(count, device)
    else:
        with pytest.raises(ConfigError, match=sentence):
            check_devices(count, device)


@pytest.mark.slow
def test_workers_share_the_threads_and_the_first_may_use_all(tmp_path, monkeypatch, capfd):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 5)
    run(f"""
own = torch.get_num_threads()
with all_threads():
    alone = torch.get_num_threads()
open({str(tmp_path)!r} + f"/{{world.rank}}", "w").write(f"{{world.rank}} {{world.size}} {{own}} {{alone}}")
""")
    assert [(tmp_path / str(rank)).read_text() for rank in (0, 1)] == ["0 2 2 5", "1 2 2 5"]
    assert "OMP_NUM_THREADS" not in os.environ
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "error", "sentence"),
    [
        ("if world.rank == 1: raise FitError('too few rows: give more.')", FitError, r"^too few rows: give more\.$"),
        ("if world.rank == 0: raise FitError('broken')", FitError, "^broken$"),
        ("raise FitError('all of them')", FitError, "^all of them$"),
        ("if world.rank == 1: raise KeyError('surprise')", RuntimeError, "KeyError: 'surprise'"),
        ("if world.rank == 0: os.kill(os.getpid(), signal.SIGKILL)", FitError, r"process 0 was killed \(SIGKILL\)"),
    ],
)
def test_a_worker_that_fails_takes_the_others_down_and_is_heard_once(capfd, body, error, sentence):
    started = time.monotonic()
    with pytest.raises(error, match=sentence):
        run(body)
    assert time.monotonic() - started < 60
    assert capfd.readouterr() == ("", "")
