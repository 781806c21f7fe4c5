"""Prepare a reproduction: open its data, say how they differ from the paper's, and about how long the runs take.

Durations are rates that were measured once, scaled to the data at hand.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from diptych._core.errors import ConfigError, DataError
from diptych._core.processes import usable_cores
from diptych._core.progress import Progress, show_seconds, silent
from diptych.data import Dataset
from diptych.data.importers import IMPORTERS
from diptych.experiments.recipe import Run
from diptych.experiments.reproduce.studies import PaperInput, Part, Row, Study
from diptych.ingest.releases import import_rsicd, read_wikipedia_raw

NOT_IN_PAPER = "not in the paper"


@dataclass(frozen=True)
class InputReport:
    """The inputs of a dataset beside those of the paper.

    Attributes:
        same: whether kinds, dimensions and split sizes are the paper's, so that absolute figures can be compared.
        words: what differs, or that nothing does.
        network_words: what differs for networks on top of that; empty when nothing does.
        modalities: for each modality the paper's input and the one here, in words.
    """

    same: bool
    words: str
    network_words: str
    modalities: dict[str, dict[str, str]]

    def of_row(self, row: Row) -> str:
        """What to say of one line of a table."""
        if row.group in ("variant", "beyond"):
            return NOT_IN_PAPER
        return f"{self.words}; {self.network_words}" if row.deep and self.network_words else self.words

    def to_json(self) -> dict[str, Any]:
        """The report as recorded beside the results."""
        return {"same_as_paper": self.same, "words": self.words, "modalities": self.modalities}


def compare_inputs(dataset: Dataset, study: Study) -> InputReport:
    """Set a dataset's kinds, dimensions and split sizes beside those the paper states."""
    here = {name: dataset.modalities[name] for name in study.modalities}
    ours = study.released if dataset.source.get("importer") == study.name else {}
    modalities = {
        name: {
            "paper": _words(study.inputs[name]) if name in study.inputs else "–",
            "here": f"{each.dimension:,}-d {each.kind}" + (f" ({ours[name]})" if name in ours else ""),
        }
        for name, each in here.items()
    }
    if not study.inputs:
        return InputReport(False, "the paper did not use this dataset", "", modalities)
    differences, network = [], []
    for name, each in here.items():
        paper = study.inputs[name]
        if (each.dimension, each.kind) != (paper.dimension, paper.kind):
            kinds = ("", "") if each.kind == paper.kind else (f" {each.kind}", f" {paper.kind}")
            differences.append(f"{name} {each.dimension:,}-d{kinds[0]} for {paper.dimension:,}-d{kinds[1]}")
        if (paper.kind, each.kind) == ("counts", "dense"):
            network.append(f"dense {name} goes into a Gaussian machine, not into a Replicated Softmax")
    for split, expected in study.splits.items():
        count = int(np.count_nonzero(dataset.splits == split))
        if count != expected:
            differences.append(f"{count:,} {split} items for {expected:,}")
    words = ", ".join(differences) or "as in the paper"
    return InputReport(not differences, words, "; ".join(network), modalities)


def _words(paper: PaperInput) -> str:
    return f"{paper.dimension:,}-d {paper.kind} ({paper.words})"


def open_data(
    study: Study, data: Path | None, folder: Path, progress: Progress = silent, *, raw: bool = False
) -> dict[Part | None, Dataset]:
    """Open a study's dataset, or one for each of its parts, importing released files first.

    Args:
        study: what is reproduced.
        data: a folder with the released files, or with a dataset or one for each part under the part's name; None to
            go on with what was imported before.
        folder: the reproduction's; imports go into `dataset`, there or in the folder of each part.
        progress: told how far a description is.
        raw: whether the folder holds released images and texts, to be described as in the paper.

    Raises:
        ConfigError: without data, saying where to get them.
        DataError: when the folder holds neither, or a dataset without the study's modalities.
    """
    found: dict[Part | None, Dataset] = {}
    for part in study.parts or (None,):
        dataset = _open(study, part, data, imported_to(folder, part), progress, raw)
        absent = [name for name in study.modalities if name not in dataset.modalities]
        if absent:
            raise DataError(
                f"{dataset.path} has no modality '{absent[0]}', which {study.title} needs; it has "
                f"{', '.join(dataset.modalities)}."
            )
        found[part] = dataset
    return found


def imported_to(folder: Path, part: Part | None) -> Path:
    """Where the files of a part are imported to."""
    return folder / (part.name if part else "") / "dataset"


def check_raw(study: Study, data: Path | None, raw: Path | None) -> None:
    """Refuse released images and texts where a study takes none, or a second source beside them.

    Raises:
        ConfigError: saying what to give instead.
    """
    if raw is None:
        return
    if not study.raw_features:
        raise ConfigError(f"--raw is for studies whose images and texts are described here; give {study.name} --data.")
    if data is not None:
        raise ConfigError("--raw and --data are both given; choose the released images and texts, or the features.")


def existing_dataset(part: Part | None, data: Path | None, imported: Path) -> Dataset | None:
    """The dataset of a part, if it can be opened without reading released files."""
    made = imported if data is None else data / part.name if part else data
    if (made / "dataset.json").exists():
        return Dataset.open(made)
    if data is not None and (imported / "dataset.json").exists():
        before = Dataset.open(imported)
        return before if _is_from(before, data) else None  # extracting features of thousands of images takes minutes
    return None


def _open(study: Study, part: Part | None, data: Path | None, imported: Path, progress: Progress, raw: bool) -> Dataset:
    if data is None:
        if (imported / "dataset.json").exists():
            return Dataset.open(imported)
        raise ConfigError(
            f"the data of {study.title} are not given: {study.where}, and pass --data FOLDER with the released files, "
            "or with a dataset that `diptych import` made."
        )
    if not data.is_dir():
        raise DataError(f"{data} is not a folder; pass --data FOLDER with the released files or a dataset.")
    there = existing_dataset(part, data, imported)
    if there is not None:
        return there
    if part is None and not raw:
        # Imported anew each time, so that changed files are noticed; the same files give the same fingerprint.
        return IMPORTERS[study.name](data, imported, overwrite=True)
    if part is None:
        release = read_wikipedia_raw(data, imported, features=dict(study.raw_features), overwrite=True)
        return release.ingest(workers=usable_cores(), progress=progress).dataset
    # RSICD is the only study in parts.
    return import_rsicd(data, imported, workers=usable_cores(), progress=progress, overwrite=True, **part.options)


def _is_from(dataset: Dataset, data: Path) -> bool:
    """Whether a dataset was made of images and texts in a folder, which its source names as seen from the dataset."""
    table = dataset.source.get("pairs")
    return table is not None and (Path(dataset.path) / table).resolve().parent == data.resolve()


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
_RELEASED_COLUMNS = 138
"""Of the Wikipedia feature release."""


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
        columns = (
            sum(each.dimension for each in study.inputs.values())
            if raw or not study.raw_features
            else _RELEASED_COLUMNS
        )
        return cls(
            study.splits.get("train", _PAIRS),
            columns or _COLUMNS,
            (items or _PAIRS) / _IMAGES_PER_S if described else items / _LINES_PER_S,
        )


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
        parts.append(f"{kept} of them already done")
    if importing_s >= 1:
        parts.append(f"first reading the files, about {show_seconds(importing_s)}")
    total = f"about {show_seconds(importing_s + sum(seconds))} on two cores"
    parts.append(f"{total} ({named})" if named else total)
    return "; ".join(parts) + "; you can stop at any time and continue with the same command"
