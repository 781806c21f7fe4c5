import csv
import json
import sys

import pytest

from diptych._core.errors import ConfigError
from diptych.training.monitoring import EarlyStop, History, RunLog
from training import toy


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_each_row_once_after_interruptions(tmp_path):
    straight, parts = tmp_path / "straight", tmp_path / "parts"
    toy.train_toy(straight)
    for cut in (13, 38):

        def stop(stage, done, total, figures, cut=cut):
            if done > cut:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            toy.train_toy(parts, progress=stop)
    with (parts / "log.csv").open("a") as file:
        file.write("40,0.1")  # a line cut short by a kill
    toy.train_toy(parts)
    for name in ("log.csv", "validation.csv"):
        assert (parts / name).read_text() == (straight / name).read_text()
    assert [int(row["step"]) for row in read(parts / "log.csv")] == list(range(4, 61, 4))


def test_columns_and_values(tmp_path):
    _, history = toy.train_toy(tmp_path)
    rows = read(tmp_path / "log.csv")
    assert list(rows[0]) == ["step", "loss", "error", "size", "rate", "momentum"]
    assert [{name: float(value) for name, value in row.items()} for row in rows] == history.rows
    scores = [(int(row["step"]), float(row["score"])) for row in read(tmp_path / "validation.csv")]
    assert scores == history.validations


def test_a_figure_that_comes_later_gets_a_column(tmp_path):
    with RunLog(tmp_path, History("toy")) as log:
        log.figures({"step": 1, "loss": 0.5})
        log.figures({"step": 2, "loss": 0.4, "distance": 3.0})
        log.figures({"step": 3, "loss": 0.3})
    assert (tmp_path / "log.csv").read_text() == "step,loss,distance\n1,0.5,\n2,0.4,3.0\n3,0.3,\n"


def test_old_rows_of_another_run_vanish(tmp_path):
    (tmp_path / "log.csv").write_text("step,loss\n1,0.5\n")
    with RunLog(tmp_path, History("toy")):
        assert (tmp_path / "log.csv").read_text() == ""


def test_tensorboard_on_request(tmp_path):
    pytest.importorskip("tensorboard")
    toy.train_toy(tmp_path, tensorboard=True)
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert [event.step for event in events.Scalars("loss")] == list(range(4, 61, 4))


def test_tensorboard_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(ConfigError, match=r"diptych\[tensorboard\]"):
        toy.train_toy(tmp_path, tensorboard=True)


def follow(stop, scores):
    bests = []
    for step, score in enumerate(scores, start=1):
        if stop.update(step, score):
            bests.append(step)
        if stop.exhausted:
            return step, bests
    return None, bests


def test_stops_after_patience_evaluations_without_improvement():
    assert follow(EarlyStop(patience=3), [1, 2, 2, 1, 2, 5]) == (5, [1, 2])


def test_improvement_starts_patience_again():
    assert follow(EarlyStop(patience=2), [1, 0, 2, 0, 3, 0, 0, 9]) == (7, [1, 3, 5])


def test_small_steps_are_kept_but_do_not_buy_patience():
    stop = EarlyStop(patience=3, minimum_improvement=0.5)
    assert follow(stop, [1.0, 1.2, 1.3, 1.4, 1.45]) == (4, [1, 2, 3, 4])
    assert (stop.best_score, stop.best_step) == (1.4, 4)


def test_small_steps_that_add_up_count():
    assert follow(EarlyStop(patience=2, minimum_improvement=0.5), [1.0, 1.3, 1.6, 1.9, 2.2]) == (None, [1, 2, 3, 4, 5])


def test_without_patience_it_never_stops():
    assert follow(EarlyStop(), [3] * 100) == (None, [1])


@pytest.mark.parametrize("seen", [[], [1.0, 0.5, 2.0, 1.9]])
def test_survives_json(seen):
    stop, copy = EarlyStop(patience=4), EarlyStop(patience=4)
    follow(stop, seen)
    copy.restore(json.loads(json.dumps(stop.to_json())))
    assert copy == stop
