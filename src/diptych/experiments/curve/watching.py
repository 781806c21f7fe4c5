"""One watcher over all steps of a curve: it is told the whole plan once, and which step a run belongs to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from diptych.experiments.planning import Run
from diptych.experiments.watching import Watcher


@dataclass(frozen=True)
class StepRun(Run):
    """A run whose name says its step."""

    step: str = ""

    @property
    def name(self) -> str:
        """How a person calls it."""
        return f"{super().name}, {self.step}" if self.step else super().name


class StepWatcher(Watcher):
    """Pass on what happens in one step, except its plan, which is a part of one already told."""

    def __init__(self, watcher: Watcher, step: str) -> None:
        self._watcher = watcher
        self._step = step

    def started(self, run: Run, because: str | None) -> None:
        """Pass it on."""
        self._watcher.started(in_step(run, self._step), because)

    def stage(self, run: Run, stage: str, done: int, total: int, figures: Mapping[str, float] | None) -> None:
        """Pass it on."""
        self._watcher.stage(in_step(run, self._step), stage, done, total, figures)

    def finished(self, run: Run, average_map: float, seconds: float) -> None:
        """Pass it on."""
        self._watcher.finished(in_step(run, self._step), average_map, seconds)

    def kept(self, run: Run, average_map: float) -> None:
        """Pass it on."""
        self._watcher.kept(in_step(run, self._step), average_map)

    def failed(self, run: Run, reason: str) -> None:
        """Pass it on."""
        self._watcher.failed(in_step(run, self._step), reason)

    def planned(self, runs: Sequence[Run]) -> None:
        """Keep it: the plan of all steps was told before."""


def in_step(run: Run, step: str) -> StepRun:
    """The same run, named with its step."""
    return StepRun(**{each.name: getattr(run, each.name) for each in fields(Run)}, step=step)
