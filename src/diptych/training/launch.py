"""Start the processes that train together, and report once why they failed."""

import contextlib
import json
import logging
import os
import signal
import socket
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import torch
from torch.distributed.elastic.multiprocessing.api import DefaultLogsSpecs, SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, get_error_handler
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from diptych._core import errors
from diptych._core.errors import ConfigError, DiptychError, FitError
from diptych.training.distributed import THREADS_ALONE, World, joined

LOCALHOST = "127.0.0.1"


def check_devices(count: int, device: str) -> None:
    """Refuse a number of processes that this machine cannot serve.

    Args:
        count: how many processes.
        device: where they train: "auto", "cpu" or "cuda"; each process takes a CUDA device of its own.

    Raises:
        ConfigError: if there are fewer CUDA devices, or the device is one that processes cannot share.
    """
    if count < 1:
        raise ConfigError(f"devices is {count}; it must be 1 or more.")
    if count == 1 or device == "cpu":
        return
    available = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device == "cuda" or (device == "auto" and available):
        if count > available:
            raise ConfigError(
                f"devices is {count} but torch sees {available} CUDA devices; ask for fewer, or set device=cpu "
                "to train with as many processes on the CPU."
            )
    elif device != "auto" or torch.backends.mps.is_available():
        raise ConfigError(f"devices is {count} and device is '{device}'; several processes need device=cuda or cpu.")


def launch(command: Sequence[str], count: int) -> None:
    """Run a command of this Python `count` times at once under torch's launcher, on this machine alone.

    The commands call `worker`. When one of them fails the others are ended.

    Args:
        command: the arguments of the interpreter.
        count: how many processes.

    Raises:
        DiptychError: the error that a worker reported first, or what killed it.
        RuntimeError: with a worker's traceback, for an error that nobody raised on purpose.
    """
    with tempfile.TemporaryDirectory(prefix="diptych-") as folder, _environment(_worker_settings(count)), _no_logging():
        config = LaunchConfig(
            min_nodes=1,
            max_nodes=1,
            nproc_per_node=count,
            run_id=uuid.uuid4().hex,
            rdzv_backend="c10d",
            rdzv_endpoint=f"{LOCALHOST}:0",
            local_addr=LOCALHOST,
            max_restarts=0,
            logs_specs=DefaultLogsSpecs(log_dir=folder),
        )
        try:
            elastic_launch(config, sys.executable)(*command)
        except ChildFailedError as failed:
            raise _reported(Path(folder), failed) from None
        except SignalException as stopped:
            if stopped.sigval == signal.SIGINT:
                raise KeyboardInterrupt from None
            sys.exit(128 + stopped.sigval)


@contextlib.contextmanager
def worker() -> Iterator[World]:
    """Join the other workers for the time of the block; an error goes to the launcher instead of the terminal."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that unfinished files are deleted
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    if os.environ["RANK"] != "0":
        _mute()
    try:
        with joined() as world:
            yield world
    except BaseException as error:
        if not isinstance(error, SystemExit):
            get_error_handler().record_exception(error)
        sys.stdout.flush()
        sys.stderr.flush()
        # Files are closed by now. A usual exit would tear down torch's connections while they are in use, and abort.
        os._exit(2 if isinstance(error, DiptychError) else 1)


def _mute() -> None:
    """Discard what this process prints: the first process prints the same."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _end_with(parent: int) -> None:
    """End this process when its parent process is gone."""
    while os.getppid() == parent:
        time.sleep(1)
    os.kill(os.getpid(), signal.SIGTERM)


def _worker_settings(count: int) -> dict[str, str]:
    threads = torch.get_num_threads()
    settings = {} if "OMP_NUM_THREADS" in os.environ else {"OMP_NUM_THREADS": str(max(1, threads // count))}
    settings[THREADS_ALONE] = str(threads)
    settings["TORCH_CPP_LOG_LEVEL"] = os.environ.get("TORCH_CPP_LOG_LEVEL", "ERROR")
    loopback = [name for _, name in socket.if_nameindex() if name in ("lo", "lo0")]
    if loopback and "GLOO_SOCKET_IFNAME" not in os.environ:
        # Without it gloo asks the network for the address of this machine's name.
        settings["GLOO_SOCKET_IFNAME"] = loopback[0]
    return settings


@contextlib.contextmanager
def _environment(settings: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _no_logging() -> Iterator[None]:
    """Silence the logging of torch's launcher; errors are reported afterwards."""
    before = logging.root.manager.disable
    logging.disable()
    try:
        yield
    finally:
        logging.disable(before)


def _reported(folder: Path, failed: ChildFailedError) -> Exception:
    """The error to show: one raised on purpose, else a killing, else the first that was written down."""
    files = sorted(folder.rglob("error.json"), key=lambda path: path.stat().st_mtime_ns)
    reports = [json.loads(path.read_text())["message"] for path in files]
    for report in reports:
        kind, _, sentence = report["message"].partition(": ")
        if issubclass(getattr(errors, kind, type), DiptychError):
            error: Exception = getattr(errors, kind)(sentence)
            return error
    for rank, failure in failed.failures.items():
        if failure.exitcode < 0 and -failure.exitcode != signal.SIGTERM:
            name = signal.Signals(-failure.exitcode).name
            return FitError(f"process {rank} was killed ({name}), often for lack of memory; ask for fewer devices.")
    return RuntimeError(reports[0]["extraInfo"]["py_callstack"] if reports else str(failed))
