"""About how long a reproduction takes, said before it starts: rates measured once, scaled to the data at hand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from diptych._core.progress import show_seconds
from diptych.data import Dataset
from diptych.experiments.recipe import Run
from diptych.experiments.reproduce.studies import Part, Study

_PAIRS, _COLUMNS = 7_369, 2_280
"""Where the seconds below were measured: RSICD with convolutional features and 1,000 words, on two cores."""

_SECONDS: Mapping[str, float] = {
    "chance": 0.1,
    "identity": 0.1,
    "cca-paper": 7,
    "cca": 5,
    "cfa": 2,
    "kcca-poly": 250,
    "kcca-rbf": 610,
    "cca3v": 13,
    "sm": 60,
    "scm": 15,
    "jrl": 17,
    "lgcfl": 9,
    "tina": 150,
    "bimodal-ae": 155,
    "multimodal-dbn": 155,
    "multimodal-dbm": 360,
    "corr-ae": 165,
    "corr-cross-ae": 165,
    "corr-full-ae": 215,
    "dcca": 30,
    "deep-corr": 30,
    "cmdn": 760,
    "base": 60,
    "cdmlmr-staged": 690,
}
_OTHERS = 60.0
_PROFILES = {"fast": 0.1, "standard": 1.0, "paper": 30.0}
_IMAGES_PER_S = 15.0
_LINES_PER_S = 20_000.0
_SETUP_S = 0.5


def run_seconds(method: str, deep: bool, pairs: int, columns: int, profile: str | None) -> float:
    """About how long one fit and its scoring take.

    Kernel methods grow with the square of the pairs. Networks take a number of steps that the profile decides, so only
    their width grows with the columns. Others grow with the size of the table.
    """
    known = _SECONDS.get(method, _OTHERS)
    if deep:
        share = (0.3 + 0.7 * columns / _COLUMNS) * _PROFILES.get(profile or "standard", 1.0)
    elif method.startswith("kcca"):
        share = (pairs / _PAIRS) ** 2
    else:
        share = pairs / _PAIRS * columns / _COLUMNS
    return _SETUP_S + known * share


@dataclass(frozen=True)
class Sizes:
    """Training pairs and columns of both modalities together.

    Attributes:
        pairs: training items.
        columns: of all modalities.
        importing_s: how long the files take to read and describe first.
    """

    pairs: int
    columns: int
    importing_s: float = 0.0

    @classmethod
    def of(cls, dataset: Dataset, study: Study) -> "Sizes":
        """Those of a dataset."""
        widths = [each.dimension for name, each in dataset.modalities.items() if name in study.modalities]
        return cls(len(dataset.split("train")), sum(widths))

    @classmethod
    def expected(cls, study: Study, part: Part | None, raw: bool) -> "Sizes":
        """Those that a release will have, before it is read."""
        items = sum(study.splits.values())
        described = raw or part is not None
        columns = sum(each.dimension for each in study.inputs.values()) if raw or not study.raw_features else _RELEASED
        return cls(
            study.splits.get("train", _PAIRS),
            columns or _COLUMNS,
            (items or _PAIRS) / _IMAGES_PER_S if described else items / _LINES_PER_S,
        )


_RELEASED = 138
"""Columns of the Wikipedia feature release."""


def finished_runs(folder: Path) -> set[tuple[str, str, int]]:
    """Protocol, method and seed of the runs that an earlier call finished in a folder."""
    return {
        (path.parents[3].name, path.parents[1].name, int(path.parent.name))
        for path in folder.glob("*/runs/*/*/run.json")
        if path.parent.name.isdigit()
    }


def describe_plan(title: str, runs: Sequence[Run], seconds: Sequence[float], importing_s: float, kept: int) -> str:
    """The plan and its duration in one sentence, the longest methods named.

    Args:
        title: what is reproduced.
        runs: all of them.
        seconds: the estimate of each; 0 for one that is there already.
        importing_s: the estimate for reading the files.
        kept: how many runs are there already.
    """
    by_method: dict[str, float] = {}
    for run, each in zip(runs, seconds, strict=True):
        by_method[run.method] = by_method.get(run.method, 0.0) + each
    longest = sorted(by_method, key=by_method.__getitem__, reverse=True)[:3]
    named = ", ".join(f"{name} {show_seconds(by_method[name])}" for name in longest if by_method[name] >= 1)
    parts = [f"plan of {title}: {len(runs)} runs of {len(by_method)} methods"]
    if kept:
        parts.append(f"{kept} of them done before")
    if importing_s >= 1:
        parts.append(f"reading the files first, about {show_seconds(importing_s)}")
    total = f"about {show_seconds(importing_s + sum(seconds))} on two cores"
    parts.append(f"{total} ({named})" if named else total)
    return "; ".join(parts) + "; stop it at any time, the same command goes on"
