"""The protocol: what a method is allowed to see while it learns."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np

from diptych._core.arrays import Booleans, Features, Floats, check_types, plain
from diptych._core.errors import ConfigError, DataError
from diptych._core.seeding import generator
from diptych.data.dataset import Dataset
from diptych.data.labels import Labels
from diptych.data.modality import Kind
from diptych.data.splits import Partition

Unlabelled = Literal["none", "train", "test-features"]
UNLABELLED_CHOICES: tuple[Unlabelled, ...] = ("none", "train", "test-features")
NO_CLASS = "no_class"
"""A free column of `items.parquet`: whether an item is known to be of none of the classes."""


@dataclass(frozen=True)
class Protocol:
    """What training may see in addition to the labelled training pairs and, for selection, the validation split.

    Attributes:
        unlabelled: "none" (inductive), "train" (features of unlabelled training items) or "test-features"
            (transductive: features of test items, each modality in its own random order).
        labels_per_class: keep this many training labels per class (more if kept items have several labels) and withhold
            the rest.
        label_share: keep this share of every class's training labels and withhold the rest.
        seed: seed for choosing which labels are kept.
        select_at: validation chooses by MAP over this many results; None for all.
        use_pairs: with `unlabelled="train"`, methods may use which rows of unlabelled training items are pairs; never
            for test items.
        propagate: propagate the kept labels to the other training pairs over a graph of all pairs
            (`diptych.methods.propagation`), for methods that read labels.
        withhold_validation: withhold validation labels in the same way; items without their label are not used for
            selection. By default all validation labels are used.
    """

    unlabelled: Unlabelled = "none"
    labels_per_class: int | None = None
    label_share: float | None = None
    seed: int = 0
    select_at: int | None = None
    use_pairs: bool = False
    propagate: bool = False
    withhold_validation: bool = False

    def __post_init__(self) -> None:
        check_types("Protocol", type(self), vars(self))
        vars(self).update(plain(vars(self)))
        if self.unlabelled not in UNLABELLED_CHOICES:
            raise ConfigError(f"unlabelled is {self.unlabelled!r}; choose one of {', '.join(UNLABELLED_CHOICES)}.")
        if self.labels_per_class is not None and self.label_share is not None:
            raise ConfigError("labels_per_class and label_share exclude each other; give one.")
        if self.labels_per_class is not None and self.labels_per_class < 1:
            raise ConfigError(f"labels_per_class is {self.labels_per_class}; it must be at least 1.")
        if self.select_at is not None and self.select_at < 1:
            raise ConfigError(f"select_at is {self.select_at}; it must be at least 1.")
        if self.use_pairs and self.unlabelled != "train":
            raise ConfigError(
                f"use_pairs is on but unlabelled is {self.unlabelled!r}; pairs are used of unlabelled training items "
                "only, so set unlabelled to 'train'."
            )
        if self.label_share is not None and not 0 < self.label_share <= 1:
            raise ConfigError(f"label_share is {self.label_share}; it must lie above 0 and at most at 1.")

    @property
    def withholds_labels(self) -> bool:
        """Whether the seed decides which training labels are seen."""
        return self.labels_per_class is not None or self.label_share is not None

    def to_json(self) -> dict[str, Any]:
        """The protocol as recorded beside every result."""
        return asdict(self)

    def describe(self) -> str:
        """Describe in a sentence what training may see."""
        if self.labels_per_class is not None:
            labels = f"{self.labels_per_class} training labels per class (seed {self.seed})"
        elif self.label_share is not None:
            labels = f"{self.label_share:.0%} of the training labels of every class (seed {self.seed})"
        else:
            labels = "all training labels"
        if self.propagate:
            labels += ", propagated to the other training pairs"
        validation = "validation"
        if self.withhold_validation and self.withholds_labels:
            validation += ", its labels withheld alike,"
        extra = {
            "none": "no pool of unlabelled items",
            "train": "training items without a label, "
            + ("in their pairs" if self.use_pairs else "each modality by itself"),
            "test-features": "the features of test items (transductive; no labels, no pairing)",
        }[self.unlabelled]
        return f"all training pairs, {labels}, {extra}; {validation} for selection only"


@dataclass(frozen=True)
class TrainingData:
    """Everything that `fit` may read, built from a dataset and a protocol.

    Attributes:
        modalities: the modalities to learn from, in order.
        kinds: the kind of each.
        train: the training items, with the labels that the protocol keeps and those it propagates.
        validation: the validation items, or None when the dataset has none.
        pools: unlabelled rows by modality, ordered by content so that no pairing survives; may be empty.
        unlabelled_pairs: unlabelled training items with at least two of the modalities, if the protocol allows their
            pairing; else None.
        classes: the class names.
        select_at: validation chooses by MAP over this many results; None for all.
        given_labels: the training items' labels before propagation; None if nothing was propagated.
        soft_labels: each training item's share in every class after propagation: its own labels if given, zero if
            `train` has no label. Other rows add up to one. None if nothing was propagated.
        no_class: which training items are known to belong to none of the classes, so that no label is propagated to
            them; None if nothing is known.
    """

    modalities: tuple[str, ...]
    kinds: Mapping[str, Kind]
    train: Partition
    validation: Partition | None
    classes: tuple[str, ...]
    select_at: int | None = None
    pools: Mapping[str, Features] = field(default_factory=dict)
    unlabelled_pairs: Partition | None = None
    given_labels: Labels | None = None
    soft_labels: Floats | None = None
    no_class: Booleans | None = None


def training_data(
    dataset: Dataset, protocol: Protocol | None = None, modalities: tuple[str, ...] | None = None
) -> TrainingData:
    """Select from a dataset what the protocol lets a method see."""
    protocol = protocol or Protocol()
    names = tuple(modalities or dataset.modalities)
    unknown = [name for name in names if name not in dataset.modalities]
    if unknown:
        raise DataError(f"{dataset.path} has no modality '{unknown[0]}'; it has {', '.join(dataset.modalities)}.")
    train, validation = dataset.split("train"), dataset.split("val")
    if not len(train):
        raise DataError(f"{dataset.path} has no training items; give some items the split 'train'.")
    train = train.with_labels(train.labels.keep_only(_kept(train.labels, protocol)))
    if protocol.withhold_validation:
        kept = _kept(validation.labels, protocol, "validation labels")
        validation = validation.with_labels(validation.labels.keep_only(kept))
    return TrainingData(
        modalities=names,
        kinds={name: dataset.modalities[name].kind for name in names},
        train=train,
        validation=validation if len(validation) else None,
        classes=dataset.classes,
        select_at=protocol.select_at,
        pools=_pools(train if protocol.unlabelled == "train" else dataset.split("test"), protocol, names),
        unlabelled_pairs=_unlabelled_pairs(train, protocol, names),
        no_class=_no_class(dataset, train),
    )


def with_propagated_labels(data: TrainingData, protocol: Protocol, labels: Labels, soft_labels: Floats) -> TrainingData:
    """The same training data with more training labels; an item that got one is unlabelled no longer.

    It leaves the pool of unlabelled training items and the unlabelled pairs; pools of test items stay.
    """
    train = data.train.with_labels(labels)
    return replace(
        data,
        train=train,
        pools=_pools(train, protocol, data.modalities) if protocol.unlabelled == "train" else data.pools,
        unlabelled_pairs=_unlabelled_pairs(train, protocol, data.modalities),
        given_labels=data.train.labels,
        soft_labels=soft_labels,
    )


def _kept(labels: Labels, protocol: Protocol, purpose: str = "labels") -> Booleans:
    """Which items keep their label."""
    if not protocol.withholds_labels:
        return labels.is_labelled
    kept = np.zeros(len(labels), dtype=np.bool_)
    random = generator(protocol.seed, "protocol", purpose)
    for code in range(len(labels.classes)):
        members = random.permutation(np.flatnonzero(labels.matrix[:, [code]].toarray().ravel()))
        share = protocol.label_share if protocol.label_share is not None else 1.0
        quota = protocol.labels_per_class or max(1, round(share * len(members)))
        kept[members[: max(0, quota - int(kept[members].sum()))]] = True
    return kept


def _pools(source: Partition, protocol: Protocol, names: tuple[str, ...]) -> dict[str, Features]:
    """The rows of training items without a label, or of all test items."""
    if protocol.unlabelled == "none":
        return {}
    if protocol.unlabelled == "train":
        source = source.take(~source.labels.is_labelled)
    return {name: by_content(source.having(name).features(name)) for name in names}


def _no_class(dataset: Dataset, train: Partition) -> Booleans | None:
    if NO_CLASS not in dataset.items.column_names:
        return None
    known = [bool(value) for value in dataset.items.column(NO_CLASS).to_pylist()]
    return np.asarray(known, np.bool_)[train.index]


def _unlabelled_pairs(train: Partition, protocol: Protocol, names: tuple[str, ...]) -> Partition | None:
    return train.take(~train.labels.is_labelled).having_two_of(*names) if protocol.use_pairs else None


def by_content(rows: Features) -> Features:
    """Order rows by what they hold, so that their order says nothing of the item they came from."""
    if isinstance(rows, np.ndarray):
        keys = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
        return np.asarray(rows[np.argsort(keys, kind="stable")])
    spans = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    contents = [rows.indices[a:b].tobytes() + rows.data[a:b].tobytes() for a, b in spans]
    return rows[sorted(range(len(contents)), key=contents.__getitem__)]
