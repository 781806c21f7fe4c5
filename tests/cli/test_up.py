"""`diptych up` as people start it: a process of its own, no option but those that end it."""

import json
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("uvicorn")
from diptych.search import QueryPart, Searcher
from diptych.up import HttpClient
from up.shop import BROKEN, MISSING, drawing, part_number, write_folder, write_shop

SECONDS = 600
"""Long enough for a machine that has much else to do."""


@pytest.fixture(autouse=True)
def own_place(tmp_path, monkeypatch):
    monkeypatch.setenv("DIPTYCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.chdir(tmp_path)


def started(*words):
    command = [sys.executable, "-m", "diptych.cli", "up", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(*words):
    process = started(*words)
    out, err = process.communicate(timeout=SECONDS)
    return process.returncode, out, err


def until(holds, process, seconds=SECONDS):
    end = time.monotonic() + seconds
    while not (found := holds()):
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.1)
    return found


@contextmanager
def serving(folder, *words):
    """A running search: its process and a client."""
    process = started(*words)
    try:
        file = folder / "serving.json"
        address = until(lambda: file.exists() and json.loads(file.read_text())["address"], process)
        client = HttpClient(address)
        until(lambda: client.get("/readyz").status == 200, process)
        yield process, client
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.mark.slow
def test_a_table_as_people_have_them_becomes_a_search_that_answers(tmp_path):
    table = write_shop(tmp_path / "data")
    status, out, err = ended(table, "--check", "--json")
    assert status == 0, err
    outcome = json.loads(out)
    assert outcome["passed"] and outcome["folder"] == "shop-search"
    assert "Foto" in err and "Kategorie" in err
    with Searcher.open(tmp_path / "shop-search" / "index") as searcher:
        assert searcher.count(modality="image") == 60 - len(MISSING) - len(BROKEN)
        assert searcher.count(modality="text") == 60
        known = searcher.get("text:u001").metadata
        assert known["Marke"] == "O'Brien & Söhne" and known["url"] == "https://shop.example/p/1"
        texts = [hit.metadata["text"] for hit in searcher.list(modality="text", limit=60)]
        assert not [text for text in texts if "<" in text or "&amp;" in text or "&nbsp;" in text]
        best = searcher.search([QueryPart("text", part_number(23))], k=3).hits[0]
        assert best.metadata["item"] == "u023"
        mugs = searcher.search([QueryPart("text", "coffee mug")], k=10).hits
        assert sum("mug" in hit.metadata["text"] for hit in mugs) >= 9

    status, out, err = ended(table, "--check", "--json")  # and once more: nothing is left to do
    assert status == 0, err
    assert "1/3" not in err and "2/3" not in err and "3/3" not in err


@pytest.mark.slow
def test_the_long_commands_give_the_same(tmp_path):
    write_folder(tmp_path / "things")
    with serving(tmp_path / "things-search", "things", "--no-open") as (process, _):
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 0 and "Traceback" not in err, err
    lines = [line.strip() for line in err.splitlines() if line.startswith("  diptych ")]
    assert [line.split()[1] for line in lines] == ["ingest", "fit", "index", "serve"]
    for line in lines[:3]:
        words = [word.replace("things-search", "by-hand") for word in line.split()[1:]]
        subprocess.run([sys.executable, "-m", "diptych.cli", *words], check=True, capture_output=True, timeout=SECONDS)
    answers = []
    for place in ("things-search", "by-hand"):
        with Searcher.open(tmp_path / place / "index") as searcher:
            hits = searcher.search([QueryPart("text", "a lamp on a desk")], k=10).hits
            answers.append((searcher.info()["model"], [(hit.id, round(hit.score, 5)) for hit in hits]))
    assert answers[0] == answers[1]


@pytest.mark.slow
def test_a_folder_with_texts_is_followed_while_it_is_searched(tmp_path):
    folder = write_folder(tmp_path / "things")
    with serving(tmp_path / "things-search", "things", "--watch", "--no-open") as (process, client):

        def text_of(name):
            reply = client.get(f"/v1/items/text:{name}")
            return reply.json["metadata"]["text"] if reply.status == 200 else None

        def has_image(name):
            return client.get(f"/v1/items/image:{name}").status == 200

        assert until(lambda: text_of("000.jpg"), process) == "Ceramic mug, rot, no. 0"
        (folder / "900.txt").write_text("A velvet armchair with walnut legs", encoding="utf-8")
        (folder / "900.jpg").write_bytes(drawing("lamp", "gelb", 900))
        (folder / "000.txt").write_text("A chipped tankard", encoding="utf-8")
        (folder / "001.jpg").unlink()
        (folder / "001.txt").unlink()
        until(lambda: has_image("900.jpg") and text_of("900.jpg"), process, 120)
        until(lambda: text_of("000.jpg") == "A chipped tankard", process, 120)
        until(lambda: not has_image("001.jpg") and text_of("001.jpg") is None, process, 120)
        hits = client.get("/v1/search", q="armchair", k=3).json["hits"]
        assert hits[0]["metadata"]["item"] == "900.jpg"
        assert client.get("/v1/media/image:900.jpg").status == 200

        status, out, err = ended("things", "--check", "--json")  # the one that runs is asked
        assert status == 0, err
        assert json.loads(out)["address"] in err and "1/3" not in err
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=SECONDS)
    assert process.returncode == 0 and "Traceback" not in said, said
    assert said.rstrip().endswith("stopped; run the same command to start the search again.")
    status, _, err = ended("things", "--check")
    assert status == 0, err
    assert "3/3" not in err, "what was followed is not done again"


@pytest.mark.slow
@pytest.mark.parametrize("moment", [".dataset.ingest/shards/*", "dataset", "model"])
def test_killed_at_any_moment_the_same_command_goes_on(tmp_path, moment):
    write_folder(tmp_path / "things")
    process = started("things", "--no-open")
    until(lambda: any((tmp_path / "things-search").glob(moment)), process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    status, _, err = ended("things", "--check")
    assert status == 0, err
    assert ("1/3 features" in err) == moment.startswith(".")
    with Searcher.open(tmp_path / "things-search" / "index") as searcher:
        assert searcher.count() == 48


@pytest.mark.slow
def test_an_interrupt_while_it_works_ends_in_one_line(tmp_path):
    write_folder(tmp_path / "things")
    process = started("things", "--no-open")
    until(lambda: any((tmp_path / "things-search").glob(".dataset.ingest")), process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 130, err
    assert err.rstrip().endswith("stopped; run the same command to continue.")
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere.csv",), "there is no nowhere.csv"),
        ((".", "--out", "made"), "is inside"),
        (("x.csv", "--json"), "--json prints the result of --check"),
        (("x.csv", "--check", "--watch"), "give one of them"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(diptych, words, said):
    result = diptych("up", *words)
    assert result.status == 2
    assert result.err.startswith("error: ") and said in result.err and len(result.err.splitlines()) == 1
    assert not list(Path().glob("*-search")), "nothing is left behind"
