"""Telling whoever watches how far training is."""

from typing import Protocol


class Progress(Protocol):
    """Called at every log point and validation with the stage, the steps done, their total and named figures."""

    def __call__(self, stage: str, step: int, total: int, figures: dict[str, float]) -> None:
        """Show it."""
        ...


def silent(stage: str, step: int, total: int, figures: dict[str, float]) -> None:
    """Show nothing."""
