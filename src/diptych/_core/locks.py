"""One process at a time: a lock on a file, released by the system when its holder ends, however it ends."""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None  # type: ignore[assignment]

_log = logging.getLogger(__name__)

_LOOK_S, _LOOK_SELDOM_S = 0.005, 0.2
"""Whoever waits for a limited time looks often: others that take the lock again and again leave it free for moments."""


@contextmanager
def file_lock(path: Path, *, waiting_for: str = "", timeout_s: float = -1) -> Iterator[bool]:
    """Hold the lock file at `path`, which stays behind because others may wait on it.

    Args:
        path: the lock file; its folder is made if need be.
        waiting_for: what is said in the log while another process holds the lock; empty to say nothing.
        timeout_s: how long to wait: 0 not at all, negative without limit.

    Yields:
        Whether the lock is held; False once the time is over.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, thread_local=False)
    try:
        try:
            lock.acquire(timeout=0)
        except Timeout:
            if timeout_s == 0:
                raise
            if waiting_for:
                _log.info("Waiting for another process: %s.", waiting_for)
            lock.acquire(timeout=timeout_s, poll_interval=_LOOK_S if timeout_s > 0 else _LOOK_SELDOM_S)
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


@contextmanager
def claim(path: Path) -> Iterator[bool]:
    """Hold a file or folder that only one process may use, such as a temporary one; gives False if it is held or gone.

    What can be claimed once its maker has ended is left over from a crash. Where the system cannot tell, nothing can.
    """
    if fcntl is None:
        yield False
        return
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        yield False
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        mine = path.exists()  # whoever held it before may have removed it
    except OSError:
        mine = False
    try:
        yield mine
    finally:
        os.close(descriptor)


@contextmanager
def claim_new(make: Callable[[], Path]) -> Iterator[Path]:
    """Make a temporary file or folder and hold it; made again if another process swept it up before it was held."""
    for attempts_left in (2, 1, 0):
        path = make()
        with claim(path) as mine:
            if mine or not attempts_left:  # where the system has no such locks, nobody else can claim it either
                yield path
                return
