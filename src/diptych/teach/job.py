"""Learning in the background: a process of its own with lowered priority, which says how far it is in a file.

Any process that serves the index may start it, look at it and cancel it.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from diptych._core.errors import BackendUnavailableError, DiptychError
from diptych._core.files import checked_fields, read_json, write_json
from diptych._core.locks import file_lock
from diptych.search.index_folder import folder_beside
from diptych.teach.models import Models

State = Literal["idle", "running", "done", "failed", "cancelled"]
_FILE, _LOCK, _STARTING = "learn.json", "job.lock", "starting.lock"
_PROGRAM = "from diptych.teach.job import main; main()"
_NICENESS = 10
_START_S, _END_S, _POLL_S = 60.0, 20.0, 0.05
_WRITE_S = 0.3
_SHARES = {"preparing": 0.05, "fitting": 0.55, "indexing": 0.35, "taking over changes": 0.05}
"""About what part of the time each phase takes."""
_INDEXING = ("indexing", "calibrating", "learning to rank", "laying out")
_FIT_S = 60.0
"""How long a fit takes about, as its stages do not say how many are to come."""


@dataclass(frozen=True)
class JobState:
    """How far learning is.

    Attributes:
        state: whether it runs, and how the last one ended.
        phase: what is being done.
        fraction: about how much of it is done.
        started: when it began, in UTC.
        elapsed_s: since then; how long it took, once it has ended.
        remaining_s: about how long it will take; None if unknown.
        model: the model that was learned.
        error: why it failed.
        pid: of the process.
    """

    state: State = "idle"
    phase: str = ""
    fraction: float = 0.0
    started: str | None = None
    elapsed_s: float = 0.0
    remaining_s: float | None = None
    model: str | None = None
    error: str | None = None
    pid: int | None = None


class LearnJob:
    """Starts, watches and cancels learning for one index.

    Args:
        index: the folder of the index.
    """

    def __init__(self, index: str | Path) -> None:
        self._index = Path(index)
        self._file = folder_beside(self._index) / _FILE
        self._models = Models(index)

    def state(self) -> JobState:
        """How far it is; a process that died without a word has failed."""
        found = self._read()
        if found.state == "running" and self._has_died(found):
            found = replace(found, state="failed", remaining_s=None, error="the process that learned has died.")
        elif found.state == "running" and found.started is not None:
            found = replace(found, elapsed_s=_seconds_since(found.started))
        return found

    def start(self, *, dataset: str | None = None, method: str = "auto") -> JobState:
        """Begin to learn; returns once it has begun.

        Raises:
            BackendUnavailableError: when it runs already, or does not begin.
        """
        with file_lock(self._file.with_name(_STARTING), timeout_s=_START_S) as mine:
            if not mine or self._is_running() or self._models.is_changing():
                raise BackendUnavailableError("a model is being learned or put back; wait for it to end, or cancel it.")
            return self._start(dataset, method)

    def _start(self, dataset: str | None, method: str) -> JobState:
        write_json(self._file, asdict(JobState("running", "starting", started=_now())))
        command = [sys.executable, "-c", _PROGRAM, str(self._index.resolve()), method, dataset or ""]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
        threading.Thread(target=process.wait, daemon=True).start()  # so that the system forgets it when it has ended
        until = time.monotonic() + _START_S
        while time.monotonic() < until:
            found = self._read()
            if found.pid is not None or found.state != "running":
                return found
            if process.poll() is not None:
                break
            time.sleep(_POLL_S)
        failed = JobState("failed", started=_now(), error="the process that learns did not start.")
        write_json(self._file, asdict(failed))
        raise BackendUnavailableError(failed.error or "")

    def cancel(self) -> JobState:
        """End it; the index in force stays as it is."""
        found = self.state()
        if found.state != "running" or found.pid is None:
            return found
        with suppress(ProcessLookupError):
            os.kill(found.pid, signal.SIGTERM)
        until = time.monotonic() + _END_S
        while time.monotonic() < until and self.state().state == "running":
            time.sleep(_POLL_S)
        return self.state()

    def _has_died(self, found: JobState) -> bool:
        if found.pid is None:
            return found.started is not None and _seconds_since(found.started) > _START_S
        return not self._is_running() and self._read().state == "running"

    def _is_running(self) -> bool:
        """Whether a process that learns lives: it holds a lock for as long."""
        with file_lock(self._file.with_name(_LOCK), timeout_s=0) as free:
            return not free

    def _read(self) -> JobState:
        with suppress(DiptychError, TypeError):
            return checked_fields(JobState(**read_json(self._file)))
        return JobState()


class _Reporter:
    """Writes the progress of this process into the file, now and then."""

    def __init__(self, index: Path) -> None:
        self._file = folder_beside(index) / _FILE
        self._started, self._since = _now(), time.monotonic()
        self._phase, self._phase_since, self._before = "preparing", time.monotonic(), 0.0
        self._written = self._fraction = 0.0
        self.write(JobState("running", "preparing"))

    def __call__(self, stage: str, done: int, total: int, figures: Mapping[str, float] | None = None) -> None:
        """Note a step."""
        phase = stage if stage in _SHARES else "indexing" if stage.startswith(_INDEXING) else "fitting"
        if phase != self._phase and list(_SHARES).index(phase) > list(_SHARES).index(self._phase):
            self._before = sum(list(_SHARES.values())[: list(_SHARES).index(phase)])
            self._phase, self._phase_since = phase, time.monotonic()
        if time.monotonic() - self._written < _WRITE_S:
            return
        inside = done / max(total, 1)
        if phase == "fitting":
            inside = min(0.95, (time.monotonic() - self._phase_since) / _FIT_S)
        # A phase has several stages, of which each begins anew: what was said to be done stays so.
        self._fraction = fraction = max(self._fraction, min(0.99, self._before + _SHARES[self._phase] * inside))
        elapsed = time.monotonic() - self._since
        left = elapsed * (1 - fraction) / fraction if fraction > 0.05 else None
        self.write(JobState("running", stage, round(fraction, 3), remaining_s=left and round(left, 1)))

    def write(self, state: JobState) -> None:
        """Keep a state with when it began and how long it took."""
        self._written = time.monotonic()
        elapsed = round(self._written - self._since, 2)
        pid = os.getpid() if state.state == "running" else None
        write_json(self._file, asdict(replace(state, started=self._started, elapsed_s=elapsed, pid=pid)))


class _CancelledError(BaseException):
    """The process was asked to end."""


def run(index: Path, method: str, dataset: str) -> int:
    """Learn in this process and say how it goes in the file; returns the exit status."""
    with suppress(OSError, AttributeError):  # the second where there are no such priorities
        os.nice(_NICENESS)

    def cancelled(*_: object) -> None:
        raise _CancelledError

    signal.signal(signal.SIGTERM, cancelled)
    with file_lock(folder_beside(index) / _LOCK):  # held as long as this process lives
        return _run(index, method, dataset, _Reporter(index))


def _run(index: Path, method: str, dataset: str, report: "_Reporter") -> int:
    try:
        from diptych.teach.learning import learn

        record = learn(index, dataset=dataset or None, method=method, progress=report)
        report.write(JobState("done", "", 1.0, model=record.id))
    except _CancelledError:
        report.write(JobState("cancelled"))
        return 1
    except DiptychError as error:
        report.write(JobState("failed", error=str(error)))
        return 2
    except BaseException as error:
        report.write(JobState("failed", error=f"learning failed ({type(error).__name__}); the log says more."))
        raise
    return 0


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _seconds_since(started: str) -> float:
    return round((datetime.now(UTC) - datetime.fromisoformat(started)).total_seconds(), 2)


def main() -> None:
    """Learn as the arguments of this process say: the index, the method, the dataset."""
    index, method, dataset = sys.argv[1:]
    sys.exit(run(Path(index), method, dataset))
