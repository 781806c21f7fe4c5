import pytest
import torch

from diptych._core.errors import ConfigError
from diptych.training import LoopSettings, train
from training import toy


def scripted(scores, **settings):
    """Train with validation scores taken from a list; return the net, its history and its weights at each score."""
    net, seen, script = toy.ToyNet(), [], iter(scores)

    def validate():
        assert not net.training
        assert not torch.is_grad_enabled()
        seen.append({name: tensor.clone() for name, tensor in net.state_dict().items()})
        return next(script)

    settings = LoopSettings(batch_size=16, device="cpu", validate_every=10, **settings)
    return net, train(toy.toy_objective(net), settings, count=toy.ROWS, validate=validate), seen


def test_the_best_weights_are_restored():
    net, history, seen = scripted([1.0, 3.0, 2.0, 3.0], steps=40)
    assert all(torch.equal(net.state_dict()[name], seen[1][name]) for name in seen[1])
    assert (history.best_step, history.best_score, history.stopped_early) == (20, 3.0, False)
    assert history.validations == [(10, 1.0), (20, 3.0), (30, 2.0), (40, 3.0)]
    assert not net.training


def test_patience_ends_training():
    _, history, _ = scripted([5.0, 4.0, 4.0, 9.0], steps=100, patience=2)
    assert (history.steps, history.best_step, history.stopped_early) == (30, 10, True)
    assert history.rows[-1]["step"] == 30


def test_the_last_step_is_always_validated():
    _, history, _ = scripted([1.0, 2.0, 3.0], steps=25)
    assert [step for step, _ in history.validations] == [10, 20, 25]
    assert history.best_step == 25


def test_log_points_are_means_since_the_last_one():
    net = torch.nn.Linear(1, 1)
    objective = toy.LossObjective(net, lambda rows, step, random: {"loss": 0 * net.weight.sum() + step})
    history = train(objective, LoopSettings(steps=25, log_every=10, device="cpu"), count=3)
    assert [row["loss"] for row in history.rows] == [4.5, 14.5, 22.0]
    assert [row["step"] for row in history.rows] == [10, 20, 25]
    assert history.rows[0]["rate"] == 0.001


def test_progress_is_told():
    calls = []
    toy.train_toy(None, progress=lambda *args: calls.append(args))
    assert {(stage, total) for stage, _, total, _ in calls} == {("toy", 60)}
    assert [step for _, step, _, figures in calls if "validation" in figures][:3] == [7, 14, 21]
    assert [step for _, step, _, figures in calls if "loss" in figures] == list(range(4, 61, 4))


def test_batches_of_any_type():
    net = torch.nn.Linear(2, 1)
    seen = []

    def loss(rows, step, random):
        labelled, name = rows
        seen.append((step, name))
        return {"loss": net(labelled).square().sum()}

    objective = toy.LossObjective(net, loss)
    train(objective, LoopSettings(steps=3, device="cpu"), batches=lambda step: (torch.ones(2, 2), f"batch {step}"))
    assert seen == [(0, "batch 0"), (1, "batch 1"), (2, "batch 2")]


@pytest.mark.parametrize("keywords", [{}, {"count": 3, "batches": lambda step: step}])
def test_rows_come_from_one_place(keywords):
    with pytest.raises(ConfigError, match="either batches or count"):
        train(toy.toy_objective(toy.ToyNet()), toy.toy_settings(), **keywords)


def test_settings_are_checked():
    with pytest.raises(ConfigError, match="steps is 0"):
        train(toy.toy_objective(toy.ToyNet()), toy.toy_settings(steps=0), count=3)


def test_learning_happens():
    net = toy.ToyNet()
    before = toy.toy_score(net.eval())
    net, _ = toy.train_toy(None, steps=300)
    assert toy.toy_score(net) > before / 2
