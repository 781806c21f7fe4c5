"""What a fit learns from: training pairs and their scalings, and labels that are of use."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from diptych._core.arrays import Booleans, Features, Floats, Integers, Singles
from diptych._core.errors import ConfigError, FitError
from diptych._core.seeding import generator
from diptych.data import Dataset, Kind, Labels, Partition, Protocol, TrainingData
from diptych.features.scaling import Scaling, fit_scaling

_log = logging.getLogger(__name__)
FEWEST_OF_A_CLASS, MOST_VALIDATION_ITEMS = 10, 1_000
"""Where data are limited: labels of a class that are kept before others, and validation items."""
_NAMED = 5
"""How many names a note lists."""


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


def note_lone_classes(data: TrainingData, protocol: Protocol) -> dict[str, str]:
    """Say which classes have a single training item, unless the protocol withheld the others.

    Returns:
        For the model's record a sentence about them; nothing where there are none.
    """
    labels = data.train.labels
    lone = [labels.classes[code] for code in np.flatnonzero(labels.class_counts() == 1)]
    if not lone or protocol.withholds_labels:
        return {}
    shown = ", ".join(f"'{name}'" for name in lone[:_NAMED]) + ", …" * (len(lone) > _NAMED)
    note = f"the class {shown} has" if len(lone) == 1 else f"the classes {shown} have"
    note += " a single training item" + " each" * (len(lone) > 1)
    sentence = "%s, which tells hardly anything of a class; label more items, or merge small classes."
    _log.warning(sentence, note[0].upper() + note[1:])
    return {"class_note": note}


def ignore_single_class(
    data: TrainingData, notes: Mapping[str, str] | None = None
) -> tuple[TrainingData, dict[str, str]]:
    """Leave out training labels that are all the same, for a method that can do without.

    Args:
        data: the training data.
        notes: what is to be recorded already.

    Returns:
        The data, and for the model's record what was done beside the notes.
    """
    only = single_class(data.train.labels)
    if only is None:
        return data, dict(notes or {})
    note = f"every training label is '{only}', and one class tells nothing, so the items were taken as unlabelled"
    _log.warning("%s.", note[0].upper() + note[1:])
    return without_labels(data), {"label_note": note}


def _stripped(part: Partition) -> Partition:
    return part.with_labels(part.labels.keep_only(np.zeros(len(part), dtype=np.bool_)))


_FEWEST_PAIRS = 2


def training_pairs(data: TrainingData) -> Partition:
    """The training items that have at least two of the modalities; an item says how those it has correspond.

    Raises:
        FitError: when they are too few, or some modalities never occur beside the others.
    """
    pairs, names = data.train.having_two_of(*data.modalities), data.modalities
    if len(pairs) < _FEWEST_PAIRS:
        which = "all of" if len(names) == 2 else "at least two of"
        raise FitError(
            f"only {len(pairs)} training items have {which} {', '.join(names)}; "
            f"at least {_FEWEST_PAIRS} are needed to learn how they correspond."
        )
    if len(names) > 2:
        _refuse_parted(pairs, names)
    return pairs


def presence(data: TrainingData) -> list[Booleans]:
    """For each modality which of the `training_pairs` have it."""
    pairs = data.train.having_two_of(*data.modalities)
    return [pairs.has(name) for name in data.modalities]


def _refuse_parted(pairs: Partition, modalities: tuple[str, ...]) -> None:
    """Refuse modalities of which no chain of training items leads to the others."""
    has = {name: pairs.has(name) for name in modalities}
    reached = {modalities[0]}
    while found := {b for a in reached for b in modalities if b not in reached and np.sum(has[a] & has[b]) >= 2}:
        reached |= found
    together, apart = (tuple(name for name in modalities if (name in reached) == which) for which in (True, False))
    if apart:
        quoted = "' or '"
        fewer, more = sorted((together, apart), key=len)
        raise FitError(
            f"fewer than two training items have '{quoted.join(fewer)}' beside '{quoted.join(more)}', so nothing "
            f"tells how they correspond; give such items, or leave it out (--modalities {','.join(more)}, or "
            f"modalities={more})."
        )


def fit_scalings(
    rows: Mapping[str, Features], kinds: Mapping[str, Kind], recipes: str | Mapping[str, str]
) -> dict[str, Scaling]:
    """Learn one scaling per modality.

    Args:
        rows: the training rows of each modality.
        kinds: the kind of each.
        recipes: one recipe for all modalities, or one by modality and "auto" for those it leaves out.
    """
    if isinstance(recipes, str):
        recipes = dict.fromkeys(rows, recipes)
    unknown = [name for name in recipes if name not in rows]
    if unknown:
        raise ConfigError(f"scaling names the modality '{unknown[0]}'; there are {', '.join(rows)}.")
    return {name: fit_scaling(values, kinds[name], recipes.get(name, "auto")) for name, values in rows.items()}


def scaled_pairs(data: TrainingData, recipes: str | Mapping[str, str]) -> tuple[dict[str, Scaling], dict[str, Floats]]:
    """Learn the scalings from the training pairs and apply them; a modality that never varies is an error.

    Of more than two modalities, the rows of each are those of the `training_pairs` that have it.
    """
    pairs = training_pairs(data)
    raw = {name: pairs.having(name).features(name) for name in data.modalities}
    scalings = fit_scalings(raw, data.kinds, recipes)
    scaled = {name: scalings[name](values) for name, values in raw.items()}
    for name, values in scaled.items():
        if not (values != values[:1]).any():
            raise FitError(f"'{name}' is the same in all {len(values)} training pairs; there is nothing to correlate.")
    return scalings, scaled


@dataclass(frozen=True)
class Documents:
    """What the network learns from.

    Attributes:
        labelled: the training items that have at least two of the modalities and a label.
        targets: their class probabilities: one-hot for a label that is certain, equal parts of one for several.
        pool: unlabelled rows of each modality; empty where the protocol has none.
        pool_items: the items that these rows are of, where that may be seen; each has at least two of the modalities.
    """

    labelled: Partition
    targets: Singles
    pool: Mapping[str, Features]
    pool_items: Partition | None = None

    @property
    def paired(self) -> bool:
        """Whether it may be seen which rows of the pool belong together."""
        return self.pool_items is not None

    @property
    def pool_sizes(self) -> dict[str, int]:
        """How many unlabelled rows, or items where these are known, each modality draws from."""
        return {
            name: rows.shape[0] if self.pool_items is None else len(self.pool_items) for name, rows in self.pool.items()
        }

    def of(self, modality: str) -> tuple[Features, Singles]:
        """The labelled items that have a modality: their rows and their class probabilities."""
        has = self.labelled.has(modality)
        return self.labelled.take(has).features(modality), self.targets[has]


def row_numbers(part: Partition, modality: str) -> Integers | None:
    """For every item its row among those that have the modality, -1 where it lacks it; None where all have it."""
    has = part.has(modality)
    return None if has.all() else np.where(has, np.cumsum(has) - 1, -1)


def documents(data: TrainingData, *, with_pool: bool) -> Documents:
    """Take what a network learns from, with or without the unlabelled pool."""
    labelled = data.train.having_two_of(*data.modalities).labelled()
    if data.soft_labels is not None:
        chosen = np.isin(data.train.index, labelled.index)
        targets = np.asarray(data.soft_labels[chosen], dtype=np.float32)
    else:
        targets = labelled.labels.shares.astype(np.float32)
    items = data.unlabelled_pairs
    if with_pool and items is not None and len(items):
        return Documents(labelled, targets, {m: items.having(m).features(m) for m in data.modalities}, items)
    pool = {name: rows for name, rows in data.pools.items() if rows.shape[0]} if with_pool else {}
    return Documents(labelled, targets, pool if len(pool) > 1 else {})


def limited(data: TrainingData, pairs: int, labelled: int, seed: int) -> TrainingData:
    """The training data with at most so many pairs and labels (0 for all), and validation items, drawn by a seed.

    Items without a partner stay: no method's time depends on them much.
    """
    paired = np.sum([data.train.has(name) for name in data.modalities], axis=0) >= 2
    kept = ~paired | _drawn(paired, pairs, seed, "pairs")
    if not kept.all():
        soft = None if data.soft_labels is None else data.soft_labels[kept]
        given = None if data.given_labels is None else data.given_labels.take(kept)
        data = replace(data, train=data.train.take(kept), soft_labels=soft, given_labels=given)
    known = data.train.labels.is_labelled
    if labelled and np.count_nonzero(known) > labelled:
        data = with_labels_kept(data, _drawn_labels(data.train.labels, labelled, seed))
    if data.validation is not None and len(data.validation) > MOST_VALIDATION_ITEMS:
        every = np.ones(len(data.validation), dtype=np.bool_)
        data = replace(data, validation=data.validation.take(_drawn(every, MOST_VALIDATION_ITEMS, seed, "validation")))
    return data


def _drawn_labels(labels: Labels, count: int, seed: int) -> Booleans:
    """So many labelled items, the first few of every class before any others."""
    order = generator(seed, "auto", "labels").permutation(np.flatnonzero(labels.is_labelled))
    rank = np.zeros(len(order), dtype=np.int64)
    chosen = labels.take(order).matrix.tocsc()
    for start, end in pairwise(chosen.indptr):
        members = np.sort(chosen.indices[start:end])
        rank[members] = np.maximum(rank[members], np.arange(len(members)))
    first = np.argsort(rank >= FEWEST_OF_A_CLASS, kind="stable")[:count]
    kept = np.zeros(len(labels), dtype=np.bool_)
    kept[order[first]] = True
    return kept


def _drawn(of: Booleans, count: int, seed: int, purpose: str) -> Booleans:
    """At most so many of the items that are named."""
    places = np.flatnonzero(of)
    if len(places) <= count:
        return of
    drawn = np.zeros(len(of), dtype=np.bool_)
    drawn[generator(seed, "auto", purpose).permutation(places)[:count]] = True
    return drawn
