"""Resume means identical: interrupted anywhere, a run ends with the bits of one that was not."""

import logging
import multiprocessing
import random
import signal
import time

import pytest
import torch

from diptych._core.progress import silent
from diptych.training import BatchOrder, train
from training import toy


class Interrupted(Exception):  # noqa: N818
    pass


def interrupt_at(step):
    def progress(stage, done, total, figures):
        if done >= step:
            raise Interrupted

    return progress


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamw"])
@pytest.mark.parametrize("validated", [True, False])
@pytest.mark.parametrize("cuts", [(31,), (3,), (9, 24, 44), (60,)])
def test_interrupted_equals_undisturbed(tmp_path, optimizer, validated, cuts):
    straight, straight_history = toy.train_toy(None, optimizer, validated=validated)
    for cut in cuts:
        with pytest.raises(Interrupted):
            toy.train_toy(tmp_path, optimizer, validated=validated, progress=interrupt_at(cut))
    resumed, history = toy.train_toy(tmp_path, optimizer, validated=validated)
    assert toy.same_weights(straight, resumed)
    assert history == straight_history
    if cuts == (31,):
        assert history.resumed_from == 30


def test_best_weights_and_patience_outlive_an_interruption(tmp_path):
    """The best score lies before the interruption, the end of patience after it."""

    def attempt(folder, progress):
        net, order, steps = toy.ToyNet(), BatchOrder(toy.ROWS, 16, 0), [0]

        def batches(step):
            steps.append(step + 1)
            return order(step)

        settings = toy.toy_settings(steps=100, validate_every=5, patience=6)
        keywords = {"batches": batches, "validate": lambda: -abs(steps[-1] - 20.0), "progress": progress}
        return net, train(toy.toy_objective(net), settings, folder=folder, stage="toy", **keywords)

    straight, straight_history = attempt(None, silent)
    with pytest.raises(Interrupted):
        attempt(tmp_path, interrupt_at(33))
    net, history = attempt(tmp_path, silent)
    assert (history.best_step, history.steps, history.stopped_early, history.resumed_from) == (20, 50, True, 30)
    assert history == straight_history
    assert toy.same_weights(net, straight)


def test_the_last_step_counts_too_when_nothing_is_validated(tmp_path):
    """Without keep-best the weights compared above are the last ones: make sure they still move at the end."""
    assert not toy.same_weights(
        toy.train_toy(None, validated=False)[0], toy.train_toy(None, steps=59, validated=False)[0]
    )


def test_noise_and_dropout_matter(tmp_path):
    assert not toy.same_weights(toy.train_toy(None)[0], toy.train_toy(None, seed=1)[0])


