"""Work that is spread over the workers of a Dask cluster: the same tasks and results as in processes of this machine.

The scheduler and the workers need diptych and nothing else: what workers read comes with the tasks, what they make goes
back, and they write no file that stays. A task of a worker that died is done by another one.
"""

import hashlib
import pickle
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import uuid4

from diptych._core.errors import ConfigError, DataError, optional_package
from diptych._core.processes import Executor, ProcessExecutor, Result, Task, TaskWorker, run_ahead

_CONNECT_S, _WORKERS_S, _POLL_S, _LONELY_S = 5.0, 5.0, 2.0, 60.0
"""How long to wait for the scheduler, for a first worker and between looks at the cluster, and how long without any."""

_AHEAD, _MOST_BYTES = 2, 256 * 2**20
"""Tasks that wait for each worker, and how much of tasks that are not done yet may be held."""

Libraries = Callable[[], Mapping[str, str]]

_CODE = "code of diptych"
_GOES_ON = "the same command goes on from here"


@contextmanager
def open_executor(workers: int, cluster: str | None, libraries: Libraries) -> Iterator[Executor | None]:
    """Yield where work is to be done: on a cluster, in processes of this machine, or, as None, in this process.

    Args:
        workers: how many processes; 0 for none.
        cluster: the address of a Dask scheduler, instead of processes of this machine.
        libraries: gives the versions that results depend on, by name; they must be the same on workers.
    """
    if cluster is None:
        yield ProcessExecutor(workers) if workers else None
        return
    executor = ClusterExecutor(cluster, libraries)
    try:
        yield executor
    finally:
        executor.close()


