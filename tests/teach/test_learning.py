"""Learning: a model of what was taught, its index in the place of the old one, and the way back."""

import shutil
import threading
import time
from dataclasses import asdict, replace

import numpy as np
import pytest

from diptych._core.errors import BackendUnavailableError, ConfigError, DataError
from diptych._core.files import write_json
from diptych.data import Dataset, Protocol, training_data
from diptych.methods.propagation import propagate
from diptych.search import NewItem, Searcher, build_index
from diptych.search.index_folder import folder_beside
from diptych.teach import JobState, LearnJob, Teacher
from diptych.teach.learning import added_rows, learn, taught_datasets
from diptych.teach.models import Models, UnknownModelError
from search import gallery
from search.gallery import png
from teach.conftest import by_colour, truth


def reds(searcher, **options) -> float:
    """The share of red among the images nearest to a red text."""
    hits = searcher.search(text="a red wall in the light", into="image", k=15, mode="vector", **options).hits
    return float(np.mean([truth(hit.item) == "red" for hit in hits]))


def test_what_was_taught_is_learned_swapped_in_and_taken_back(searcher, teacher, own) -> None:
    by_colour(teacher, per_colour=2)
    searcher.add([NewItem("image:mine", "image", png("blue", "mine")), NewItem("text:mine", "text", "a blue tile")])
    searcher.remove(["image:red-07", "text:red-07"])
    record = learn(own, method="sm")
    assert (record.id, record.answers, record.classes, record.before) == ("m0002", 8, 4, "m0001")
    assert record.propagated > 30 and record.scores["held_out"] > 0.9
    info = searcher.info()
    assert info["model"]["method"] == "sm" and reds(searcher) == 1.0
    assert searcher.get("image:mine") is not None and searcher.get("image:red-07") is None
    assert searcher.get("image:red-01").metadata["label"] == "red"
    assert searcher.get("image:red-09").metadata["guess"] == "red"
    assert teacher.status().answered == 8  # labels are beside the index
    models = Models(own)
    assert [(one.id, models.is_kept(one.id)) for one in models.all()] == [("m0001", True), ("m0002", True)]
    searcher.add([NewItem("text:late", "text", "a grey cloth")])
    assert models.activate("m0001").id == "m0001" and models.active().id == "m0001"
    assert searcher.info()["model"]["method"] == "cca"
    for id, there in (("text:late", True), ("image:mine", True), ("image:red-07", False)):
        assert (searcher.get(id) is not None) == there
    assert models.activate("m0002").id == "m0002" and searcher.get("text:late") is not None
    with pytest.raises(UnknownModelError, match="m0009"):
        models.activate("m0009")


def test_items_added_since_are_learned_from_and_test_labels_are_not_seen(searcher, own, tmp_path) -> None:
    searcher.add([NewItem("image:mine", "image", png("blue", "mine")), NewItem("text:mine", "text", "a blue tile")])
    searcher.add([NewItem("text:alone", "text", "a blue cloth")])
    base = Dataset.open(tmp_path / "dataset")
    added = searcher.generations.read(lambda index: added_rows(index, base))
    assert added["image"][0] == ["mine"] and added["text"][1].shape[0] == 1
    answers = {"mine": "blue", "red-04": "red", "green-00": "green", "grey-00": None}
    learned, indexed = taught_datasets(base, answers, {"red-00": ("red", 0.9)}, added)
    assert len(learned) == len(base) + 1 and len(indexed) == len(base)
    train = learned.split("train")
    assert dict(zip(train.documents.tolist(), train.labels.codes.tolist(), strict=True))["mine"] >= 0
    assert "red-04" in train.documents.tolist()  # a test item that a person answered for is one no more
    assert not learned.split("test").labels.is_labelled.any()
    np.testing.assert_array_equal(
        train.having("image").features("image")[-1], np.asarray(added["image"][1], dtype=np.float32)[0]
    )
    assert indexed.items.column("guess").to_pylist().count("red") == 1
    assert indexed.fingerprint != base.fingerprint and learned.source["taught_from"] == base.fingerprint


