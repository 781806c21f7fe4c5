import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from experiments.fakes import fits

TESTS = Path(__file__).parents[1]


@pytest.fixture
def start(tmp_path, counts_dataset):
    """Start a comparison of fakes in a process of its own."""

    def begin(**environment):
        command = ["compare", str(counts_dataset.path), "--methods", "steady,seeded,waiting", "--seeds", "0,1"]
        return subprocess.Popen(
            [sys.executable, str(TESTS / "cli" / "fake_program.py"), *command, "--out", str(tmp_path / "report")],
            env=os.environ
            | {
                "PYTHONPATH": str(TESTS),
                "FAKE_LOG": str(tmp_path / "log"),
                "FAKE_STARTED": str(tmp_path / "started"),
            }
            | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return begin


def wait_for(path, process, seconds=60):
    end = time.monotonic() + seconds
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "the process never came so far"
        time.sleep(0.02)


def test_a_killed_comparison_goes_on_where_it_stopped(start, tmp_path):
    report = tmp_path / "report"
    process = start()
    wait_for(tmp_path / "started", process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert fits(tmp_path / "log") == ["steady", "seeded0", "seeded1", "waiting"]

    partial = json.loads((report / "results.json").read_text())
    assert list(partial["methods"]) == ["steady", "seeded"]
    assert partial["pending"] == ["waiting"]
    assert "Partial report" in (report / "report.html").read_text()
    assert not (report / "runs" / "waiting" / "0").exists()

    process = start(FAKE_GO="1")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert err.count("kept from before") == 3
    assert fits(tmp_path / "log") == ["steady", "seeded0", "seeded1", "waiting", "waiting"]
    complete = json.loads((report / "results.json").read_text())
    assert list(complete["methods"]) == ["steady", "seeded", "waiting"]
    assert complete["methods"]["seeded"] == partial["methods"]["seeded"]
    assert complete["pending"] == []
    assert "waiting" in out


def test_an_interrupt_is_polite(start, tmp_path):
    process = start()
    wait_for(tmp_path / "started", process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "run the same command to continue" in err
    assert "Traceback" not in err
