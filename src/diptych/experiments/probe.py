"""Probe features: how well does a plain logistic regression tell the classes from each modality and each descriptor?

Retrieval mixes what features hold with what a method makes of them; this shows the features alone.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.stats

from diptych._core.arrays import Features, Floats, Integers
from diptych._core.errors import DataError
from diptych._core.progress import Progress, silent
from diptych.data import Dataset
from diptych.features import Pipeline, fit_scaling, pipeline_of
from diptych.features.contract import Block
from diptych.methods.selection import Search
from diptych.methods.semantic.posteriors import STRENGTH_GRID, Posteriors, fit_posteriors

ALL = "all columns"


@dataclass(frozen=True)
class Probe:
    """How well one run of columns separates the classes.

    Attributes:
        modality: whose columns.
        name: of the descriptor, or `ALL`.
        columns: how many there are.
        strength: of the penalty, chosen on validation.
        validation: accuracy there.
        accuracy: on the items that were asked for.
        interval: Wilson's, 95 %.
        balanced: the mean of the classes' own accuracies.
        items: how many were asked for.
    """

    modality: str
    name: str
    columns: int
    strength: float
    validation: float
    accuracy: float
    interval: tuple[float, float]
    balanced: float
    items: int

    def to_json(self) -> dict[str, Any]:
        """All of it."""
        return asdict(self) | {"interval": list(self.interval)}


@dataclass(frozen=True)
class Probed:
    """What became of all probes of a dataset.

    Attributes:
        dataset: its name.
        fingerprint: of its content.
        features: of each modality as they were written, where they were made of raw items.
        split: where accuracy is measured.
        chance: the accuracy of always naming the class that is most frequent in training.
        probes: a modality's columns as a whole, then each of its descriptors, modality by modality.
    """

    dataset: str
    fingerprint: str
    features: dict[str, str]
    split: str
    chance: float
    probes: tuple[Probe, ...]

    def to_json(self) -> dict[str, Any]:
        """All of it."""
        return asdict(self) | {"probes": [probe.to_json() for probe in self.probes]}


@dataclass(frozen=True)
class _Rows:
    """Labelled rows of one modality."""

    values: Features
    codes: Integers

    @classmethod
    def of(cls, dataset: Dataset, split: str, modality: str) -> "_Rows":
        part = dataset.split(split).labelled().having(modality)
        if not len(part):
            raise DataError(f"no labelled item of the split '{split}' has '{modality}', so nothing can be probed.")
        return cls(part.features(modality), part.labels.codes)

    def columns(self, block: Block) -> Features:
        return self.values[:, block.start : block.stop]


def probe_features(dataset: Dataset, *, split: str = "test", progress: Progress = silent) -> Probed:
    """Fit on training items, choose the penalty on validation, measure on a split.

    Columns are scaled as methods scale them, with training statistics, each descriptor for itself.

    Raises:
        DataError: when a split has no labelled items of a modality, or items have several labels.
    """
    pipeline = pipeline_of(dataset)
    blocks = {modality: tuple(_blocks(dataset, pipeline, modality)) for modality in dataset.modalities}
    total = sum(map(len, blocks.values()))
    probes: list[Probe] = []
    for modality, wanted in blocks.items():
        parts = {name: _Rows.of(dataset, name, modality) for name in ("train", "val", split)}
        for block in wanted:
            progress("probing", len(probes), total)
            probes.append(_probe(dataset, modality, block, parts, split))
    progress("probing", total, total)
    return Probed(
        dataset.name,
        dataset.fingerprint,
        {name: part.features for name, part in pipeline.modalities.items()} if pipeline else {},
        split,
        _chance(dataset, split),
        tuple(probes),
    )


def _blocks(dataset: Dataset, pipeline: Pipeline | None, modality: str) -> Iterator[Block]:
    """The whole, then its parts where there are several."""
    yield Block(ALL, 0, dataset.modalities[modality].dimension, "every column")
    parts = pipeline.of(modality).extractor.blocks if pipeline and modality in pipeline.modalities else ()
    if len(parts) > 1:
        yield from parts


def _probe(dataset: Dataset, modality: str, block: Block, parts: dict[str, _Rows], split: str) -> Probe:
    scaling = fit_scaling(parts["train"].columns(block), dataset.modalities[modality].kind)
    rows = {name: scaling(part.columns(block)) for name, part in parts.items()}
    classes, search = len(dataset.classes), Search()
    best: Posteriors | None = None
    for strength in STRENGTH_GRID:
        fitted = fit_posteriors(rows["train"], parts["train"].codes, classes, strength)
        if search.add({"strength": strength}, float(np.mean(_hits(fitted, rows["val"], parts["val"].codes)))):
            best = fitted
    assert best is not None
    codes = parts[split].codes
    hits = _hits(best, rows[split], codes)
    interval = scipy.stats.binomtest(int(hits.sum()), len(hits)).proportion_ci(method="wilson")
    return Probe(
        modality,
        block.name,
        block.stop - block.start,
        search.best["strength"],
        search.best_score,
        float(hits.mean()),
        (float(interval.low), float(interval.high)),
        float(np.mean([hits[codes == code].mean() for code in np.unique(codes)])),
        len(hits),
    )


def _hits(fitted: Posteriors, rows: Floats, codes: Integers) -> Floats:
    return np.asarray(fitted(rows).argmax(axis=1) == codes, dtype=np.float64)


def _chance(dataset: Dataset, split: str) -> float:
    frequent = int(dataset.split("train").labels.class_counts().argmax())
    asked = dataset.split(split).labelled().labels.codes
    return float(np.mean(asked == frequent))
