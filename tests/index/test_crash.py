"""A process that changes an index is killed again and again: what was acknowledged is there, nothing is half done."""

import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from diptych._core.seeding import generator
from diptych.index import EmbedderId, Identity, create_index, open_index
from index.brute_force import BruteForce, check_found
from index.churn import DIMENSION, apply_to_model
from index.earlier_format import downgrade

SEED = 11
CHURN = Path(__file__).parent / "churn.py"


def run_and_kill(folder, first, delay_s):
    """Let a process change the index for a while; returns the last change it started and how many it finished."""
    command = [sys.executable, str(CHURN), str(folder), str(SEED), str(first)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        heard = process.stdout.readline() + process.stdout.readline()
        time.sleep(delay_s)
        process.send_signal(signal.SIGKILL)
        heard += process.stdout.read()
    lines = [line.split() for line in heard.splitlines()]
    started = [int(line[1]) for line in lines if line[0] == "start"]
    assert started, "the process died before it began"
    return started[-1], sum(line[0] == "done" for line in lines)


def content(index):
    items = index.get(index.list_ids(limit=1000))
    return {item.id: (item.modality, item.vector.tolist(), item.metadata) for item in items}


def of_model(model):
    return {id: (name, vector.tolist(), metadata) for id, (name, vector, metadata) in model.items.items()}


def check_survival(folder, rounds):
    identity = Identity(EmbedderId("m"), DIMENSION)
    create_index(folder, identity, structure="hnsw", fold_at=6, exact_below=10).close()
    rng, model, next_number = generator(SEED, "crash"), BruteForce(), 0
    for _ in range(rounds):
        last, finished = run_and_kill(folder, next_number, float(rng.random()) * 0.2)
        for number in range(next_number, next_number + finished):
            apply_to_model(model, SEED, number)
        with open_index(folder) as index:
            assert index.verify() == []
            found = content(index)
            if found != of_model(model):  # the change that was on its way when the process died is there as a whole
                assert last == next_number + finished, "an acknowledged change is lost, or a later one is there"
                apply_to_model(model, SEED, last)
                assert found == of_model(model), f"change {last} is half done"
            for query in rng.normal(size=(3, DIMENSION)).astype("float32"):
                check_found(index.search(query, 50, with_metadata=True)[0], model, query, 50)
                check_found(index.search(query, 20, modality="image")[0], model, query, 20, modality="image")
        next_number = last + 1


def test_five_kills_lose_nothing(tmp_path):
    check_survival(tmp_path / "index", 5)


UPGRADE = """
import sys
from pathlib import Path
from diptych.index import open_index
print("now", flush=True)
open_index(Path(sys.argv[1])).close()
"""


def test_a_kill_during_an_upgrade_leaves_the_former_format_or_the_new_one(tmp_path):
    folder, identity = tmp_path / "index", Identity(EmbedderId("m"), 8)
    ids = [f"i{n}" for n in range(4_000)]
    with create_index(folder, identity, words=True) as index:
        words = [f"word{n % 50} common" for n in range(4_000)]
        index.add(ids, generator(SEED, "upgrade").normal(size=(4_000, 8)), modality="image", words=words)
        expected = index.search_words(["word7"], 100)[0].ids
    downgrade(folder)
    formats = []
    for delay_s in (0.0, 0.02, 0.05, 0.1, 0.2, 0.4):
        with subprocess.Popen([sys.executable, "-c", UPGRADE, str(folder)], stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            time.sleep(delay_s)
            process.send_signal(signal.SIGKILL)
        with open_index(folder, read_only=True, verify=True) as index:
            assert index.count() == 4_000 and index.search_words(["word7"], 100)[0].ids == expected
        with closing(sqlite3.connect(folder / "index.sqlite")) as connection:
            formats += connection.execute("SELECT value FROM head WHERE key = 'format'").fetchone()
    assert formats == sorted(formats) and set(formats) <= {"1", "2"}
    with open_index(folder) as index:
        assert index.verify() == []


@pytest.mark.slow
def test_a_hundred_kills_lose_nothing(tmp_path):
    check_survival(tmp_path / "index", 100)
