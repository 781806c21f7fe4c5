import numpy as np
import pytest

from diptych.experiments import Recipe, evaluate_model, plan
from diptych.experiments.run_store import FinishedRun, RunStore, inputs_of, read_scores, write_scores
from diptych.methods.model_folder import load_model


@pytest.fixture
def stored(tmp_path, counts_dataset):
    """A store with one run in it, and what it was made from."""
    run = plan(Recipe(methods=("steady",)))[0]
    inputs = inputs_of(run, counts_dataset, "test", ("image", "text"))
    method = run.create().fit(counts_dataset)
    method.record_["odd"] = {"tuple": (1, 2), "number": np.float32(0.5), "endless": float("inf")}
    scores = evaluate_model(method, counts_dataset)
    store = RunStore(tmp_path / "runs")
    store.write(run, inputs, method, scores)
    return store, run, inputs, method, scores


def test_a_run_comes_back_as_it_was(stored, counts_dataset):
    store, run, inputs, method, scores = stored
    found = store.look_up(run, inputs)
    assert isinstance(found, FinishedRun)
    assert found.record == method.record_
    assert found.scores.average_map == scores.average_map
    loaded = load_model(store.place(run) / "model")
    rows = counts_dataset.split("test").features("text")
    assert np.array_equal(loaded.embed("text", rows), method.embed("text", rows))


def test_scores_come_back_exactly(tmp_path, stored):
    scores = stored[-1]
    write_scores(tmp_path, scores)
    found = read_scores(tmp_path)
    for name, each in scores.directions.items():
        assert found.directions[name].query_ids == each.query_ids
        assert found.directions[name].to_json() == each.to_json()
        assert found.normalised[name].to_json() == scores.normalised[name].to_json()
        assert found.instance[name].ranks.tolist() == scores.instance[name].ranks.tolist()
    assert found.per_class == scores.per_class


def test_nothing_there_is_none(tmp_path):
    run = plan(Recipe(methods=("steady",)))[0]
    assert RunStore(tmp_path).look_up(run, {}) is None


@pytest.mark.parametrize("part", ["dataset", "params", "protocol", "split", "method's code", "version of diptych"])
def test_other_inputs_are_named(stored, part):
    store, run, inputs, *_ = stored
    assert store.look_up(run, inputs | {part: "another"}) == f"the {part} changed"


@pytest.mark.parametrize("file", ["run.json", "scores.json", "scores.npz"])
@pytest.mark.parametrize("damage", [b"", b"{}", None])
def test_a_damaged_run_does_not_serve(stored, file, damage):
    store, run, inputs, *_ = stored
    path = store.place(run) / file
    path.unlink()
    if damage is not None:
        path.write_bytes(damage)
    assert "cannot be read" in store.look_up(run, inputs)


def test_leftovers_of_a_kill_are_swept(stored):
    store, run, inputs, *_ = stored
    leftover = store.place(run).parent / ".0.abc"
    (leftover / "model").mkdir(parents=True)
    store.sweep()
    assert not leftover.exists()
    assert isinstance(store.look_up(run, inputs), FinishedRun)
