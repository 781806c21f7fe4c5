"""The command: columns shown, problems listed, kills survived."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from diptych.data import Dataset
from ingest.conftest import write_pairs

SMALL = ("--image-features", "colour-moments", "--image-features", "colour-histogram", "--text-features", "bow:12")


@pytest.fixture
def pairs(tmp_path):
    return write_pairs(tmp_path / "raw")


def test_columns_are_shown_and_a_dataset_is_made(diptych, pairs, tmp_path) -> None:
    ended = diptych("ingest", pairs, "--out", tmp_path / "d", *SMALL, "--workers", 0)
    assert ended.status == 0, ended.err
    lines = [" ".join(line.split()) for line in ended.err.splitlines()]
    assert any(line.startswith("image image 100% of its") for line in lines)
    assert any(line.startswith("captions text its name; several") for line in lines)
    assert any(line.startswith("images 30 found, in") for line in lines)
    assert "labels 30 (100% of the items) of 2 classes: even, odd" in lines
    assert "289-d" in ended.out and "18/6/6" in ended.out
    dataset = Dataset.open(tmp_path / "d")
    assert dataset.name == "d" and dataset.modalities["image"].dimension == 225 + 64


def test_problems_are_printed_and_written(diptych, pairs, tmp_path) -> None:
    for number in range(15):
        (pairs.parent / "images" / f"{number:03d}.png").write_text("no picture")
    ended = diptych("ingest", pairs, "--out", tmp_path / "d", *SMALL, "--workers", 0)
    assert ended.status == 0, ended.err
    assert "images/003.png: not an image: it holds text" in ended.err
    assert "… and 5 more" in ended.err
    assert "15 broken files, 0 skipped rows; all reasons:" in ended.err
    report = json.loads((tmp_path / "d" / "ingest-report.json").read_text())
    assert len(report["problems"]) == 15 and report["with_modality"] == {"image": 15, "text": 30}
    ended = diptych("ingest", pairs, "--out", tmp_path / "e", *SMALL, "--workers", 0, "--on-broken", "fatal")
    assert ended.status == 2
    assert "error: images/000.png: not an image: it holds text; mend it" in ended.err


def test_options_reach_the_work(diptych, pairs, tmp_path) -> None:
    words = ("--split-shares", "80,10,10", "--captions", "each", "--label-column", "-", "--name", "mine", "--seed", 3)
    ended = diptych("ingest", pairs, "--out", tmp_path / "d", *SMALL, "--workers", 0, *words)
    assert ended.status == 0, ended.err
    dataset = Dataset.open(tmp_path / "d")
    assert (dataset.name, len(dataset), dataset.classes) == ("mine", 60, ())
    assert len(dataset.split("train")) == 48
    ended = diptych("ingest", pairs, "--out", tmp_path / "e", "--pipeline", tmp_path / "d", *SMALL)
    assert ended.status == 2 and "give it or name features, not both" in ended.err
    ended = diptych("ingest", pairs, "--out", tmp_path / "e", "--pipeline", tmp_path / "d", "--workers", 0)
    assert ended.status == 0, ended.err
    assert Dataset.open(tmp_path / "e").pipeline_fingerprint == dataset.pipeline_fingerprint


def test_the_summary_comes_as_json(diptych, pairs, tmp_path) -> None:
    ended = diptych("ingest", pairs, "--out", tmp_path / "d", *SMALL, "--workers", 0, "--json")
    found = json.loads(ended.out)
    assert (found["items"], found["rows"], found["complete"]) == (30, 30, 30)
    assert found["report"]["problems"] == [] and found["reused"] == {"image": 0, "text": 0}
    assert [use["part"] for use in found["understood"]["columns"]] == ["image", "text", "label", "split"]


def test_other_columns_are_kept_unless_they_are_dropped(diptych, pairs, tmp_path) -> None:
    rows = [
        json.loads(line) | {"price": n, "tags": ["a", "b"], "id": n}
        for n, line in enumerate(pairs.read_text().splitlines())
    ]
    pairs.write_text("\n".join(map(json.dumps, rows)))
    ended = diptych("ingest", pairs, "--out", tmp_path / "d", *SMALL, "--workers", 0, "--drop-columns", "tags")
    assert ended.status == 0, ended.err
    assert Dataset.open(tmp_path / "d").metadata_columns == ["media", "text", "price"]
    assert "metadata: price" in ended.out
    ended = diptych("ingest", pairs, "--out", tmp_path / "e", *SMALL, "--workers", 0, "--drop-columns", "all")
    assert Dataset.open(tmp_path / "e").metadata_columns == ["media", "text"]


def test_a_missing_package_is_told_before_anything_is_read(diptych, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("diptych.features.registry.find_spec", lambda name: None)
    ended = diptych("ingest", tmp_path / "gone.csv", "--out", tmp_path / "d", "--text-features", "sentence")
    assert ended.status == 2
    assert "needs the optional package" in ended.err and "gone.csv" not in ended.err


def test_no_room_and_no_right_to_write_are_told_first(diptych, pairs, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda path: shutil._ntuple_diskusage(10, 9, 1))
    ended = diptych("ingest", pairs, "--out", tmp_path / "d", *SMALL, "--workers", 0)
    assert ended.status == 2 and "needs about 0.1 GB for 30 items, and 0.0 GB are free" in ended.err
    (tmp_path / "file").write_text("no folder")
    ended = diptych("ingest", pairs, "--out", tmp_path / "file" / "d", *SMALL, "--workers", 0)
    assert ended.status == 2 and "cannot be written to; choose another folder" in ended.err


def start(pairs, out) -> subprocess.Popen:
    command = [sys.executable, "-m", "diptych.cli", "ingest", str(pairs), "--out", str(out), "--name", "x", *SMALL]
    return subprocess.Popen(
        [*command, "--workers", "1"],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def children(pid) -> list[int]:
    tasks = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(word) for word in tasks.read_text().split()] if tasks.exists() else []


@pytest.mark.slow
def test_a_killed_ingest_goes_on_and_its_result_does_not_show_it(tmp_path) -> None:
    pairs = write_pairs(tmp_path / "raw", 300)
    undisturbed = start(pairs, tmp_path / "undisturbed")
    process = start(pairs, tmp_path / "killed")
    shards = tmp_path / ".killed.ingest" / "shards"
    end = time.monotonic() + 120
    while not (shards.is_dir() and any(shards.glob("image-*.npz"))):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.005)
    workers = children(process.pid)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (tmp_path / "killed").exists()
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < end, "a worker outlived its parent"
        time.sleep(0.1)

    again = start(pairs, tmp_path / "killed")
    _, err = again.communicate(timeout=120)
    assert again.returncode == 0, err
    assert "continued from an earlier run" in err
    assert undisturbed.wait(120) == 0
    undisturbed.communicate()
    files = {p.relative_to(tmp_path / "killed") for p in (tmp_path / "killed").rglob("*") if p.is_file()}
    assert len(files) == 7
    for name in files:
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "undisturbed" / name).read_bytes(), name
    assert sorted(path.name for path in tmp_path.iterdir()) == ["killed", "raw", "undisturbed"]


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["workers start", "workers work"])
def test_an_interrupt_ends_with_one_line_and_the_way_on(tmp_path, moment) -> None:
    """A terminal interrupts every process of a command, also workers that still import their modules."""
    pairs = write_pairs(tmp_path / "raw", 300)
    process = start(pairs, tmp_path / "made")
    work = tmp_path / ".made.ingest"
    sign = work / "pipeline" if moment == "workers start" else work / "shards" / "image-000000.npz"
    end = time.monotonic() + 120
    while not sign.exists() or (moment == "workers start" and not children(process.pid)):
        assert process.poll() is None and time.monotonic() < end, process.communicate()
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err and "KeyboardInterrupt" not in err
    assert err.strip().splitlines()[-1] == "stopped; run the same command to continue."
    again = start(pairs, tmp_path / "made")
    _, err = again.communicate(timeout=120)
    assert again.returncode == 0 and "continued from an earlier run" in err


def test_a_cluster_that_cannot_be_used_is_told_before_any_work(diptych, tmp_path, monkeypatch):
    monkeypatch.setattr("diptych._core.cluster._CONNECT_S", 0.5)
    (tmp_path / "table.csv").write_text("text,label\na boat,sea\n")
    words = "ingest", tmp_path / "table.csv", "--out", tmp_path / "made", "--cluster"
    ended = diptych(*words, "tcp://127.0.0.1:9")
    assert ended.status == 2 and ended.err.startswith("error: no Dask scheduler answers at tcp://127.0.0.1:9; ")
    assert ended.err.count("\n") == 1
    ended = diptych(*words, "tcp://127.0.0.1:9", "--workers", "2")
    assert "give them or --cluster, not both" in ended.err
    assert not (tmp_path / "made").exists()
