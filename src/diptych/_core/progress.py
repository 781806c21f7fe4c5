"""How long-running work reports its progress: stage by stage, and all the stages of a fit as one, in plain English."""

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

LEARNING = "learning"
"""What a fit of several stages is called as a whole; it is reported in per cent."""

_MACHINES_END, _NETWORK_END, _LINEAR_END = 0.15, 0.70, 0.80
"""How far a fit of CDMLMR is after each of its parts, on average over data of 1,300 to 7,400 pairs."""

_TRIALS = re.compile(r"choosing .*|.* search|partner space")

_PLAIN = (
    (re.compile(r"(?P<name>.+) RBM (?P<part>\d)"), "looking at {name} features, part {part} of 2"),
    (re.compile(r"CCA.* axes"), "looking at the features"),
    (re.compile(r"label propagation"), "spreading labels"),
    (re.compile(r"linear member"), "fitting a linear model"),
    (re.compile(r"network|two towers|metric.*"), "training the network"),
)


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


class WholeFit:
    """Report the stages of one CDMLMR fit as one stage, in per cent of all; of figures only those of validation."""

    def __init__(self, progress: Progress, modalities: Sequence[str]) -> None:
        self._progress = progress
        self._spans = {"network": (_MACHINES_END, _NETWORK_END), "linear member": (_NETWORK_END, _LINEAR_END)}
        self._spans["partner space"] = (_LINEAR_END, 1.0)
        machines = [f"{name} RBM {part}" for name in modalities for part in (1, 2)]
        step = _MACHINES_END / len(machines)
        self._spans |= {name: (place * step, (place + 1) * step) for place, name in enumerate(machines)}
        self._furthest = 0

    def __call__(self, stage: str, done: int, total: int, figures: Mapping[str, float] | None = None) -> None:
        """Report the percentage of the whole fit; an unknown stage does not change it."""
        start, end = self._spans.get(stage, (0.0, 0.0))
        share = start + (end - start) * done / max(1, total)
        self._furthest = max(self._furthest, round(100 * share))
        self._progress(LEARNING, self._furthest, 100, validation_figures(figures))


def validation_figures(figures: Mapping[str, float] | None) -> dict[str, float] | None:
    """The validation figures among all figures of a step."""
    shown = {
        "validation score" if name == "validation" else name: value
        for name, value in (figures or {}).items()
        if name.startswith("validation")
    }
    return shown or None


def stage_in_words(stage: str, done: int, total: int) -> str:
    """A stage and how far it is, for a person.

    >>> stage_in_words("learning", 42, 100), stage_in_words("CCA search", 3, 7)
    ('learning, 42%', 'trying settings, trial 3 of 7')
    >>> stage_in_words("image RBM 1", 100, 200)
    'looking at image features, part 1 of 2, 50%'
    """
    if _TRIALS.fullmatch(stage):
        return f"trying settings, trial {done:,} of {total:,}"
    for pattern, words in _PLAIN:
        if found := pattern.fullmatch(stage):
            stage = words.format(**found.groupdict())
            break
    return f"{stage}, {done / max(1, total):.0%}"