def test_what_cannot_be_learned_is_said_and_nothing_is_changed(searcher, teacher, own, tmp_path) -> None:
    before = searcher.info()["model"]["fingerprint"]
    teacher.answer(["red-00"], "red", who="ann")
    with pytest.raises(ConfigError, match="teach at least 2"):
        learn(own, method="sm")
    by_colour(teacher)
    shutil.move(tmp_path / "dataset", tmp_path / "moved")
    with pytest.raises(DataError, match="is not in"):
        learn(own, method="sm")
    with Models(own).changing(), pytest.raises(BackendUnavailableError, match="being learned"):
        learn(own, method="sm", dataset=tmp_path / "moved")
    assert searcher.info()["model"]["fingerprint"] == before
    assert learn(own, method="sm", dataset=tmp_path / "moved").answers == 4


def test_no_search_fails_and_no_write_is_lost_while_the_index_is_swapped(searcher, teacher, own) -> None:
    """A smaller version of the slow test over HTTP."""
    by_colour(teacher)
    ended, failed, written, searched = threading.Event(), [], [], []

    def search() -> None:
        while not ended.is_set():
            try:
                assert len(searcher.search(text="a red wall", k=5).hits) == 5
                searched.append(searcher.generation)
                time.sleep(0.02)
            except Exception as error:
                failed.append(error)

    def write() -> None:
        while not ended.is_set():
            id = f"text:new-{len(written)}"
            try:
                searcher.add([NewItem(id, "text", "a green tile")])
                written.append(id)
                time.sleep(0.05)
            except Exception as error:
                failed.append(error)

    threads = [threading.Thread(target=search) for _ in range(2)] + [threading.Thread(target=write)]
    for thread in threads:
        thread.start()
    try:
        learn(own, method="sm")
        Models(own).activate("m0001")
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert not failed and written and len(set(searched)) >= 2
    assert all(searcher.get(id) is not None for id in written)


def test_what_was_taught_wrongly_does_not_confirm_itself(searcher, teacher, own) -> None:
    """After learning, items stay where the model without answers had placed them, and new ones join them."""
    by_colour(teacher)
    teacher.answer(["red-00", "red-01", "red-02"], "blue", who="ann")
    assert teacher.guesses(0.0)["red-09"][0] == "blue"
    before = {item: teacher.graph.vectors[row] for item, row in teacher.graph.row_of.items()}
    learn(own, method="sm")
    assert teacher.status().items == 80
    for item, row in teacher.graph.row_of.items():
        np.testing.assert_allclose(teacher.graph.vectors[row], before[item], atol=2e-3)
    searcher.add([NewItem("image:mine", "image", png("green", "mine")), NewItem("text:mine", "text", "a green tile")])
    teacher.answer(["red-00", "red-01", "red-02"], "red", who="ann")
    guesses = teacher.guesses(0.0)
    assert guesses["red-09"][0] == "red" and guesses["mine"][0] == "green"


def test_a_process_that_died_without_a_word_has_failed(own) -> None:
    job, file = LearnJob(own), folder_beside(own) / "learn.json"
    assert job.state().state == "idle"
    write_json(file, asdict(JobState("running", "fitting", 0.4, "2026-01-01T00:00:00.000Z", pid=2**22 + 1)))
    found = job.state()
    assert found.state == "failed" and "has died" in found.error
    assert job.cancel().state == "failed"
    file.write_text("{broken")
    assert job.state() == JobState()


def test_the_oldest_of_many_kept_indexes_makes_room_and_cannot_be_put_back(own) -> None:
    models = Models(own)
    known = models.all()
    for number in range(2, 7):
        known.append(replace(known[0], id=f"m{number:04d}", fingerprint=str(number)))
        models.place_of(known[-1].id).mkdir(parents=True)
    models.note(replace(known[0], id="m0007", fingerprint="7"), known)
    kept = sorted(path.name for path in models.place_of("m0001").parent.iterdir())
    assert kept == ["m0004", "m0005", "m0006"] and models.next_id() == "m0008"
    assert models.active().id == "m0001" and not models.is_kept("m0002")
    with pytest.raises(DataError, match="not kept any more"):
        models.activate("m0002")


