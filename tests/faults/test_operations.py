"""Work that is disturbed: an index is replaced and backed up under a server, a worker of a cluster dies."""

import shutil
import signal
import tarfile
import threading
import time

import httpx
import pytest

from cluster import running_cluster
from diptych.search import Searcher
from diptych.search.backup import restore_backup, verify_index
from faults.programs import Command, run_command, serving
from faults.test_kills import content
from ingest.test_rsicd import FOLDER as RSICD
from search.gallery import write_raw

KEY = {"Authorization": "Bearer w"}


class Writer:
    """A client that changes items over HTTP without end; `truth` is what was acknowledged."""

    def __init__(self, address):
        self.truth, self.statuses = {}, set()
        self._stop, self._thread = threading.Event(), threading.Thread(target=self._write, args=(address,))
        self._thread.start()

    def end(self):
        """Stop; returns what must be found."""
        self._stop.set()
        self._thread.join()
        return self.truth

    def _write(self, address):
        number = 0
        with httpx.Client(base_url=address, headers=KEY, timeout=60) as client:
            while not self._stop.is_set():
                number += 1
                id = f"written-{number % 200}"
                if number % 7 == 0:
                    answer = client.delete(f"/v1/items/{id}")
                    right, value = (200, 404), None
                else:
                    answer = client.put(f"/v1/items/{id}", json={"text": "a red wall", "metadata": {"n": number}})
                    right, value = (200,), number
                self.statuses.add(answer.status_code)
                if answer.status_code in right:
                    self.truth[id] = value
                else:
                    self.truth.pop(id, None)


def lost(index, truth):
    """The ids whose acknowledged change is not there."""
    with Searcher.open(index) as searcher:
        found = {id: searcher.get(id) for id in truth}
    return [id for id, hit in found.items() if (None if hit is None else hit.metadata["n"]) != truth[id]]


@pytest.mark.faults(
    "`diptych index --overwrite` of an index that is being served and written to, 3 times, and a restart",
    "no acknowledged write is lost, no search fails",
)
def test_replaced_index(world, tmp_path, noted):
    index = shutil.copytree(world / "index", tmp_path / "index")
    shutil.copytree(world / "raw", tmp_path / "raw")
    words = ["index", world / "model", world / "dataset", "--out", index, "--overwrite"]
    with serving(index, tmp_path / "log", DIPTYCH_WRITE_KEY="w") as server:
        writer, failed = Writer(server.address), 0
        for _ in range(3):
            status, said = run_command(*words)
            assert status == 0, said
            failed += httpx.get(f"{server.address}/v1/search", params={"q": "red"}).status_code != 200
        truth = writer.end()
        server.stop()
    gone, problems = lost(index, truth), verify_index(index)
    noted(3, f"none of {len(truth)} acknowledged items lost")
    assert not gone and not problems and not failed and writer.statuses <= {200, 404, 503}, (gone, writer.statuses)


@pytest.mark.faults("`POST /v1/snapshots` under continuous writes, each restored", "every restored index is complete")
def test_snapshots(world, tmp_path, noted):
    index, folder = shutil.copytree(world / "index", tmp_path / "index"), tmp_path / "snapshots"
    kept = []
    with serving(index, tmp_path / "log", "--snapshots", folder, DIPTYCH_WRITE_KEY="w") as server:
        writer = Writer(server.address)
        for _ in range(5):
            before = dict(writer.truth)
            answer = httpx.post(f"{server.address}/v1/snapshots", headers=KEY, timeout=120)
            assert answer.status_code == 201, answer.text
            kept.append((answer.json()["name"], before))
        writer.end()
    for number, (name, before) in enumerate(kept):
        restore_backup(folder / name, tmp_path / f"restored-{number}")
        assert verify_index(tmp_path / f"restored-{number}") == []
        with Searcher.open(tmp_path / f"restored-{number}") as searcher:
            found = {id: searcher.get(id) for id in before if before[id] is not None}
        older = [id for id, hit in found.items() if hit is not None and hit.metadata["n"] < before[id]]
        assert not older, "an acknowledged change is missing"
        with tarfile.open(folder / name) as archive:
            assert archive.getnames()
    noted(len(kept), f"all complete, {sum(len(before) for _, before in kept)} acknowledged changes checked")


@pytest.mark.faults(
    "one of two Dask workers killed during `diptych ingest --cluster`", "the same bytes as on one machine"
)
def test_killed_worker(tmp_path, noted):
    pairs = write_raw(tmp_path / "raw", per_colour=250)
    features = [
        "--image-features",
        "colour-moments",
        "--image-features",
        "gist",
        "--text-features",
        "bow:200",
        "--no-reuse",
    ]
    for name in ("here", "there", "cluster"):
        (tmp_path / name).mkdir()
    status, said = run_command("ingest", pairs, "--out", tmp_path / "here" / "made", *features)
    assert status == 0, said
    with running_cluster(tmp_path / "cluster") as cluster:
        words = ["ingest", pairs, "--out", tmp_path / "there" / "made", *features, "--cluster", cluster.address]
        command = Command(words)
        command.begin()
        shards = tmp_path / "there" / ".made.ingest" / "shards"
        while not any(shards.glob("image-*.npz")) and command.process.poll() is None:
            time.sleep(0.01)
        killed_at_work = command.process.poll() is None
        cluster.workers[0].send_signal(signal.SIGKILL)
        status, said = command.finish()
    assert status == 0, said
    same = content(tmp_path / "here" / "made") == content(tmp_path / "there" / "made")
    noted(1, f"{'the same' if same else 'other'} bytes" + ("" if killed_at_work else ", but the work was already done"))
    assert same and killed_at_work


@pytest.mark.real_data
@pytest.mark.skipif(not (RSICD / "images.tar").exists(), reason="the data of RSICD are not beside the checkout")
@pytest.mark.faults(
    "the first 2,000 images and captions of RSICD by `diptych ingest --cluster` with two Dask workers",
    "the same bytes as on one machine",
)
def test_rsicd_on_two_workers(tmp_path, noted):
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text("\n".join((RSICD / "pairs.jsonl").read_text().splitlines()[:2_000]))
    words = ["ingest", pairs, "--images", RSICD / "images.tar", "--no-reuse"]
    words += ["--image-features", "colour-moments", "--text-features", "bow:1000"]
    seconds = []
    for name in ("here", "there", "cluster"):
        (tmp_path / name).mkdir()
    with running_cluster(tmp_path / "cluster") as cluster:
        for place, more in (("here", []), ("there", ["--cluster", cluster.address])):
            started = time.monotonic()
            status, said = run_command(*words, "--out", tmp_path / place / "made", *more)
            seconds.append(time.monotonic() - started)
            assert status == 0, said
    made = [content(tmp_path / place / "made") for place in ("here", "there")]
    same = "the same" if made[0] == made[1] else "other"
    noted(
        1, f"{same} bytes in {len(made[0])} files; {seconds[0]:.0f} s on one machine, {seconds[1]:.0f} s on two workers"
    )
    assert made[0] == made[1] and len(made[0]) > 4
