"""The optimiser: torch's own, with its rate and momentum set anew at every step."""

import torch

from diptych.training.bundle import Tensors
from diptych.training.settings import LoopSettings


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
