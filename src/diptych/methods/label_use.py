"""What labels are good for: those of one class, of none, or without two items of a class tell nothing of kinds."""

import logging
from dataclasses import replace

import numpy as np

from diptych._core.arrays import Booleans
from diptych._core.errors import FitError
from diptych.data import Dataset, Labels, Partition, Protocol, TrainingData

_log = logging.getLogger(__name__)


def lacks_labels(dataset: Dataset, protocol: Protocol) -> bool:
    """Whether training will find some items with a label and others without, as propagation needs them."""
    labelled = dataset.split("train").labels.is_labelled
    return bool(labelled.any() and (protocol.withholds_labels or not labelled.all()))


def without_labels(data: TrainingData) -> TrainingData:
    """The same training data as if no item of it had a label: pairs and features are all there is."""
    validation = None if data.validation is None else _stripped(data.validation)
    return replace(data, train=_stripped(data.train), validation=validation, given_labels=None, soft_labels=None)


def with_labels_kept(data: TrainingData, kept: Booleans) -> TrainingData:
    """The same training data with the labels of some training items only; the others are unlabelled."""
    soft = None if data.soft_labels is None else data.soft_labels * kept[:, None]
    given = None if data.given_labels is None else data.given_labels.keep_only(kept)
    train = data.train.with_labels(data.train.labels.keep_only(kept))
    return replace(data, train=train, soft_labels=soft, given_labels=given)


def classes_seen(labels: Labels) -> list[str]:
    """The classes that at least one of these items carries."""
    return [labels.classes[code] for code in np.flatnonzero(labels.class_counts())]


def single_class(labels: Labels) -> str | None:
    """The class that all labelled items carry; None where there are several classes, or no label at all."""
    seen = classes_seen(labels)
    return seen[0] if len(seen) == 1 else None


def refuse_single_class(method: str, data: TrainingData) -> None:
    """Refuse training labels that are all the same, for a method that learns from nothing else.

    Raises:
        FitError: naming the class.
    """
    only = single_class(data.train.labels)
    if only is not None:
        raise FitError(
            f"every training label is '{only}', and {method} learns classes from each other, so one class tells it "
            "nothing; give the items at least two classes, or use a method that learns from pairs, such as 'auto'."
        )


def ignore_single_class(data: TrainingData) -> tuple[TrainingData, dict[str, str]]:
    """Leave out training labels that are all the same, for a method that can do without.

    Returns:
        The data, and for the model's record what was done; nothing where nothing was.
    """
    only = single_class(data.train.labels)
    if only is None:
        return data, {}
    note = f"every training label is '{only}', and one class tells nothing, so the items were taken as unlabelled"
    _log.warning("%s.", note[0].upper() + note[1:])
    return without_labels(data), {"label_note": note}


def _stripped(part: Partition) -> Partition:
    return part.with_labels(part.labels.keep_only(np.zeros(len(part), dtype=np.bool_)))
