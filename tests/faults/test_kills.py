"""Processes that are killed at any moment of their work: nothing acknowledged is lost, nothing is ever half there."""

import hashlib
import random
import shutil
import threading
import time

import pytest

from diptych._core.errors import BackendUnavailableError
from diptych.data import Dataset
from diptych.methods.model_folder import model_problems
from diptych.search import NewItem, Searcher
from diptych.search.backup import backup_index, verify_index
from faults.programs import Commands, left_of
from index.test_crash import check_survival

KILLS = 40
"""Of each of the five kinds."""
FITTING = ("training", "methods.deep")
INGESTING = ("ingest.run", "features.image", "features.text")
INDEXING = ("search.build", "search.backup")


def content(folder, besides=None):
    """The bytes of every file of a folder but one, as digests."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != besides)
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def kill_again_and_again(words, modules, kills, check, **variables):
    """Kill a command at a random moment of its work, as often as asked, and check what is there after each kill.

    Returns how many kills it took; runs that ended before count not.
    """
    draw, done = random.Random(0), 0
    with Commands(words, modules, **variables) as commands:
        first, started = commands.begin(), time.monotonic()
        status, said = first.finish()
        whole_s = time.monotonic() - started
        assert status == 0, said
        check()
        while done < kills:
            command = commands.begin()
            killed = command.kill_after(draw.uniform(0, whole_s))
            assert killed or command.process.returncode == 0, command.said
            check()
            done += killed
            assert not left_of(command), "a child of the killed command still runs"
        status, said = commands.begin().finish()  # goes on, and sweeps up what the last one left
        assert status == 0, said
        check()
    return done


@pytest.mark.faults(
    "SIGKILL of `diptych fit`, with a linear and with a deep method",
    "no model is lost or incomplete; the final weights are the same",
)
def test_kills_of_fit(world, tmp_path, noted):
    kills = 0
    for method, share in (("cca", KILLS // 4), ("dcca", KILLS - KILLS // 4)):
        model, cache, ends = tmp_path / method, tmp_path / f"cache-{method}", []

        def check(model=model, cache=cache, ends=ends):
            if model.exists():
                assert model_problems(model) == []
                ends.append(content(model, besides="model.json"))  # which says how long it took
                shutil.rmtree(model)
                shutil.rmtree(cache, ignore_errors=True)

        words = ["fit", world / "dataset", "--method", method, "--out", model]
        words += ["--set", "device=cpu", "--profile", "fast"] if method == "dcca" else []
        kills += kill_again_and_again(words, FITTING, share, check, DIPTYCH_CACHE=cache)
        assert all(end == ends[0] for end in ends)
        left = [path.name for path in tmp_path.iterdir() if path.name.startswith(f".{method}.")]
        assert not left, left
    noted(kills, "no model lost or incomplete, all weights identical bit for bit, no temporary files left")


@pytest.mark.faults(
    "SIGKILL of `diptych ingest`, with and without worker processes", "the final dataset is the same, byte for byte"
)
def test_kills_of_ingest(world, tmp_path, noted):
    kills, ends = 0, []
    for workers, share in ((0, KILLS // 2), (2, KILLS - KILLS // 2)):
        dataset, cache = tmp_path / str(workers) / "dataset", tmp_path / f"cache-{workers}"

        def check(dataset=dataset, cache=cache):
            if dataset.exists():
                assert not Dataset.open(dataset).changed_parts()
                ends.append(content(dataset))
                shutil.rmtree(dataset)
                shutil.rmtree(cache, ignore_errors=True)

        words = ["ingest", world / "raw" / "pairs.jsonl", "--out", dataset, "--workers", workers]
        words += ["--image-features", "colour-moments", "--text-features", "bow:30"]
        kills += kill_again_and_again(words, INGESTING, share, check, DIPTYCH_CACHE=cache)
        left = [path.name for path in dataset.parent.iterdir() if path.name.endswith("tmp")]
        assert not left, left
    assert all(end == ends[0] for end in ends)
    noted(kills, "no dataset lost or incomplete, all identical byte for byte, no process left")


@pytest.mark.faults("SIGKILL of a process that changes an index", "every acknowledged change is stored completely")
def test_kills_of_index_writes(tmp_path, noted):
    check_survival(tmp_path / "index", KILLS)
    noted(KILLS, "no change lost or incomplete")


class Writer:
    """Changes an index without end; `truth` is what was acknowledged."""

    def __init__(self, index):
        self.truth, self.refused = {}, 0
        self._index, self._stop = index, threading.Event()
        self._thread = threading.Thread(target=self._write)
        self._thread.start()

    def end(self):
        """Stop; returns what must be found in the index."""
        self._stop.set()
        self._thread.join()
        return self.truth

    def _write(self):
        number = 0
        with Searcher.open(self._index, writable=True) as searcher:
            while not self._stop.is_set():
                id, number = f"written-{number % 50}", number + 1
                try:
                    if number % 5 == 0:
                        searcher.remove([id])
                        self.truth[id] = None
                    else:
                        searcher.add([NewItem(id, "text", f"a red wall {number}", {"n": number})], replace=True)
                        self.truth[id] = number
                except BackendUnavailableError:
                    self.refused += 1
                    self.truth.pop(id, None)  # it may or may not have been done
                time.sleep(0.005)


def lost(index, truth):
    """The ids whose acknowledged change is not in an index, which must be intact."""
    assert verify_index(index) == []
    with Searcher.open(index) as searcher:
        found = {id: searcher.get(id) for id in truth}
    return [id for id, hit in found.items() if (None if hit is None else hit.metadata["n"]) != truth[id]]


@pytest.mark.faults(
    "SIGKILL of `diptych index --overwrite` while another process changes the index",
    "every acknowledged change is in the index, whether old or new",
)
def test_kills_of_online_rebuild(world, tmp_path, noted):
    index, acknowledged = shutil.copytree(world / "index", tmp_path / "index"), 0
    shutil.copytree(world / "raw", tmp_path / "raw")
    writer = Writer(index)

    def check():
        nonlocal writer, acknowledged
        truth = writer.end()
        acknowledged += len(truth)
        assert lost(index, truth) == []
        writer = Writer(index)

    try:
        words = ["index", world / "model", world / "dataset", "--out", index, "--overwrite"]
        kills = kill_again_and_again(words, INDEXING, KILLS, check)
    finally:
        writer.end()
    left = [path.name for path in tmp_path.iterdir() if path.name.endswith("tmp")]
    assert not left, left
    noted(kills, f"none of {acknowledged:,} acknowledged changes lost")


@pytest.mark.faults("SIGKILL of `diptych restore --overwrite`", "the index is either the old or the restored one")
def test_kills_of_restore(world, tmp_path, noted):
    index = shutil.copytree(world / "index", tmp_path / "index")
    shutil.copytree(world / "raw", tmp_path / "raw")
    backup = backup_index(index, tmp_path / "index.tar")
    outcomes = {"before": 0, "restored": 0}

    def mark():
        with Searcher.open(index, writable=True) as searcher:
            searcher.add([NewItem("mark", "text", "a red wall", {})])

    def check():
        assert verify_index(index) == []
        with Searcher.open(index) as searcher:
            items, marked = searcher.count(), searcher.get("mark") is not None
        assert items == 160 + marked
        outcomes["before" if marked else "restored"] += 1
        if not marked:
            mark()

    mark()
    kills = kill_again_and_again(["restore", backup, index, "--overwrite"], INDEXING, KILLS, check)
    noted(
        kills,
        f"{outcomes['before']} times the old index, {outcomes['restored']} times the restored one, always complete",
    )