@pytest.fixture(scope="module")
def processes():
    """Processes that start with torch already imported."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["diptych.training", "torch._dynamo"])
    return context


def kill_while_training(process, folder, draw, *, checkpointed):
    """Send SIGKILL some steps after the process has begun to train; return how it ended."""
    log = folder / "log.csv"
    before = log.stat().st_mtime_ns if log.exists() else 0
    process.start()
    deadline = time.monotonic() + 60
    while process.is_alive() and time.monotonic() < deadline:
        has_begun = log.exists() and log.stat().st_mtime_ns != before
        if has_begun and (not checkpointed or (folder / "checkpoint.safetensors").exists()):
            break
        time.sleep(0.001)
    time.sleep(draw.uniform(0.0, 0.2))
    process.kill()
    process.join()
    return process.exitcode


@pytest.mark.parametrize(("attempt", "optimizer"), [(0, "sgd"), (1, "adam"), (2, "sgd")])
def test_killed_at_a_random_moment(tmp_path, processes, attempt, optimizer):
    draw = random.Random(attempt)
    for kill in range(3):
        process = processes.Process(target=toy.train_slowly, args=(tmp_path, optimizer))
        assert kill_while_training(process, tmp_path, draw, checkpointed=kill > 0) == -signal.SIGKILL
    _, record = toy.read_checkpoint(tmp_path)
    assert 0 < record["step"] < 300
    resumed, history = toy.train_toy(tmp_path, optimizer, steps=300, log_every=1)
    straight, straight_history = toy.train_toy(None, optimizer, steps=300, log_every=1)
    assert toy.same_weights(straight, resumed)
    assert history == straight_history
    assert history.resumed_from >= record["step"]
    steps = [int(line.split(",")[0]) for line in (tmp_path / "log.csv").read_text().splitlines()[1:]]
    assert steps == list(range(1, 301))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint.safetensors", "log.csv", "validation.csv"]


def test_a_finished_stage_is_not_trained_again(tmp_path):
    first, history = toy.train_toy(tmp_path)
    net = toy.ToyNet(seed=9)
    objective = toy.toy_objective(net)
    objective.gradients = None
    again = train(objective, toy.toy_settings(), count=toy.ROWS, folder=tmp_path, stage="toy", validate=lambda: 1 / 0)
    assert toy.same_weights(first, net)
    assert again == history
    assert not net.training


@pytest.mark.parametrize("change", [{"steps": 61}, {"seed": 1}, {"weight_decay": 0.0}, {"patience": 50}])
def test_a_checkpoint_of_other_settings_is_not_used(tmp_path, caplog, change):
    toy.train_toy(tmp_path)
    with caplog.at_level(logging.WARNING):
        net, history = toy.train_toy(tmp_path, **change)
    assert f"is of another run ({next(iter(change))}" in caplog.text
    assert "starts over" in caplog.text
    straight, straight_history = toy.train_toy(None, **change)
    assert toy.same_weights(net, straight)
    assert history == straight_history
    assert history.resumed_from == 0


def test_other_key_stage_or_network_start_over(tmp_path, caplog):
    toy.train_toy(tmp_path)
    for keywords in ({"stage": "other"}, {"stage": "toy", "key": "data 2"}):
        net = toy.ToyNet()
        history = train(toy.toy_objective(net), toy.toy_settings(), count=toy.ROWS, folder=tmp_path, **keywords)
        assert history.resumed_from == 0
    net = toy.ToyNet().double()
    objective = toy.LossObjective(net, lambda rows, step, random: {"size": net.second.weight.square().sum()})
    assert train(objective, toy.toy_settings(), count=5, folder=tmp_path, stage="toy", key="data 2").resumed_from == 0
    assert caplog.text.count("is of another run") == 3


def test_settings_without_effect_on_weights_may_change(tmp_path):
    with pytest.raises(Interrupted):
        toy.train_toy(tmp_path, progress=interrupt_at(31))
    net, history = toy.train_toy(tmp_path, checkpoint_every=13, explosion_factor=1e9)
    assert history.resumed_from == 30
    assert toy.same_weights(net, toy.train_toy(None)[0])


def test_never_starts_over(tmp_path):
    toy.train_toy(tmp_path)
    net = toy.ToyNet()
    history = train(
        toy.toy_objective(net), toy.toy_settings(), count=toy.ROWS, folder=tmp_path, stage="toy", resume="never"
    )
    assert (history.resumed_from, history.steps) == (0, 60)


def test_a_longer_run_can_go_on_from_a_finished_one(tmp_path):
    """Without validation and off-beat log points, going on from 60 to 120 is 120 straight."""
    toy.train_toy(tmp_path, validated=False)
    net = toy.ToyNet(seed=5)
    history = train(
        toy.toy_objective(net),
        toy.toy_settings(steps=120),
        count=toy.ROWS,
        folder=tmp_path,
        stage="toy",
        resume="changed",
    )
    straight, straight_history = toy.train_toy(None, steps=120, validated=False)
    assert history.resumed_from == 60
    assert toy.same_weights(net, straight)
    assert history == straight_history


def test_another_optimizer_can_take_over(tmp_path):
    toy.train_toy(tmp_path, "sgd", validated=False)
    net = toy.ToyNet()
    history = train(toy.toy_objective(net), toy.toy_settings("adam", steps=80), count=toy.ROWS, folder=tmp_path,
                    stage="toy", resume="changed")  # fmt: skip
    assert (history.resumed_from, history.steps) == (60, 80)


def test_a_damaged_checkpoint_starts_over(tmp_path, caplog):
    straight, _ = toy.train_toy(tmp_path)
    path = tmp_path / "checkpoint.safetensors"
    content = bytearray(path.read_bytes())
    content[-20] ^= 1
    path.write_bytes(content)
    net, history = toy.train_toy(tmp_path)
    assert "does not match its checksum" in caplog.text
    assert history.resumed_from == 0
    assert toy.same_weights(net, straight)


def test_global_randomness_is_left_alone():
    objective = toy.toy_objective(toy.ToyNet())
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    train(objective, toy.toy_settings(), count=toy.ROWS)
    assert torch.equal(torch.rand(3), expected)
    assert not torch.are_deterministic_algorithms_enabled()
