"""Which steps are done: all at first, none when nothing changed, else only the new work; the rest after an end."""

import json
import shutil
from contextlib import contextmanager

import pytest

from diptych import up
from diptych._core.errors import DataError
from diptych._core.progress import silent
from diptych.ingest import IngestOptions
from diptych.methods import create
from diptych.search import QueryPart, Searcher
from diptych.teach import Label, LabelStore
from diptych.up import SearchFolder, make_ready, read_source
from search.gallery import png, write_raw

FEATURES = {"image": "colour-moments", "text": "bow:60"}


class EndedError(Exception):
    """The process is killed here."""


def quick(name):
    """A method that fits at once, in the place of the one that is asked for."""
    assert name == "auto"
    return create("cca", components=4)


class Listener:
    """Notes what happened; ends everything before or after a step, if told to."""

    def __init__(self, end=None):
        self.steps, self.kept_things, self.changes, self.problems, self.end = [], [], [], [], end

    @contextmanager
    def step(self, name, why):
        self.steps.append(name)
        if self.end == f"before {name}":
            raise EndedError
        yield silent
        if self.end == f"after {name}":
            raise EndedError

    def kept(self, what):
        self.kept_things.append(what)

    def ingested(self, made):
        self.made = made

    def fitted(self, model):
        self.model = model

    def indexed(self, built):
        self.built = built

    def synced(self, changes):
        self.changes.append(changes)

    def problem(self, problem):
        self.problems.append(problem)


@pytest.fixture
def table(tmp_path):
    return write_raw(tmp_path / "raw")


