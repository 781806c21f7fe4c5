"""How long work tells a person where it is."""

from collections.abc import Mapping
from typing import Protocol


class Progress(Protocol):
    """Called now and then by anything that takes long: what is being done, how far it is, and figures to show."""

    def __call__(self, stage: str, done: int, total: int, figures: Mapping[str, float] | None = None) -> None:
        """Report that `done` of `total` steps of a stage are finished."""


def silent(stage: str, done: int, total: int, figures: Mapping[str, float] | None = None) -> None:
    """Report nothing."""
