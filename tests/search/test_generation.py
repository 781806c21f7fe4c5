"""An index that is in use is built anew: no acknowledged change is lost, and whoever has it open follows."""

import os
import shutil
import threading
import time

import pytest

from diptych._core import files
from diptych._core.errors import BackendUnavailableError, DataError
from diptych.data import Dataset
from diptych.index import EngineLocation
from diptych.methods import create, save_model
from diptych.search import NewItem, QueryPart, Searcher, build_index, generation, handover, index_folder
from search.gallery import png

LONG = "a blue cloth " + "of many threads " * 2_000


@pytest.fixture
def rebuild(fields, own_index):
    """Build the index again in its place, with another model of the same data."""
    dataset = Dataset.open(fields / "dataset")
    save_model(create("cca", components=3).fit(dataset), own_index.parent / "model")

    def run(**options):
        return build_index(own_index.parent / "model", dataset, own_index, overwrite=True, **options)

    return run


def everything(place) -> dict[str, dict]:
    with Searcher.open(place) as searcher:
        return {hit.id: hit.metadata for hit in searcher.list(limit=1_000)}


def change(searcher) -> None:
    searcher.add([NewItem("mine", "image", png("red", "mine"), {"label": "red", "fresh": 1})])
    searcher.add([NewItem("long", "text", LONG, {"label": "blue"})])
    searcher.add([NewItem("text:red-00", "text", "a crimson wall", {"item": "red-00", "edited": True})], replace=True)
    searcher.remove(["image:blue-03", "text:blue-03"])
    searcher.add([NewItem("brief", "text", "a green tile", {})])
    searcher.remove(["brief"])


def test_what_was_changed_since_it_was_built_stays_in_force(own_index, rebuild) -> None:
    with Searcher.open(own_index, writable=True) as searcher:
        change(searcher)
    before = everything(own_index)
    assert rebuild().taken_over == 6
    assert everything(own_index) == before
    with Searcher.open(own_index) as searcher:
        assert searcher.original("mine") == (png("red", "mine"), "image/png")
        assert searcher.search([QueryPart("text", "crimson")], mode="lexical").hits[0].item == "red-00"
        assert [hit.id for hit in searcher.search([QueryPart("text", "cloth")], where="id = 'long'").hits] == ["long"]
        assert searcher.search([QueryPart("text", "red")], where="fresh = 1").hits[0].id == "mine"
    assert rebuild().taken_over == 5 and everything(own_index) == before, "also by the index after that"


def test_a_long_text_is_embedded_as_it_was_given(own_index, rebuild) -> None:
    with Searcher.open(own_index, writable=True) as searcher:
        searcher.add([NewItem("long", "text", LONG, {})])
        assert len(searcher.get("long").metadata["text"]) < len(LONG)
    rebuild()
    with Searcher.open(own_index, writable=True) as searcher:
        kept = searcher.generations.current.index.get(["long"])[0].vector
        searcher.add([NewItem("long", "text", LONG, {})], replace=True)
        assert (searcher.generations.current.index.get(["long"])[0].vector == kept).all()


def test_changes_can_be_discarded(own_index, rebuild) -> None:
    built = everything(own_index)
    with Searcher.open(own_index, writable=True) as searcher:
        change(searcher)
    assert rebuild(keep_changes=False).taken_over == 0 and everything(own_index) == built


def test_whoever_has_it_open_follows_and_writes_into_the_new_one(own, own_index, rebuild) -> None:
    former = own.generation
    own.add([NewItem("before", "text", "a red wall", {})])
    rebuild()
    own.add([NewItem("after", "text", "a red wall", {})])
    assert own.generation != former
    assert own.get("before") is not None and own.get("after") is not None
    assert {"before", "after"} <= set(everything(own_index)), "also for those who open it later"


