"""How long-running work reports its progress."""

from collections.abc import Mapping
from typing import Protocol


class Progress(Protocol):
    """Called now and then by anything that takes long: what is being done, how far it is, and figures to show."""

    def __call__(self, stage: str, done: int, total: int, figures: Mapping[str, float] | None = None) -> None:
        """Report that `done` of `total` steps of a stage are finished."""


def silent(stage: str, done: int, total: int, figures: Mapping[str, float] | None = None) -> None:
    """Report nothing."""


def show_seconds(value: float) -> str:
    """Write a duration for a person.

    >>> show_seconds(3.21), show_seconds(42.4), show_seconds(5400)
    ('3.2 s', '42 s', '1 h 30 min')
    """
    if value < 60:
        return f"{value:.1f} s" if value < 10 else f"{value:.0f} s"
    minutes = round(value / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
