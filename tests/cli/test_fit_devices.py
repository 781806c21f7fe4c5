import json
import os
import signal
import subprocess
import sys
import time

import pytest

from diptych.methods.model_folder import model_fingerprint


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--method", "base", "--devices", 0), "devices is 0; it must be 1 or more."),
        (("--method", "base", "--devices", -1), "devices is -1; it must be 1 or more."),
        (
            ("--method", "cca", "--devices", 2),
            "'cca' does not train by steps; leave --devices out, or name a method that does, such as --method cdmlmr.",
        ),
        (("--method", "base", "--devices", 2, "--set", "device=mps"), "several processes need device=cuda or cpu."),
    ],
)
def test_impossible_numbers_are_refused_before_the_work(diptych, tmp_path, dense_dataset, options, sentence):
    ended = diptych("fit", dense_dataset.path, *options, "--out", tmp_path / "model")
    assert ended.status == 2
    assert ended.err.startswith("error: ")
    assert ended.err.strip().endswith(sentence)
    assert not (tmp_path / "model").exists()


def test_a_worker_of_another_number_of_processes_is_refused(diptych, tmp_path, dense_dataset, monkeypatch):
    monkeypatch.setenv("LOCAL_RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "3")
    options = "--method", "base", "--devices", 2, "--set", "device=cpu", "--out", tmp_path / "model"
    ended = diptych("fit", dense_dataset.path, *options)
    assert ended.status == 2
    assert "torchrun started 3 processes" in ended.err


@pytest.fixture
def start(tmp_path, dense_dataset):
    """Start a fit with two processes."""

    def begin(name, *options):
        words = [dense_dataset.path, "--out", tmp_path / name, "--devices", 2, "--profile", "fast"]
        return subprocess.Popen(
            [sys.executable, "-m", "diptych.cli", "fit", *map(str, (*words, *options))],
            env=os.environ | {"DIPTYCH_CACHE": str(tmp_path / f"cache-{name}"), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return begin


@pytest.mark.slow
def test_two_processes_fit_and_give_the_same_bits_twice(start, tmp_path):
    for name in ("one", "two"):
        process = start(name, "--method", "cdmlmr", "--set", "device=cpu")
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        assert out == ""
        assert err.count("cdmlmr fitted in") == 1
    assert model_fingerprint(tmp_path / "one") == model_fingerprint(tmp_path / "two")
    record = json.loads((tmp_path / "one" / "model.json").read_text())["state"]["record_"]
    assert record["devices"] == 2


@pytest.mark.slow
def test_an_error_in_a_worker_is_one_line(start, tmp_path):
    process = start("model", "--method", "corr-ae", "--set", "device=cpu", "--modalities", "image")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 2
    assert len(err.strip().splitlines()) == 1
    assert err.startswith("error: ")
    assert not list(tmp_path.glob("*model"))


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda how: how.name)
def test_however_it_is_ended_all_processes_end_and_nothing_is_half_written(start, tmp_path, how):
    process = start("model", "--method", "corr-ae", "--set", "device=cpu")
    end = time.monotonic() + 120
    while not list((tmp_path / "cache-model").glob("unfinished/*/log.csv")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)
    process.send_signal(how)
    _, err = process.communicate(timeout=60)  # the pipes close only when the workers are gone
    assert process.returncode not in (0, None)
    assert "Traceback" not in err
    assert not list(tmp_path.glob("*model/model.json"))
