"""The state of one training run: its optimiser, its best weights, and the checkpoint it resumes from."""

import logging
from pathlib import Path
from typing import Any, Literal, Self

import torch

from diptych._core.errors import ConfigError, DataError
from diptych.data.dataset_files import hash_records
from diptych.training.distributed import World, pick_device
from diptych.training.monitoring import EarlyStop, FigureWindow, History
from diptych.training.settings import LoopSettings
from diptych.training.steps import Record, Tensors, delete_unfinished, read_bundle, write_bundle


def make_optimizer(module: torch.nn.Module, settings: LoopSettings) -> torch.optim.Optimizer:
    """Return the optimiser over the module's parameters, weights (two dimensions or more) apart from the rest."""
    groups: dict[tuple[bool, float], list[torch.nn.Parameter]] = {}
    for name, parameter in module.named_parameters():
        if parameter.requires_grad:
            groups.setdefault((parameter.ndim >= 2, _multiplier(name, settings)), []).append(parameter)
    bias_decay = settings.weight_decay if settings.decay_biases else 0.0
    options = [
        {
            "params": parameters,
            "weight_decay": settings.weight_decay if is_weight else bias_decay,
            "multiplier": multiplier * (1.0 if is_weight else settings.bias_rate_multiplier),
        }
        for (is_weight, multiplier), parameters in sorted(groups.items(), key=lambda item: item[0], reverse=True)
    ]
    fused = all(p.device.type in ("cpu", "cuda") for part in groups.values() for p in part)  # one pass over memory
    rate, momentum = settings.rate.at(0), settings.momentum.at(0)
    if settings.optimizer == "adam":
        return torch.optim.Adam(options, lr=rate, betas=(momentum, 0.999), fused=fused)
    if settings.optimizer == "adamw":
        return torch.optim.AdamW(options, lr=rate, betas=(momentum, 0.999), fused=fused)
    return torch.optim.SGD(options, lr=rate, momentum=momentum, fused=fused)


def _multiplier(name: str, settings: LoopSettings) -> float:
    """The factor of a parameter's rate: that of the longest prefix that fits its name."""
    fitting = [prefix for prefix in settings.rate_multipliers if name.startswith(prefix)]
    return settings.rate_multipliers[max(fitting, key=len)] if fitting else 1.0


def set_rate_and_momentum(optimizer: torch.optim.Optimizer, rate: float, momentum: float) -> None:
    """Set what the next step uses; momentum is the first beta under Adam."""
    for group in optimizer.param_groups:
        group["lr"] = rate * group["multiplier"]
        if "betas" in group:
            group["betas"] = (momentum, group["betas"][1])
        else:
            group["momentum"] = momentum


def optimizer_tensors(optimizer: torch.optim.Optimizer, module: torch.nn.Module) -> Tensors:
    """Return what the optimiser remembers, under the name of each parameter."""
    return {
        f"{name}.{memory}": value
        for name, parameter in module.named_parameters()
        for memory, value in optimizer.state.get(parameter, {}).items()
        if value is not None
    }


def restore_optimizer(optimizer: torch.optim.Optimizer, module: torch.nn.Module, tensors: Tensors) -> None:
    """Give the optimiser back what `optimizer_tensors` took from it."""
    parameters = dict(module.named_parameters())
    optimizer.state.clear()
    for full_name, value in tensors.items():
        name, _, memory = full_name.rpartition(".")
        parameter = parameters[name]
        # Adam keeps its step counter where it was made: beside the parameter only when fused.
        device = parameter.device if memory != "step" or optimizer.defaults.get("fused") else torch.device("cpu")
        optimizer.state[parameter][memory] = value.to(device, copy=True)


