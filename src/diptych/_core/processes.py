"""How this program uses cores and processes, and the interface by which work is spread over them."""

import ctypes
import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.util import Finalize
from typing import Any, Protocol, TypeVar

from diptych._core.errors import DataError

Task = TypeVar("Task")
Result = TypeVar("Result")
Pending = TypeVar("Pending")
_Taken = TypeVar("_Taken", contravariant=True)
_Given = TypeVar("_Given", covariant=True)

_MMAP_THRESHOLD, _LARGE_BLOCK = -3, 4 * 2**20
_ALLOCATOR = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_")
_AHEAD = 2
"""Tasks that wait for each worker, so that none is idle and few are in memory."""


class TaskWorker(Protocol[_Taken, _Given]):
    """What does tasks, one after the other."""

    def __call__(self, task: _Taken, /) -> _Given:
        """Do a task."""

    def close(self) -> None:
        """Close what is open."""


class Executor(Protocol):
    """Where tasks are done: in processes of this machine (`ProcessExecutor`) or on a cluster (`ClusterExecutor`).

    Attributes:
        shares_files: whether workers see the files of this process.
    """

    shares_files: bool

    def run(
        self, start: Callable[[], TaskWorker[Task, Result]], tasks: Iterable[Task], *, ordered: bool = False
    ) -> Iterator[tuple[Task, Result]]:
        """Do tasks by several workers, and yield each with its result when it is done.

        Args:
            start: makes a worker; called once in each process, so it is pickled, as tasks and results are.
            tasks: taken a few at a time.
            ordered: yield them in their order rather than as they end.
        """


def run_ahead(
    tasks: Iterable[Task],
    submit: Callable[[Task], Pending],
    wait_for: Callable[[list[Pending]], Iterable[Pending]],
    has_room: Callable[[list[Task], Task], bool],
    *,
    ordered: bool,
) -> Iterator[tuple[Task, Pending]]:
    """Keep workers busy: submit tasks while there is room, and yield those that are done.

    Args:
        tasks: what to do.
        submit: begins a task.
        wait_for: waits for some of the pending tasks, and returns those that are done.
        has_room: whether a task may begin beside those that are not done yet.
        ordered: whether to wait for the oldest one only.
    """
    running: dict[Pending, Task] = {}
    waiting = iter(tasks)
    task = next(waiting, None)
    while task is not None or running:
        while task is not None and (not running or has_room(list(running.values()), task)):
            running[submit(task)] = task
            task = next(waiting, None)
        for done in wait_for([next(iter(running))] if ordered else list(running)):
            yield running.pop(done), done


class ProcessExecutor:
    """Does tasks in processes of this machine, which end when this one does.

    Args:
        workers: how many.
    """

    shares_files = True

    def __init__(self, workers: int) -> None:
        self._workers = workers

    def run(
        self, start: Callable[[], TaskWorker[Task, Result]], tasks: Iterable[Task], *, ordered: bool = False
    ) -> Iterator[tuple[Task, Result]]:
        """Do tasks in parallel; see `Executor`.

        Raises:
            DataError: when a process died.
        """
        pool = ProcessPoolExecutor(self._workers, multiprocessing.get_context("spawn"), _start, (start,))
        most = self._workers * _AHEAD

        def submit(task: Task) -> Future[Result]:
            with interrupts_held_back():
                return pool.submit(_work, task)

        def wait_for(futures: list[Future[Result]]) -> Iterable[Future[Result]]:
            return wait(futures, return_when=FIRST_COMPLETED).done

        finished = False
        try:
            with roomy_allocator():  # the pool starts its processes as tasks come in
                for task, future in run_ahead(
                    tasks, submit, wait_for, lambda running, _: len(running) < most, ordered=ordered
                ):
                    yield task, future.result()
            finished = True
        except BrokenProcessPool:
            raise DataError(
                "a worker process died, perhaps for want of memory; the same command goes on from here, "
                "with fewer --workers if need be."
            ) from None
        finally:
            end_pool(pool, at_once=not finished)


_worker: TaskWorker[Any, Any] | None = None


def _start(start: Callable[[], TaskWorker[Any, Any]]) -> None:
    """Prepare a worker process, which ends when the process that started it does."""
    global _worker
    settle_worker()
    os.environ["OMP_NUM_THREADS"] = "1"  # for libraries that are not loaded yet
    _worker = start()
    Finalize(None, _worker.close, exitpriority=1)


def _work(task: Any) -> Any:  # noqa: ANN401 - as the worker has it
    if _worker is None:
        raise RuntimeError("the worker was not started")
    return _worker(task)


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


def settle_memory() -> None:
    """Leave what a server has loaded by now out of the garbage collector's rounds, which would hold up requests."""
    gc.collect()
    gc.freeze()


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
