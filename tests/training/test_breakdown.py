import pytest
import torch

from diptych._core.errors import FitError
from diptych.training import Constant, LoopSettings, train
from training import toy


def attempt(folder, resume="same", validate=None, settings=None, **fault):
    net = toy.ToyNet()
    settings = settings or toy.toy_settings()
    objective = toy.toy_objective(net, **fault)
    history = train(
        objective, settings, count=toy.ROWS, folder=folder, stage="text-rbm", resume=resume, validate=validate
    )
    return net, history


@pytest.mark.parametrize("step", [0, 4, 5, 23, 59])
def test_nan_names_stage_step_and_remedy_and_keeps_the_last_good_checkpoint(tmp_path, step):
    with pytest.raises(
        FitError, match=rf"^text-rbm: loss became nan at step {step}; lower the learning rate"
    ) as caught:
        attempt(tmp_path, nan_at=step)
    assert "clip_norm" in str(caught.value)
    assert "scale the inputs" in str(caught.value)
    good = step - step % 5
    if good == 0:
        assert "There is no checkpoint of it yet." in str(caught.value)
        return
    assert f"last good checkpoint, after {good} steps, is in {tmp_path}" in str(caught.value)
    tensors, record = toy.read_checkpoint(tmp_path)
    assert record["step"] == good
    assert all(torch.isfinite(tensor).all() for tensor in tensors.values())


def test_training_goes_on_from_there_with_changed_settings(tmp_path):
    with pytest.raises(FitError):
        attempt(tmp_path, nan_at=33)
    net, history = attempt(tmp_path, resume="changed", settings=toy.toy_settings(rate=Constant(0.001), clip_norm=1.0))
    assert (history.resumed_from, history.steps) == (30, 60)
    assert all(torch.isfinite(parameter).all() for parameter in net.parameters())
    tensors, _ = toy.read_checkpoint(tmp_path)
    assert torch.equal(tensors["module.second.weight"], net.second.weight)


def test_explosion(tmp_path):
    with pytest.raises(FitError, match=r"text-rbm: loss exploded from \d.* to \d.* at step 17"):
        attempt(tmp_path, explode_at=17)
    assert toy.read_checkpoint(tmp_path)[1]["step"] == 15


def test_a_loss_that_starts_at_zero_may_grow():
    module = torch.nn.Linear(1, 1)
    objective = toy.LossObjective(module, lambda rows, step, random: {"hinge": module.weight.sum() * 0 + step / 10})
    assert train(objective, LoopSettings(steps=30, device="cpu"), count=3).steps == 30


def test_a_real_divergence_is_caught():
    with pytest.raises(FitError, match="lower the learning rate \\(it was 100"):
        attempt(None, settings=toy.toy_settings(rate=Constant(100.0), steps=500))


class BrokenWeights:
    """The figure looks fine while one weight is lost."""

    def __init__(self):
        self.module = torch.nn.Linear(2, 2)

    def gradients(self, rows, step, random):
        self.module.weight.grad = torch.full((2, 2), float("inf") if step == 12 else 0.0)
        self.module.bias.grad = torch.zeros(2)
        return {"figure": torch.ones(())}


@pytest.mark.parametrize("keywords", [{}, {"validate": lambda: 1.0}])
def test_lost_weights_are_never_checkpointed_nor_validated(tmp_path, keywords):
    settings = LoopSettings(steps=30, checkpoint_every=5, validate_every=5, device="cpu")
    with pytest.raises(FitError, match="the parameter 'weight' stopped being finite at step 14"):
        train(BrokenWeights(), settings, count=4, folder=tmp_path, **keywords)
    tensors, record = toy.read_checkpoint(tmp_path)
    assert record["step"] == 10
    assert torch.isfinite(tensors["module.weight"]).all()


def test_lost_gradients_are_caught_at_once_when_clipping():
    settings = LoopSettings(steps=30, clip_norm=1.0, device="cpu")
    with pytest.raises(FitError, match="the norm of the gradients became inf at step 12"):
        train(BrokenWeights(), settings, count=4)


def test_a_score_that_is_not_a_number(tmp_path):
    with pytest.raises(FitError, match="the validation score became nan at step 6"):
        attempt(tmp_path, validate=lambda: float("nan"))


def test_a_secondary_figure_may_be_undefined(tmp_path):
    module = torch.nn.Linear(1, 1)
    objective = toy.LossObjective(module, lambda rows, step, random: {"loss": module.weight.sum()})
    plain = objective.gradients
    objective.gradients = lambda *args: {**plain(*args), "similar_distance": torch.tensor(float("nan"))}
    settings = LoopSettings(steps=20, log_every=7, checkpoint_every=5, device="cpu")
    train(objective, settings, count=3, folder=tmp_path)
    again = train(objective, settings, count=3, folder=tmp_path)
    assert again.resumed_from == 20
    assert again.rows[0]["similar_distance"] != again.rows[0]["similar_distance"]