class ClusterExecutor:
    """Does tasks on the workers of a Dask cluster; needs the extra "cluster".

    Args:
        address: of the scheduler, such as "tcp://HOST:8786".
        libraries: gives the versions that results depend on, by name; a function that can be imported.

    Raises:
        ConfigError: when Dask is not installed, the address is none, or a worker is not set up as this machine is.
        DataError: when the scheduler does not answer or has no workers.
    """

    shares_files = False

    def __init__(self, address: str, libraries: Libraries) -> None:
        self._address, self._libraries = address, libraries
        self._dask = optional_package("distributed", "--cluster", "cluster")
        if not address.startswith(("tcp://", "tls://")) or not address.rpartition(":")[2].isdigit():
            raise ConfigError(f"'{address}' is no address of a Dask scheduler; write it as tcp://HOST:8786.")
        try:
            self._client = self._dask.Client(address, timeout=_CONNECT_S, set_as_default=False)
        except (OSError, TimeoutError, ValueError):
            raise DataError(
                f"no Dask scheduler answers at {address}; start one with `dask scheduler`, or check the address."
            ) from None
        try:
            self._wait_for_workers()
            self._check_workers()
        except BaseException:
            self.close()
            raise

    def run(
        self, start: Callable[[], TaskWorker[Task, Result]], tasks: Iterable[Task], *, ordered: bool = False
    ) -> Iterator[tuple[Task, Result]]:
        """Do tasks on the cluster; see `Executor`.

        Raises:
            DataError: when the scheduler or all workers are gone, or workers die of a task again and again.
        """
        with self._explained():
            # A task rather than scattered data, so that it is made again when all workers that hold it are lost.
            job = _Job(uuid4().hex, start, self._libraries, environment(self._libraries))
            sent = self._submit(_same, pickle.dumps(job))

            def submit(task: Task) -> Any:  # noqa: ANN401 - Dask's future
                return self._submit(_work, job.name, sent, pickle.dumps(task))

            done = run_ahead(tasks, submit, self._wait_for, self._has_room, ordered=ordered)
            for task, future in done:
                yield task, future.result()

    def close(self) -> None:
        """Leave the cluster; what is not done yet is cancelled."""
        with suppress(OSError, TimeoutError):
            self._client.close(timeout=_CONNECT_S)

    def _submit(self, function: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401 - Dask's future
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return self._client.submit(function, *arguments, pure=False)

    def _has_room(self, running: list[Task], task: Task) -> bool:
        if sum(_size(each) for each in (*running, task)) > _MOST_BYTES:
            return False
        return len(running) < _AHEAD * max(1, len(self._client.nthreads()))

    def _wait_for(self, futures: list[Any]) -> Iterable[Any]:
        last_seen = time.monotonic()
        while True:
            try:
                with self._client.as_current():
                    return list(self._dask.wait(futures, timeout=_POLL_S, return_when="FIRST_COMPLETED").done)
            except TimeoutError:
                if self._client.nthreads():
                    last_seen = time.monotonic()
                elif time.monotonic() - last_seen > _LONELY_S:
                    raise DataError(
                        f"the cluster {self._address} has had no worker for {_LONELY_S:.0f} seconds; start some with "
                        f"`dask worker {self._address}`, and {_GOES_ON}."
                    ) from None

    def _wait_for_workers(self) -> None:
        end = time.monotonic() + _WORKERS_S
        while not self._client.nthreads():
            if time.monotonic() > end:
                raise DataError(
                    f"the Dask scheduler at {self._address} has no workers; start some with "
                    f"`dask worker {self._address} --nworkers auto --nthreads 1`."
                )
            time.sleep(0.1)

    def _check_workers(self) -> None:
        """Ask for versions by a function of Python itself, then every worker for all that results depend on."""
        here = version("diptych")
        try:
            scheduler = self._client.run_on_scheduler(version, "diptych"), self._client.run_on_scheduler(code_hash)
        except ImportError:
            scheduler = None, None
        if scheduler != (here, code_hash()):
            raise ConfigError(
                f"the scheduler {self._address} does not run this version of diptych; install diptych {here} where it "
                "runs, and start it again."
            )
        for worker, found in self._ask_workers(version, "diptych"):
            if isinstance(found, Exception):
                raise ConfigError(f"the worker {worker} has no diptych; install diptych {here} where it runs.")
            if found != here:
                raise ConfigError(_differs(worker, f"diptych {found}", f"diptych {here}"))
        for worker, found in self._ask_workers(environment, self._libraries):
            if isinstance(found, Exception):
                raise ConfigError(f"the worker {worker} cannot use diptych ({found}); install diptych {here} there.")
            check_environment(worker, environment(self._libraries), found)

    def _ask_workers(self, question: Callable[..., Any], *given: Any) -> list[tuple[str, Any]]:  # noqa: ANN401
        """The answer or the exception of every worker; one that dies meanwhile is no worker any more."""
        answers = self._client.run(question, *given, on_error="return")
        return [(worker, found) for worker, found in answers.items() if not isinstance(found, OSError)]

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Say in a sentence what became of the cluster."""
        lost = f"the Dask scheduler at {self._address} is gone; start it again, and {_GOES_ON}."
        try:
            yield
        except self._dask.scheduler.KilledWorker as error:
            raise DataError(
                f"several workers died of the same task ({error.task}), perhaps for want of memory; give them more, "
                f"and {_GOES_ON}."
            ) from None
        except (CancelledError, self._dask.client.FutureCancelledError, self._dask.comm.CommClosedError):
            raise DataError(lost) from None
        except ImportError as error:
            raise ConfigError(f"a worker of {self._address} lacks {error.name}; install diptych there.") from None
        except (OSError, TimeoutError):
            if self._client.status == "running":
                raise
            raise DataError(lost) from None


@cache
def code_hash() -> str:
    """One hash of the whole code of diptych."""
    digest = hashlib.blake2b(digest_size=8)
    root = Path(__file__).parents[1]
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def environment(libraries: Libraries) -> dict[str, str]:
    """All that a result depends on beside its task: the versions of libraries and the code of diptych."""
    return dict(libraries()) | {_CODE: code_hash()}


def check_environment(worker: str, here: Mapping[str, str], there: Mapping[str, str]) -> None:
    """Refuse a worker on which results might differ.

    Raises:
        ConfigError: naming what differs first.
    """
    for name in (*here, *there):
        if here.get(name) == there.get(name):
            continue
        if name == _CODE:
            raise ConfigError(
                f"the worker {worker} runs other code of diptych {version('diptych')} than this machine; install the "
                "same on both, and start the worker again."
            )
        has, ours = (f"{name} {each[name]}" if name in each else f"no {name}" for each in (there, here))
        raise ConfigError(_differs(worker, has, ours))


def folder_content(folder: Path) -> dict[str, bytes]:
    """The files of a folder by name, to send it to workers."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def write_content(content: Mapping[str, bytes], folder: Path) -> None:
    """Write the files that `folder_content` read."""
    for name, data in content.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def _differs(worker: str, has: str, here: str) -> str:
    return f"the worker {worker} has {has} and this machine has {here}; install the same version on both."


def _size(task: object) -> int:
    return int(getattr(task, "nbytes", 0))


def _same(value: Any) -> Any:  # noqa: ANN401 - whatever it is
    return value


@dataclass(frozen=True)
class _Job:
    """What workers need to know of a call of `run`: its name, how to start, and what must be as here."""

    name: str
    start: Callable[[], TaskWorker[Any, Any]]
    libraries: Libraries
    expected: Mapping[str, str]


_turn = threading.Lock()
_started: tuple[str, TaskWorker[Any, Any]] | None = None


def _work(name: str, job: bytes, task: bytes) -> Any:  # noqa: ANN401 - as the worker has it
    """Do a task in a Dask worker; a process does one at a time, since the number of its threads decides last bits.

    The job and the task come as bytes, because the scheduler opens what it is given and has no use for them.
    """
    global _started
    with _turn:
        if _started is None or _started[0] != name:
            if _started is not None:
                _started[1].close()
                _started = None
            from distributed import get_worker

            opened: _Job = pickle.loads(job)  # noqa: S301 - from the client, whose functions the worker runs anyway
            # The worker may have joined after the others were looked at.
            check_environment(get_worker().address, opened.expected, environment(opened.libraries))
            _started = name, opened.start()
        return _started[1](pickle.loads(task))  # noqa: S301 - likewise
