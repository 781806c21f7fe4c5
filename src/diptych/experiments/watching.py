"""Who watches an experiment is told what happens; the watcher here says nothing."""

from collections.abc import Mapping, Sequence

from diptych.experiments.planning import Run


class Watcher:
    """Told about every run as it happens; displays override what they show."""

    def preparing(self, stage: str, done: int, total: int, figures: Mapping[str, float] | None = None) -> None:
        """What the runs need is being made, and has come this far."""

    def planned(self, runs: Sequence[Run]) -> None:
        """These runs will be done, in this order."""

    def left_out(self, method: str, reason: str) -> None:
        """A method takes no part, because it cannot be fitted on such data."""

    def started(self, run: Run, because: str | None) -> None:
        """A run is being fitted; `because` says why a stored one does not serve, if there is one."""

    def stage(self, run: Run, stage: str, done: int, total: int, figures: Mapping[str, float] | None) -> None:
        """A run has come this far."""

    def finished(self, run: Run, average_map: float, seconds: float) -> None:
        """A run was fitted and scored."""

    def kept(self, run: Run, average_map: float) -> None:
        """A run was finished before and is taken from disk."""

    def failed(self, run: Run, reason: str) -> None:
        """A run failed; the others go on."""
