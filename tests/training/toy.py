"""A small network that uses everything a resumed run must get right: noise, dropout, a buffer, tied weights."""

import time
from pathlib import Path

import numpy as np
import torch

from diptych._core.seeding import generator
from diptych.training import Constant, History, InverseT, LoopSettings, Ramp, StageCache, train, train_cached
from diptych.training.run import CHECKPOINT
from diptych.training.steps import read_bundle

ROWS, WIDTH = 50, 6


class LossObjective:
    """An objective that descends the sum of named losses by back-propagation."""

    def __init__(self, module, loss_fn) -> None:
        self.module = module
        self.loss_fn = loss_fn

    def gradients(self, rows, step, random) -> dict[str, torch.Tensor]:
        losses = self.loss_fn(rows, step, random)
        total = torch.stack(list(losses.values())).sum()
        total.backward()
        parts = {name: loss.detach() for name, loss in losses.items()}
        return parts if len(parts) == 1 else {"loss": total.detach(), **parts}


def read_checkpoint(folder: Path):
    return read_bundle(folder / CHECKPOINT)


class ToyNet(torch.nn.Module):
    """Two layers with dropout, a running mean, and a decoder tied to the first layer."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        random = torch.Generator().manual_seed(seed)
        self.first = torch.nn.Linear(WIDTH, 8)
        self.second = torch.nn.Linear(8, 1)
        self.tied = self.first
        self.dropout = torch.nn.Dropout(0.3)
        self.register_buffer("running", torch.zeros(8))
        for parameter in self.parameters():
            parameter.data = torch.randn(parameter.shape, generator=random) * 0.3

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = torch.tanh(self.first(x))
        if self.training:
            self.running = 0.9 * self.running + 0.1 * hidden.detach().mean(0)
        return self.second(self.dropout(hidden - self.running)).squeeze(1)


def toy_data() -> tuple[torch.Tensor, torch.Tensor]:
    draw = generator(7, "toy")
    x = torch.from_numpy(draw.normal(size=(ROWS, WIDTH))).float()
    return x, torch.sin(x[:, 0]) + 0.1 * x[:, 1]


def toy_objective(net: ToyNet, *, nan_at: int | None = None, explode_at: int | None = None) -> LossObjective:
    x, y = toy_data()

    def loss(rows: torch.Tensor, step: int, random: torch.Generator) -> dict[str, torch.Tensor]:
        noise = 0.1 * torch.randn(len(rows), WIDTH, generator=random)
        error = ((net(x[rows] + noise) - y[rows]) ** 2).mean()
        if nan_at is not None and step >= nan_at:
            error = error * float("nan")
        if explode_at is not None and step >= explode_at:
            error = error * 1e9
        return {"error": error, "size": 0.001 * net.second.weight.square().sum()}

    return LossObjective(net, loss)


def toy_score(net: ToyNet) -> float:
    x, y = toy_data()
    with torch.no_grad():
        return -float(((net(x) - y) ** 2).mean())


def toy_settings(optimizer: str = "sgd", **changes: object) -> LoopSettings:
    defaults = {
        "steps": 60, "batch_size": 16, "optimizer": optimizer, "momentum": Ramp(0.5, 0.9, 20.0), "weight_decay": 1e-3,
        "rate": InverseT(0.05, 50.0) if optimizer == "sgd" else Constant(0.01), "validate_every": 7,
        "checkpoint_every": 5, "log_every": 4, "device": "cpu",
    }  # fmt: skip
    return LoopSettings(**{**defaults, **changes})


def train_toy(
    folder: Path | None, optimizer: str = "sgd", *, validated: bool = True, progress=None, **changes: object
) -> tuple[ToyNet, History]:
    net = ToyNet()
    keywords = {} if progress is None else {"progress": progress}
    history = train(
        toy_objective(net), toy_settings(optimizer, **changes), count=ROWS, folder=folder, stage="toy",
        validate=(lambda: toy_score(net)) if validated else None, **keywords,
    )  # fmt: skip
    return net, history


def same_weights(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    """Whether two modules agree in every bit."""
    a, b = one.state_dict(), other.state_dict()
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def train_slowly(folder: Path, optimizer: str) -> None:
    """A run that leaves time to kill it at any step."""
    torch.set_num_threads(1)
    train_toy(folder, optimizer, steps=300, log_every=1, progress=lambda *_: time.sleep(0.003))


def cached_stage(root, *, seed=0, inputs=None, options=None, upstream=(), fault=None, **settings):
    """Train the toy through a cache, or find it there."""
    net = ToyNet(seed)
    done = train_cached(
        StageCache(root), "toy", toy_objective(net, nan_at=fault), toy_settings(**settings),
        inputs=inputs or {"x": np.arange(12.0).reshape(4, 3)}, options=options or {}, upstream=upstream, count=ROWS,
        validate=lambda: toy_score(net),
    )  # fmt: skip
    return net, done


def train_in_a_process(root, queue) -> None:
    """Do it in a process of its own, which finds this module by its name but no test module."""
    torch.set_num_threads(1)
    net, done = cached_stage(Path(root))
    queue.put((done.from_cache, net.second.weight.tolist()))
