"""What processes do together in the tests of distributed training; each leaves what it ended with in a file."""

import contextlib
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
import torch.multiprocessing

from diptych.nets.metric_learning import MetricObjective, MetricOptions, MetricRows
from diptych.nets.pathways import Pathways
from diptych.nets.rows import MixedBatches
from diptych.training import Constant, Cosine, LoopSettings, StageCache, train, train_cached
from diptych.training.distributed import World, joined
from diptych.training.steps import write_bundle
from nets import small_cdmlmr
from training.toy import ROWS, ToyNet, toy_objective, toy_score, toy_settings

SIZES = {"image": 7, "text": 5}
POOLS = {"image": 6, "text": 3}
"""Fewer texts than a batch asks for, so that the modalities' batches differ in length."""

LABELLED = 40


def metric_objective() -> MetricObjective:
    """A small two-branch net in double precision: what differs from one process by more than rounding is a mistake."""
    random = torch.Generator().manual_seed(5)
    net = Pathways(SIZES, random, widths=(8, 8), branch_width=6).double()
    rows = {}
    for name, width in SIZES.items():
        shapes = [(count, each) for each in (width, 3) for count in (LABELLED, POOLS[name])]
        rows[name] = MetricRows(*(torch.randn(shape, generator=random).double() for shape in shapes))
    options = MetricOptions(neighbours=3, contrastive_margin=1.0, quadruplet_margin=1.0)
    return MetricObjective(net, rows, torch.arange(LABELLED) % 4, options)


def metric_batches(size: int) -> MixedBatches:
    return MixedBatches(LABELLED, POOLS, size, seed=3, labelled_share=0.6)


def metric_settings(**changes: object) -> LoopSettings:
    defaults = LoopSettings(
        12, rate=Constant(0.3), weight_decay=1e-3, clip_norm=0.5, device="cpu", log_every=4, checkpoint_every=4
    )
    return replace(defaults, **changes)


def train_metric(folder: Path | None = None, batch: int = 15, **changes: object):
    """Train the small net with the world as it is, and return it with its history."""
    objective = metric_objective()
    validate = changes.pop("validate", None)
    history = train(
        objective, metric_settings(**changes), batches=metric_batches(batch), folder=folder, validate=validate
    )
    return objective, history


def first_gradients(batch: int) -> dict[str, torch.Tensor]:
    """The gradients of one step, read before the optimiser sees them."""
    objective, seen = metric_objective(), {}
    inner = objective.gradients

    def gradients(*arguments):
        figures = inner(*arguments)
        seen.update({name: value.grad.clone() for name, value in objective.module.named_parameters()})
        seen["loss"] = figures["loss"].clone()
        return figures

    objective.gradients = gradients
    train(objective, metric_settings(steps=1), batches=metric_batches(batch))
    return seen


def train_whole(**changes: object) -> dict[str, torch.Tensor]:
    """Train CDMLMR's small network as a whole, with dropout and mixup, and more unlabelled sounds than texts."""
    noisy = {"mixup": 0.4, "input_dropout": 0.2, "dropout": 0.3}
    objective = small_cdmlmr.make_objective(options=noisy)
    pools = {"sound": small_cdmlmr.POOL, "text": 3}
    batches = MixedBatches(small_cdmlmr.LABELLED, pools, 11, seed=3, labelled_share=0.6)
    settings = LoopSettings(
        8, optimizer="adamw", rate=Cosine(0.01, 8, 2), weight_decay=0.1, decay_biases=True, device="cpu",
        rate_multipliers={"towers.text.dbn": 0.1},
    )  # fmt: skip
    train(objective, replace(settings, **changes), batches=batches)
    return dict(objective.module.state_dict())


class KilledError(Exception):
    """Stands for the end of a process between two checkpoints."""


def train_and_be_killed(folder: Path, after: int) -> None:
    """Leave behind what a run by one process leaves that is killed after some steps."""
    objective = metric_objective()
    inner = objective.gradients

    def gradients(rows, step, random):
        if step == after:
            raise KilledError
        return inner(rows, step, random)

    objective.gradients = gradients
    with contextlib.suppress(KilledError):
        train(objective, metric_settings(), batches=metric_batches(15), folder=folder)


def scores(values: list[float]) -> Callable[[], float]:
    remaining = iter(values)
    return lambda: next(remaining)


def everything(world: World, folder: Path) -> None:
    """All that two processes are asked to do, one after the other."""

    def keep(name: str, tensors: dict[str, torch.Tensor], **record: object) -> None:
        write_bundle(folder / f"{name}-{world.rank}", dict(tensors), record)

    keep("gradients", first_gradients(15))
    objective, history = train_metric()
    keep("sgd", objective.module.state_dict(), rows=history.rows)
    again, _ = train_metric()
    keep("sgd-again", again.module.state_dict())
    keep("whole", train_whole())
    keep("adam", train_metric(optimizer="adam", rate=Constant(0.01))[0].module.state_dict())
    own_scores = [1.0, 2.0, 1.5, 1.0, 1.0, 1.0] if world.is_first else [9.0, 8.0, 7.0, 6.0, 5.0, 9.0]
    stopped, history = train_metric(validate=scores(own_scores), validate_every=2, patience=2)
    keep("stopped", stopped.module.state_dict(), steps=history.steps, best=history.best_step)
    resumed, history = train_metric(folder / "interrupted" if world.is_first else folder / "never")
    keep("resumed", resumed.module.state_dict(), resumed_from=history.resumed_from)

    if world.is_first:  # a net that was trained together can be trained alone: nothing still waits for the others
        objective.gradients(metric_batches(15)(0), 0, torch.Generator().manual_seed(0))

    net = ToyNet()
    judge = (lambda: toy_score(net)) if world.is_first else scores([])
    history = train(
        toy_objective(net), toy_settings(), count=ROWS, validate=judge, folder=folder / f"toy-work-{world.rank}"
    )
    keep("toy", net.state_dict(), validations=history.validations)

    for attempt in range(2):
        objective = metric_objective()
        stage = train_cached(
            StageCache(folder / f"cache-{world.rank}"), "metric", objective, metric_settings(),
            inputs={"rank": str(world.rank)}, options={}, batches=metric_batches(15),
        )  # fmt: skip
        record = {"key": stage.key, "from_cache": stage.from_cache, "steps": stage.history.steps}
        keep(f"cached-{attempt}", objective.module.state_dict(), **record)


def few_rows(world: World, folder: Path) -> None:
    """Three processes and batches of two texts and four images: one process gets no text at all."""
    write_bundle(folder / f"few-{world.rank}", first_gradients(4), {})
    write_bundle(folder / f"few-trained-{world.rank}", dict(train_metric(batch=4)[0].module.state_dict()), {})


def _enter(rank: int, scenario: Callable[[World, Path], None], size: int, port: int, folder: Path) -> None:
    torch.set_num_threads(1)
    places = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in places.items()})
    with joined() as world:
        scenario(world, folder)
    threads = Path("/proc/self/task").glob("*/comm")
    left = [name for place in threads if (name := place.read_text().strip()).startswith(("pt_gloo", "gloo"))]
    (folder / f"threads-{rank}").write_text(" ".join(left))


def run_together(scenario: Callable[[World, Path], None], size: int, port: int, folder: Path) -> None:
    """Run a scenario in several processes and wait for all."""
    torch.multiprocessing.spawn(_enter, (scenario, size, port, folder), nprocs=size)