def test_a_reader_sees_what_was_written_into_the_new_one(own, own_index, rebuild) -> None:
    with Searcher.open(own_index) as reader:
        assert reader.search([QueryPart("text", "red")]).hits
        rebuild()
        own.add([NewItem("after", "text", "a red wall", {"n": 1})])
        assert reader.get("after") is not None
        assert [hit.id for hit in reader.search([QueryPart("text", "red")], where="n = 1").hits] == ["after"]
        assert reader.thumbnail("image:red-00") and reader.count() == own.count()


def test_nothing_acknowledged_is_lost_while_it_is_rebuilt(own, own_index, rebuild) -> None:
    """Three who write and one who reads go on while the index is built anew twice."""
    stop, failures, truth = threading.Event(), [], {}

    def write(name: str) -> None:
        number = 0
        while not stop.is_set():
            id = f"{name}-{number % 40}"
            try:
                if number % 3 == 2:
                    own.remove([id])
                    truth[id] = None
                else:
                    own.add([NewItem(id, "text", "a red wall", {"number": number})], replace=True)
                    truth[id] = number
            except BackendUnavailableError:
                pass  # others held the lock for too long on a busy machine: refused, so nothing was acknowledged
            except Exception as error:
                failures.append(error)
            number += 1

    def read() -> None:
        while not stop.is_set():
            try:
                assert own.search([QueryPart("text", "a blue wall")]).hits
                assert own.get("image:red-00") is not None
            except Exception as error:
                failures.append(error)

    threads = [threading.Thread(target=write, args=(name,)) for name in "abc"] + [threading.Thread(target=read)]
    for thread in threads:
        thread.start()
    try:
        taken = [rebuild().taken_over, rebuild().taken_over]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failures and taken[1] > 0 and len(truth) > 20
    found = everything(own_index)
    assert {id: found[id]["number"] if id in found else None for id in truth} == truth


def test_a_change_that_the_new_model_cannot_embed_is_told(own_index, rebuild, monkeypatch) -> None:
    with Searcher.open(own_index, writable=True) as searcher:
        searcher.add([NewItem("mine", "text", "a red wall", {})])
    monkeypatch.setattr("diptych.search.writer.IndexWriter._read", _refuse)
    with pytest.raises(DataError, match=r"cannot be taken over: no such thing; build the index with --discard-changes"):
        rebuild()
    assert "mine" in everything(own_index)


def _refuse(*_) -> None:
    raise DataError("no such thing.")


def test_a_failure_before_the_exchange_leaves_the_old_one_in_force(own, own_index, rebuild, monkeypatch) -> None:
    own.add([NewItem("mine", "text", "a red wall", {})])
    with monkeypatch.context() as patched:
        patched.setattr(files, "exchange_folders", _refuse)
        with pytest.raises(DataError, match="no such thing"):
            rebuild()
    own.add([NewItem("more", "text", "a red wall", {})])
    rebuild()
    assert {"mine", "more"} <= set(everything(own_index))


def test_a_folder_replaced_by_hand_is_noticed_and_one_that_is_gone_is_told(own, own_index, fields) -> None:
    other = shutil.copytree(fields / "index", own_index.with_name("other"))
    shutil.rmtree(own_index)
    with pytest.raises(BackendUnavailableError, match="is gone"):
        own.add([NewItem("mine", "text", "a red wall", {})])
    with pytest.raises(BackendUnavailableError, match="is gone"):
        own.get("image:red-00")
    other.rename(own_index)
    own.add([NewItem("mine", "text", "a red wall", {})])
    assert "mine" in everything(own_index)


def test_who_may_not_write_for_long_is_told_to_come_back(own, own_index, monkeypatch) -> None:
    monkeypatch.setattr(index_folder, "_WAIT_S", 0.05)
    with index_folder.write_lock(own_index), pytest.raises(BackendUnavailableError, match="by another process"):
        own.remove(["image:red-00"])
    assert own.remove(["image:red-00"]) == 1


