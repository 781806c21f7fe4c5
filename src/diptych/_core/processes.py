"""How this program uses cores and processes."""

import ctypes
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

_MMAP_THRESHOLD, _LARGE_BLOCK = -3, 4 * 2**20
_ALLOCATOR = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_")


def usable_cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def roomy_allocator() -> Iterator[None]:
    """Let processes that are started in this block keep the memory they free, unless the user decided about that.

    Otherwise memory goes back to the system after every layer of a net, which takes as long as the layer itself. The
    C library reads these settings when a process starts, so that this one stays as it is.
    """
    ours = [name for name in _ALLOCATOR if name not in os.environ]
    os.environ.update({name: str(2**32) for name in ours})
    try:
        yield
    finally:
        for name in ours:
            os.environ.pop(name, None)


def give_memory_back() -> None:
    """Have the C library return large blocks to the system as soon as they are free.

    It otherwise learns from the first large image to keep such blocks, in pieces that fit nothing else.
    """
    try:
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _LARGE_BLOCK)
    except (AttributeError, OSError, TypeError):  # another C library, which has its own ways
        return


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """Let Ctrl-C wait until the block ends; processes that are started in it are never interrupted by it at all.

    A terminal sends the interrupt to every process of the command. One that is still importing its modules would print
    a traceback, long before it can decide otherwise.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_pool(pool: ProcessPoolExecutor, *, at_once: bool) -> None:
    """Close a pool of workers; at once where what they have at hand is no longer wanted."""
    with interrupts_held_back():
        if at_once:
            for process in list((getattr(pool, "_processes", None) or {}).values()):
                process.terminate()
        pool.shutdown(cancel_futures=True)


def settle_worker() -> None:
    """Prepare a worker process: it finishes what it has at hand on an interrupt, and ends when its parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Leave no process behind when the one that started this one is killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