class Run:
    """A stage in training; the random numbers are missing because they depend on the step alone."""

    def __init__(self, stage: str, key: str, module: torch.nn.Module, settings: LoopSettings) -> None:
        self.device = pick_device(settings.device)
        self.module = module.to(self.device)
        self.settings = settings
        self.made_by = {"stage": stage, "key": key, "network": signature(module), **settings.decisive()}
        self.optimizer = make_optimizer(module, settings)
        self.window = FigureWindow(settings.explosion_factor)
        self.stop = EarlyStop(settings.patience, settings.minimum_improvement)
        self.history = History(stage)
        self.best: Tensors | None = None
        self.step = 0
        self.saved_step: int | None = None
        self.finished = False

    @property
    def identity(self) -> str:
        """Hash everything known to decide the outcome: only a run with the same hash may be taken up."""
        return hash_records([self.made_by])

    def remember_best(self) -> None:
        """Keep a copy of the weights as they are."""
        self.best = {name: tensor.detach().clone() for name, tensor in self.module.state_dict().items()}

    def settle(self) -> Self:
        """End with the best weights in the module, ready to be used."""
        if self.best is not None:
            self.module.load_state_dict(self.best)
        self.module.eval()
        return self

    def to_bundle(self) -> tuple[Tensors, Record]:
        """Return the tensors by dotted name and the rest as JSON."""
        parts = {
            "module": self.module.state_dict(),
            "optimizer": optimizer_tensors(self.optimizer, self.module),
            "best": self.best or {},
        }
        tensors = {f"{part}.{name}": tensor for part, content in parts.items() for name, tensor in content.items()}
        record = {
            "identity": self.identity,
            "made_by": self.made_by,
            "step": self.step,
            "finished": self.finished,
            "optimizer": self.settings.optimizer,
            "window": self.window.to_json(),
            "stop": self.stop.to_json(),
            "history": self.history.to_json(),
        }
        return tensors, record

    def follow_first(self, world: World) -> None:
        """Become what the run is in the first process of a world."""
        if not world.is_shared:
            return
        state = world.hand_over(self.to_bundle() if world.is_first else None)
        if state is not None and not world.is_first:
            self.restore(*state)

    def restore(self, tensors: Tensors, record: Record) -> None:
        """Go back to what `to_bundle` returned; another optimiser starts without memory."""
        parts: dict[str, Tensors] = {"module": {}, "optimizer": {}, "best": {}}
        for full_name, tensor in tensors.items():
            part, _, name = full_name.partition(".")
            parts[part][name] = tensor
        self.module.load_state_dict(parts["module"])
        if record["optimizer"] == self.settings.optimizer:
            restore_optimizer(self.optimizer, self.module, parts["optimizer"])
        self.best = parts["best"] or None
        self.window.restore(record["window"])
        self.stop.restore(record["stop"])
        self.history = History.from_json(record["history"])
        self.step, self.finished = record["step"], record["finished"]
        self.history.resumed_from = self.saved_step = self.step


def signature(module: torch.nn.Module) -> str:
    """Hash the names, types and shapes of what a module learns."""
    state = module.state_dict()
    return hash_records([name, str(tensor.dtype), list(tensor.shape)] for name, tensor in state.items())


CHECKPOINT = "checkpoint.safetensors"
Resume = Literal["same", "changed", "never"]
_log = logging.getLogger(__name__)


def write_checkpoint(folder: Path, run: Run) -> None:
    """Replace the folder's checkpoint by the run as it is."""
    write_bundle(folder / CHECKPOINT, *run.to_bundle())
    run.saved_step = run.step


def resume_run(run: Run, folder: Path, resume: Resume) -> None:
    """Bring the run to where the folder's checkpoint left it, or leave it fresh and say why.

    `same` takes up only the very same stage, settings and key, `changed` takes up the stage under other
    settings, `never` starts over.
    """
    path = folder / CHECKPOINT
    delete_unfinished(path)
    if resume == "never" or not path.exists():
        return
    try:
        tensors, record = read_bundle(path)
    except DataError as error:
        _log.warning("%s Training starts over.", error)
        return
    if record["identity"] != run.identity:
        differences = _differences(record["made_by"], run.made_by)
        if resume == "same":
            _log.warning("The checkpoint in %s is of another run (%s); training starts over.", folder, differences)
            return
        _log.warning("Training goes on from step %d with changes: %s.", record["step"], differences)
        record["finished"] = record["step"] >= run.settings.steps
    try:
        run.restore(tensors, record)
    except (RuntimeError, KeyError) as error:  # RuntimeError is how torch reports other shapes or names
        raise ConfigError(
            f"the checkpoint in {folder} does not fit this network ({error}); empty the folder."
        ) from None


def _differences(before: dict[str, Any], now: dict[str, Any]) -> str:
    return ", ".join(f"{name} {before.get(name)} -> {now[name]}" for name in now if before.get(name) != now[name])