@pytest.fixture
def away(monkeypatch):
    """The engine is away, for as long as the set holds a reason."""
    reasons = {"nobody answers"}
    opened = EngineLocation.open

    def open(*given, **named):
        for reason in reasons:
            raise BackendUnavailableError(reason, f"{reason} at 192.0.2.7:5432")
        return opened(*given, **named)

    monkeypatch.setattr(EngineLocation, "open", open)
    monkeypatch.setattr(handover, "_PAUSE_S", 0.01)
    return reasons


def wait_until(met) -> None:
    end = time.monotonic() + 20
    while not met():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_an_engine_that_is_away_at_the_start_is_opened_once_it_is_there(own_index, away, caplog) -> None:
    with pytest.raises(BackendUnavailableError, match="nobody answers") as told:
        Searcher.open(own_index)
    assert told.value.details == "nobody answers at 192.0.2.7:5432"
    with Searcher.open(own_index, writable=True, retry=True) as searcher:
        searcher.warm()
        for call in (
            lambda: searcher.list(limit=1),
            lambda: searcher.search(text="red"),
            lambda: searcher.add([NewItem("mine", "text", "a red wall", {})]),
            searcher.info,
            lambda: searcher.generation,
        ):
            with pytest.raises(BackendUnavailableError, match="nobody answers") as told:
                call()
            assert "192.0.2.7" not in str(told.value)
        away.add("it is being restarted")
        away.remove("nobody answers")
        wait_until(lambda: "it is being restarted at 192.0.2.7" in caplog.text)
        away.clear()
        wait_until(lambda: searcher.generations._current is not None)
        assert searcher.add([NewItem("mine", "text", "a red wall", {})]) == 1
        assert searcher.search(text="red", mode="vector").hits


def test_what_waiting_does_not_mend_is_told_by_the_log_alone(own_index, away, caplog) -> None:
    with Searcher.open(own_index, retry=True) as searcher:
        (own_index / "searcher.json").write_text("{")
        away.clear()
        wait_until(lambda: "searcher.json" in caplog.text)
        with pytest.raises(BackendUnavailableError, match="the log of the server says why"):
            searcher.list(limit=1)


def test_closing_ends_the_attempts_to_open(own_index, away) -> None:
    searcher = Searcher.open(own_index, retry=True)
    searcher.close()
    searcher.close()
    wait_until(lambda: all(thread.name != "diptych-open" for thread in threading.enumerate()))


def test_time_limits_reach_the_vectors_the_texts_and_the_lock(own_index, monkeypatch) -> None:
    with Searcher.open(own_index, writable=True, time_limit_s=7.0, wait_s=0.05) as searcher:
        current = searcher.generations.current
        assert current.index._time_limit_s == current.texts.index._time_limit_s == 7.0
        with index_folder.write_lock(own_index):
            started = time.monotonic()
            with pytest.raises(BackendUnavailableError, match="changed by another process"):
                searcher.remove(["image:red-00"])
            assert time.monotonic() - started < 2


def test_an_index_that_is_replaced_while_it_is_opened_is_opened_again(own_index, fields, tmp_path, monkeypatch) -> None:
    """Else the model of one index would meet the vectors of the other."""
    other = tmp_path / "other"
    save_model(create("cca", components=3).fit(Dataset.open(fields / "dataset")), tmp_path / "model")
    build_index(tmp_path / "model", Dataset.open(fields / "dataset"), other, projection="none")
    opened, load = [], generation.load_model

    def replaced_meanwhile(folder):
        model = load(folder)
        if opened == ["first"]:
            files.exchange_folders(other, own_index)
        opened.append("again")
        return model

    with Searcher.open(own_index) as searcher:
        opened.append("first")
        monkeypatch.setattr(generation, "load_model", replaced_meanwhile)
        os.utime(own_index / index_folder.FILE)  # as if another had taken its place
        assert searcher.info()["dimension"] == 3 and opened == ["first", "again", "again"]
