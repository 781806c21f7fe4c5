"""A disk that fills up in the middle: one sentence, nothing lost, and all goes on once there is room."""

import os
import shutil
import subprocess
from contextlib import contextmanager

import httpx
import pytest

from diptych.search import NewItem, Searcher
from diptych.search.backup import backup_index, verify_index
from faults.programs import run_command, serving
from search.gallery import png

ROOM_KB = (0, 8, 60, 250, 700)
"""That is left when a command begins."""


@contextmanager
def small_disk(place, megabytes=24):
    """A disk of its own; skips where none can be mounted."""
    place.mkdir()
    if shutil.which("mount") is None or os.geteuid() != 0:
        pytest.skip("only root can mount a small disk here")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@contextmanager
def filled(disk, room_kb):
    """The disk with so much room left."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 65_536)
        except OSError:
            pass
    free = room_kb * 1_024
    os.truncate(ballast, max(0, ballast.stat().st_size - free))
    try:
        yield
    finally:
        ballast.unlink()


@pytest.mark.faults(
    "eight commands on a disk with 0 to 700 KB free",
    "success, or one sentence without a traceback; existing files stay intact",
)
def test_commands(world, tmp_path, noted):
    with small_disk(tmp_path / "disk") as disk:
        shutil.copytree(world / "index", disk / "index")
        shutil.copytree(world / "model", disk / "model")
        shutil.copytree(world / "raw", disk / "raw")
        backup = backup_index(disk / "index", tmp_path / "index.tar")
        (tmp_path / "new.png").write_bytes(png("red", "new"))
        wrong, ran = [], 0
        for room_kb in ROOM_KB:
            out = disk / f"out-{room_kb}"
            raw, index = disk / "raw" / "pairs.jsonl", disk / "index"
            features = ["--image-features", "colour-moments", "--text-features", "bow:30", "--workers", "0"]
            commands = {
                "ingest": ["ingest", raw, "--out", f"{out}-dataset", *features],
                "fit": ["fit", world / "dataset", "--method", "cca", "--out", disk / "model", "--overwrite"],
                "embed": ["embed", world / "model", world / "dataset", "--modality", "image", "--out", f"{out}.npy"],
                "index": ["index", world / "model", world / "dataset", "--out", index, "--overwrite"],
                "add": ["add", index, tmp_path / "new.png", "--replace"],
                "remove": ["remove", index, "text:red-01"],
                "backup": ["backup", index, f"{out}.tar"],
                "restore": ["restore", backup, index, "--overwrite"],
            }
            for name, words in commands.items():
                with filled(disk, room_kb):
                    status, said = run_command(*words, DIPTYCH_CACHE=disk / "cache", TMPDIR=tmp_path)
                ran += 1
                if status not in (0, 2) or "Traceback" in said or (status and said.count("\n") > 6):
                    wrong.append((name, room_kb, status, said[-600:]))
                problems = verify_index(index)
                if problems:
                    wrong.append((name, room_kb, problems))
            for left in disk.glob("out-*"):
                shutil.rmtree(left) if left.is_dir() else left.unlink()
        left = sorted(path.name for path in disk.iterdir() if path.name.startswith(".") and path.name.endswith("tmp"))
    noted(ran, "no traceback, nothing lost, no temporary files left")
    assert not wrong and not left, (wrong, left)


@pytest.mark.faults(
    "writes to a server whose disk is full", "503, every acknowledged write is kept, searches still work"
)
def test_server(world, tmp_path, noted):
    key, acknowledged, statuses = {"Authorization": "Bearer w"}, {}, []
    with small_disk(tmp_path / "disk", 16) as disk:
        index = shutil.copytree(world / "index", disk / "index")
        with (
            serving(index, tmp_path / "log", "--audit-log", disk / "audit", DIPTYCH_WRITE_KEY="w") as server,
            httpx.Client(base_url=server.address, headers=key, timeout=60) as client,
        ):
            for room_kb in (0, 20, 200):
                with filled(disk, room_kb):
                    for number in range(25):
                        id = f"new-{room_kb}-{number}"
                        body = {"text": "a red wall " + "x" * 4_000, "metadata": {"n": number}}
                        statuses.append(client.put(f"/v1/items/{id}", json=body).status_code)
                        if statuses[-1] == 200:
                            acknowledged[id] = number
                        assert client.get("/v1/search", params={"q": "red"}).status_code == 200
            assert client.put("/v1/items/later", json={"text": "a red wall"}).status_code == 200, "there is room again"
        with Searcher.open(index) as searcher:
            lost = [id for id, number in acknowledged.items() if (searcher.get(id) or NewItem).metadata["n"] != number]
        problems = verify_index(index)
    noted(len(statuses), f"{statuses.count(200)} kept, {statuses.count(503)} refused with 503, none lost")
    assert not lost and not problems and set(statuses) == {200, 503}, (lost, problems, set(statuses))