@pytest.fixture
def bring(tmp_path, monkeypatch):
    """Make ready what a path gives; who listened."""
    monkeypatch.setenv("DIPTYCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(up, "create", quick)

    def once(path, end=None):
        folder, listener = SearchFolder(tmp_path / "search"), Listener(end)
        options = IngestOptions(path, folder.dataset, features=FEATURES, name="fields", overwrite=True)
        with folder.claimed() as mine:
            assert mine
            make_ready(folder, read_source(options), options, listener)
        return listener

    once.index = tmp_path / "search" / "index"
    return once


@pytest.fixture
def added(monkeypatch):
    """The ids of all entries that are embedded one by one rather than built."""
    ids, add = [], Searcher.add

    def counted(self, items, *, replace=False):
        ids.extend(item.id for item in items)
        return add(self, items, replace=replace)

    monkeypatch.setattr(Searcher, "add", counted)
    return ids


def rows(table):
    return [json.loads(line) for line in table.read_text().splitlines()]


def write(table, found):
    table.write_text("".join(json.dumps(row) + "\n" for row in found))


def test_everything_at_first_and_nothing_when_nothing_changed(table, bring, added):
    first = bring(table)
    assert first.steps == ["features", "model", "index"] and not first.kept_things
    with Searcher.open(bring.index) as searcher:
        hits = searcher.search([QueryPart("text", "a blue wall")], into="image", k=5).hits
    assert {hit.metadata["label"] for hit in hits} == {"blue"}
    again = bring(table)
    assert again.steps == [] and not again.changes and not added
    assert again.kept_things == ["the features of 80 items"]


def test_only_new_work_is_done_for_new_changed_and_removed_items(table, bring, added):
    bring(table)
    found = rows(table)
    (table.parent / "pictures" / "late.png").write_bytes(png("green", "late"))
    late = {"id": "late", "image": "pictures/late.png", "text": "a green paper", "label": "green", "split": "train"}
    gone = found.pop(3)
    found[0]["text"] = "a blue cloth"
    write(table, [*found, late])
    again = bring(table)
    assert again.steps == ["index"] and [str(changes) for changes in again.changes] == ["1 new, 1 changed, 1 removed"]
    assert sorted(added) == ["image:late", f"image:{found[0]['id']}", "text:late", f"text:{found[0]['id']}"]
    with Searcher.open(bring.index) as searcher:
        assert searcher.count() == 160
        assert searcher.get("text:late").metadata["label"] == "green"
        assert searcher.get("image:late").metadata["text"] == "a green paper"
        assert searcher.get(f"text:{found[0]['id']}").metadata["text"] == "a blue cloth"
        assert searcher.get(f"text:{gone['id']}") is None and searcher.get(f"image:{gone['id']}") is None
        assert searcher.thumbnail("image:late") is not None
    assert bring(table).steps == []


def test_an_added_item_looks_like_one_that_was_built(table, bring):
    bring(table)
    with Searcher.open(bring.index) as searcher:
        before = {id: searcher.get(id).metadata for id in ("image:red-00", "text:red-00")}
    (table.parent / "pictures" / "red-00.png").touch()
    found = rows(table)
    found[0]["text"] += " "
    write(table, found)
    again = bring(table)
    assert [str(changes) for changes in again.changes] == ["1 changed"]
    with Searcher.open(bring.index) as searcher:
        assert {id: searcher.get(id).metadata for id in before} == before


def test_a_new_class_fits_again_and_says_why(table, bring, added):
    bring(table)
    found = rows(table)
    for row in found[:4]:
        row["label"] = "scarlet"
    write(table, found)
    again = bring(table)
    assert again.steps == ["features", "model", "index"] and not added
    with Searcher.open(bring.index) as searcher:
        assert searcher.get("image:red-00").metadata["label"] == "scarlet"
    assert bring(table).steps == []


@pytest.mark.parametrize(
    ("end", "left"), [("before features", ["features", "model", "index"]), ("after features", ["model", "index"])]
)
def test_ended_while_it_is_fitted_again_the_rest_is_done(table, bring, end, left):
    bring(table)
    found = rows(table)
    for row in found[:4]:
        row["label"] = "scarlet"
    write(table, found)
    with pytest.raises(EndedError):
        bring(table, end)
    assert bring(table).steps == left
    with Searcher.open(bring.index) as searcher:
        assert searcher.get("image:red-00").metadata["label"] == "scarlet"
    assert bring(table).steps == []


@pytest.mark.parametrize(
    ("end", "left"),
    [
        ("before features", ["features", "model", "index"]),
        ("after features", ["model", "index"]),
        ("before model", ["model", "index"]),
        ("after model", ["model", "index"]),
        ("before index", ["index"]),
        ("after index", []),
    ],
)
def test_ended_at_any_step_the_rest_is_done(table, bring, end, left):
    with pytest.raises(EndedError):
        bring(table, end)
    assert bring(table).steps == left
    with Searcher.open(bring.index) as searcher:
        assert searcher.count() == 160
    assert bring(table).steps == []


def test_a_model_that_was_deleted_is_fitted_again_without_new_features(table, bring, tmp_path):
    bring(table)
    shutil.rmtree(tmp_path / "search" / "model")
    again = bring(table)
    assert again.steps[0] == "model" and "features" not in again.steps
    assert bring(table).steps == []


def test_broken_images_are_no_reason_to_fit_again(table, bring):
    for number in range(10):
        (table.parent / "pictures" / f"red-{number:02d}.png").write_bytes(b"broken")
    found = rows(table)
    for row in found[:10]:
        row["text"] = ""
    write(table, found)
    first = bring(table)
    assert first.made.report.items == 70
    assert bring(table).steps == []


def test_a_folder_is_of_one_source(table, bring, tmp_path):
    bring(table)
    other = write_raw(tmp_path / "other", per_colour=5)
    with pytest.raises(DataError, match=r"contains the search for .*raw"):
        bring(other)


def test_what_lacks_a_side_is_told_before_any_work(bring, tmp_path):
    (tmp_path / "camera").mkdir()
    for number in range(4):
        (tmp_path / "camera" / f"IMG_{number:04d}.png").write_bytes(png("red", number))
    with pytest.raises(DataError, match=r"no item of .*camera has a text"):
        bring(tmp_path / "camera")
    (tmp_path / "texts.csv").write_text("id,text\n" + "".join(f"{n},a text about {n} things\n" for n in range(9)))
    with pytest.raises(DataError, match=r"no item of .*texts.csv has an image"):
        bring(tmp_path / "texts.csv")
    assert not (tmp_path / "search" / "dataset").exists()


def test_what_was_taught_is_kept_and_learned_again_when_everything_is_made_anew(table, bring, monkeypatch):
    learn = up.learn
    monkeypatch.setattr(up, "learn", lambda index, **options: learn(index, method="sm", **options))
    found = [{name: value for name, value in row.items() if name != "label"} for row in rows(table)]
    write(table, found)
    bring(table)
    with LabelStore(bring.index) as store:
        store.put([Label.now(f"{colour}-00", colour, who="ann") for colour in ("red", "green", "blue", "grey")])
    up.learn(bring.index)
    again = bring(table)
    assert again.steps == []  # the index that was learned is that of these files
    with Searcher.open(bring.index) as searcher:
        assert searcher.info()["model"]["method"] == "sm"
    write(table, [row | {"text": f"an old {row['text']}"} for row in found])
    third = bring(table)
    assert third.steps == ["features", "model", "index", "model"]
    with Searcher.open(bring.index) as searcher:
        assert searcher.info()["model"]["method"] == "sm" and searcher.get("image:red-00").metadata["label"] == "red"
