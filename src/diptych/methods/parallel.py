"""Fit one method with several processes at once, for the command line."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec

from diptych._core.errors import ConfigError
from diptych.methods.registry import method_class

# Torch comes with an extra and loads slowly, so it is imported where it is needed: not for one process.


def check_parallel(method: str, devices: int, device: str) -> None:
    """Refuse a method or a machine that cannot use so many processes.

    Args:
        method: the method's name.
        devices: how many processes.
        device: the method's parameter of that name.

    Raises:
        ConfigError: if there are too few devices, or the method does not train by steps.
    """
    if devices < 1:
        raise ConfigError(f"devices is {devices}; it must be 1 or more.")
    if devices == 1:
        return
    if not _trains_by_steps(method):
        raise ConfigError(
            f"devices is {devices} but '{method}' does not train by steps; leave --devices out, or "
            "name a method that does, such as --method cdmlmr."
        )
    from diptych.training.launch import check_devices

    check_devices(devices, device)


def is_worker(devices: int) -> bool:
    """Whether this process is one of several that were started together, by `launch_workers` or by torchrun."""
    if devices == 1 or not {"LOCAL_RANK", "WORLD_SIZE"} <= os.environ.keys():
        return False
    if os.environ["WORLD_SIZE"] != str(devices):
        started = os.environ["WORLD_SIZE"]
        raise ConfigError(f"devices is {devices} but torchrun started {started} processes; make the numbers equal.")
    return True


def launch_workers(words: Sequence[str], devices: int) -> None:
    """Run a command of `diptych` in several processes at once; see `diptych.training.launch`."""
    from diptych.training.launch import launch

    launch(["-m", "diptych.cli", *words], devices)


@contextmanager
def working(devices: int) -> Iterator[bool]:
    """Fit as one of several workers, or by oneself; yield whether this process is the one that reports and saves."""
    if devices == 1:
        yield True
        return
    from diptych.training.launch import worker

    with worker() as world:
        yield world.is_first


def _trains_by_steps(method: str) -> bool:
    loaded = method_class(method)
    if find_spec("torch") is None:
        return False
    from diptych.methods.deep.deep_method import DeepMethod

    return issubclass(loaded, DeepMethod)
