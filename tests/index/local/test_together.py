"""Several threads and processes at one index: all see what was acknowledged, and states that existed."""

import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from diptych._core.errors import BackendUnavailableError, ConfigError
from diptych.index import EmbedderId, Identity, create_index, open_index
from diptych.index.local.database import open_database
from diptych.index.local.view import KeptMetadata
from index.churn import DIMENSION, apply

ONE = np.eye(4, dtype=np.float32)


@pytest.fixture
def folder(tmp_path):
    create_index(tmp_path / "index", Identity(EmbedderId("m"), 4), structure="flat", fold_at=20).close()
    return tmp_path / "index"


def test_another_opening_sees_a_change_at_once(folder):
    with open_index(folder) as writer, open_index(folder, read_only=True) as reader, open_index(folder) as other:
        for round_ in range(30):
            writer.add([f"a{round_}"], ONE[:1], modality="x")
            assert f"a{round_}" in reader.search(ONE[0], 100)[0].ids
            other.delete([f"a{round_}"])
            for index in (writer, reader):
                assert f"a{round_}" not in index.search(ONE[0], 100)[0].ids


def test_metadata_that_was_read_before_is_that_of_now(folder):
    with open_index(folder) as writer, open_index(folder, read_only=True) as reader:
        writer.add(["a", "b"], ONE[:2], modality="x", metadata=[{"turn": 0}, {"stays": True}])
        for turn in range(1, 5):
            for index in (writer, reader, reader):
                (found,) = index.search(ONE[0], 2, with_metadata=True)
                assert found.metadata == ({"turn": turn - 1}, {"stays": True})
            writer.update(["a"], ONE[:1], modality="x", metadata=[{"turn": turn}])


def test_as_much_metadata_is_kept_as_fits():
    kept = KeptMetadata()
    kept.keep({1: {"a": 1}, 2: {"a": 2}}, 5_000_000)
    assert kept.of([1, 2, 3]) == {1: {"a": 1}, 2: {"a": 2}}
    kept.keep({3: {"a": 3}}, 5_000_000)
    assert kept.of([1, 2, 3]) == {3: {"a": 3}}
    kept.keep({4: {"a": 4}}, 50_000_000)
    assert kept.of([3, 4]) == {}


def test_another_process_sees_a_change_at_once(folder):
    """The other process answers each line by the ids that it finds."""
    code = (
        "import sys; from diptych.index import open_index\n"
        "index = open_index(sys.argv[1], read_only=True)\n"
        "for line in sys.stdin: print(*index.search([1.0, 0, 0, 0], 50)[0].ids, flush=True)\n"
    )
    command = [sys.executable, "-c", code, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:

        def asked():
            other.stdin.write("now\n")
            other.stdin.flush()
            return other.stdout.readline().split()

        with open_index(folder) as index:
            for round_ in range(40):
                index.update([f"i{round_ % 7}", f"j{round_:02d}"], ONE[:2], modality="x")
                index.delete([f"j{round_ - 1:02d}"])
                assert asked() == [*sorted(f"i{n}" for n in range(min(7, round_ + 1))), f"j{round_:02d}"]
        other.stdin.close()
        other.wait()


def test_threads_read_while_one_writes(folder):
    """A writer replaces a group of items as a whole; a reader must never see a part of a group, or of two."""
    stop, wrong = threading.Event(), []

    def read(index):
        try:
            while not stop.is_set():
                for options in ({}, {"where": "group >= 0"}):
                    (found,) = index.search(ONE[0], 50, with_metadata=True, **options)
                    groups = {metadata["group"] for metadata in found.metadata}
                    if len(found) != 8 or len(groups) != 1:
                        wrong.append((options, found))
        except Exception as error:
            wrong.append(error)

    with open_index(folder) as index, open_index(folder, read_only=True) as second:
        ids = [f"i{n}" for n in range(8)]
        index.add(ids, np.repeat(ONE[:1], 8, axis=0), modality="x", metadata=[{"group": 0}] * 8)
        threads = [threading.Thread(target=read, args=(one,)) for one in (index, index, second)]
        for thread in threads:
            thread.start()
        for group in range(1, 40):
            vectors = np.repeat(ONE[:1] + group * ONE[1:2], 8, axis=0)
            index.update(ids, vectors, modality="x", metadata=[{"group": group}] * 8)
        stop.set()
        for thread in threads:
            thread.join()
    assert not wrong, wrong[0]


def test_writers_take_turns(tmp_path):
    create_index(tmp_path / "index", Identity(EmbedderId("m"), DIMENSION), fold_at=10).close()
    failed = []

    def churn(seed):
        try:
            with open_index(tmp_path / "index") as index:
                for number in range(25):
                    apply(index, seed, number)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=churn, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed[0]
    with open_index(tmp_path / "index") as index:
        assert set(index.search(np.ones(DIMENSION), 500)[0].ids) == set(index.list_ids(limit=500))


def test_a_writer_that_waits_in_vain_is_told(folder):
    blocker = open_database(Path(folder) / "index.sqlite", wait_s=1)
    blocker.execute("BEGIN IMMEDIATE")
    with open_index(folder, wait_s=0.05) as index:
        assert index.search(ONE[0], 3)[0].ids == ()
        with pytest.raises(BackendUnavailableError, match=r"another process .* \(more than 0.05 s\); try again later"):
            index.add(["a"], ONE[:1], modality="x")
        blocker.execute("ROLLBACK")
        blocker.close()
        index.add(["a"], ONE[:1], modality="x")


def test_a_reader_does_not_write(folder):
    with open_index(folder, read_only=True) as index:
        for call in (lambda: index.add(["a"], ONE[:1], modality="x"), lambda: index.delete(["a"])):
            with pytest.raises(ConfigError, match="open for reading only"):
                call()
