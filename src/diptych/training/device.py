"""Which device trains, and how rows get there."""

from typing import TypeVar

import torch

from diptych._core.errors import ConfigError

RowsT = TypeVar("RowsT")


def pick_device(name: str) -> torch.device:
    """Turn `auto`, `cpu`, `cuda`, `cuda:1` or `mps` into a device that is really there.

    Raises:
        ConfigError: If the name is unknown or the device is absent.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    kind, _, number = name.partition(":")
    if kind not in ("cpu", "cuda", "mps") or (number and not number.isdigit()):
        raise ConfigError(f"device is '{name}'; it must be auto, cpu, cuda, cuda:<number> or mps.")
    if kind == "cuda" and not torch.cuda.is_available():
        raise ConfigError(
            f"device is '{name}' but torch sees no CUDA device; use cpu or install a CUDA build of torch."
        )
    if kind == "cuda" and number and int(number) >= torch.cuda.device_count():
        raise ConfigError(f"device is '{name}' but there are {torch.cuda.device_count()} CUDA devices, counted from 0.")
    if kind == "mps" and not torch.backends.mps.is_available():
        raise ConfigError(f"device is '{name}' but torch sees no Apple GPU; use cpu.")
    return torch.device(name)


def to_device(rows: RowsT, device: torch.device) -> RowsT:
    """Move a tensor, or the tensors inside a tuple, list or dict, to the device."""
    moved: object = rows
    if isinstance(rows, torch.Tensor):
        moved = rows.to(device)
    elif isinstance(rows, tuple) and hasattr(rows, "_make"):
        moved = type(rows)(*(to_device(part, device) for part in rows))
    elif isinstance(rows, tuple | list):
        moved = type(rows)(to_device(part, device) for part in rows)
    elif isinstance(rows, dict):
        moved = {name: to_device(part, device) for name, part in rows.items()}
    return moved  # type: ignore[return-value]