def test_what_is_none_of_the_classes_is_given_none_by_propagation(searcher, teacher, own, tmp_path) -> None:
    searcher.add([NewItem("image:mine", "image", png("blue", "mine")), NewItem("text:mine", "text", "a blue tile")])
    base = Dataset.open(tmp_path / "dataset")
    added = searcher.generations.read(lambda index: added_rows(index, base))
    classes = {f"{colour}-00": colour for colour in ("red", "green", "blue", "grey")}
    protocol = Protocol(propagate=True)
    for answers, kept in ((classes, True), (classes | {"red-01": None, "mine": None}, False)):
        learned, indexed = taught_datasets(base, answers, {}, added)
        seen, record = propagate(training_data(learned, protocol), protocol)
        known = dict(zip(seen.train.documents.tolist(), seen.train.labels.is_labelled.tolist(), strict=True))
        assert (known["red-01"], known["mine"], known["red-02"]) == (kept, kept, True)
        shares = dict(zip(seen.train.documents.tolist(), seen.soft_labels.any(axis=1).tolist(), strict=True))
        assert (shares["red-01"], shares["mine"]) == (kept, kept)
        assert record["propagated"] == len(seen.train) - 4 - (0 if kept else 2)
        assert len(learned.split("train")) == len(seen.train) and "no_class" not in indexed.items.column_names
    by_colour(teacher)
    teacher.answer(["red-01"], None, who="ann", answer="none")
    teacher.answer(["red-02"], None, who="ann", answer="skip")
    learn(own, method="sm")
    about = [searcher.get(f"image:red-0{number}").metadata for number in (1, 2)]
    assert [(one.get("label"), one.get("guess")) for one in about] == [(None, None), (None, "red")]


def test_a_question_that_was_skipped_takes_no_label_away(tmp_path) -> None:
    """A skip says nothing, also of an item whose label came with the dataset."""
    dataset = gallery.make(tmp_path)
    build_index(tmp_path / "model", dataset, tmp_path / "index")
    with Searcher.open(tmp_path / "index", writable=True) as searcher:
        teacher = Teacher(searcher)
        teacher.answer(["red-00"], None, who="ann", answer="skip")
        teacher.answer(["red-01"], None, who="ann", answer="none")
        teacher.close()
        learn(tmp_path / "index", method="sm")
        assert searcher.get("image:red-00").metadata["label"] == "red" and len(dataset.classes) == 4
        assert searcher.get("image:red-01").metadata.get("label") is None


_LEARNS = """
import os, sys, time
from dataclasses import asdict
from pathlib import Path
from diptych._core.files import write_json
from diptych._core.locks import file_lock
from diptych.search.index_folder import folder_beside
from diptych.teach.job import JobState
folder = folder_beside(Path(sys.argv[1]))
with file_lock(folder / "job.lock"):
    (folder / f"began-{os.getpid()}").touch()
    write_json(folder / "learn.json", asdict(JobState("running", pid=os.getpid())))
    while not (folder / "end").exists():
        time.sleep(0.01)
"""


def test_of_several_that_begin_to_learn_at_once_one_does(own, monkeypatch) -> None:
    """Each as if it were a server process of its own."""
    monkeypatch.setattr("diptych.teach.job._PROGRAM", _LEARNS)
    folder, outcomes = folder_beside(own), []

    def begin() -> None:
        try:
            outcomes.append(LearnJob(own).start().state)
        except BackendUnavailableError as error:
            outcomes.append(str(error))

    threads = [threading.Thread(target=begin) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (folder / "end").touch()
    assert sorted(outcome[:7] for outcome in outcomes) == ["a model", "a model", "a model", "running"], outcomes
    assert len(list(folder.glob("began-*"))) == 1
