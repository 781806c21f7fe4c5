"""Synthetic datasets: several noisy views of one hidden position per item."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from diptych._core.arrays import Booleans, Features, Floats, Integers
from diptych._core.errors import ConfigError
from diptych._core.seeding import generator
from diptych.data.dataset import Dataset
from diptych.data.modality import KINDS, Kind, ModalityRows
from diptych.data.splits import stratified_split
from diptych.data.writing import Draft, check_target, write_dataset

DEFAULT_KINDS: Mapping[str, Kind] = {"image": "dense", "text": "counts"}
DEFAULT_DIMENSION: Mapping[Kind, int] = {"dense": 64, "counts": 200}
_LATENT = 12
_CLASS_SPREAD = 1.4  # distance of the class centres; items scatter around theirs with unit variance
_DENSE_NOISE = 1.0
_NUISANCE = 6  # directions of a dense view that have nothing to do with the hidden cause
_MEAN_WORDS = 40
_MEMBERSHIP_DRAWS = 3


@dataclass(frozen=True)
class _Hidden:
    """What the views are made from: the labels of each item and its hidden position."""

    labels: list[list[int]]
    positions: Floats


def make_synthetic(
    out: str | Path,
    *,
    items: int = 1200,
    classes: int = 8,
    seed: int = 0,
    kinds: Mapping[str, Kind] | None = None,
    dimensions: Mapping[str, int] | None = None,
    val_share: float = 0.15,
    test_share: float = 0.25,
    unlabelled_share: float = 0.0,
    missing_share: float = 0.0,
    multi_label: bool = False,
    name: str = "synthetic",
    overwrite: bool = False,
) -> Dataset:
    """Make a dataset whose modalities are views of one hidden position per item, drawn around its class's centre.

    A dense view is a noisy, squashed projection with directions of its own; a counts view draws words from a
    mixture of topics. Classes are unbalanced: the first has about three times the items of the last.

    Args:
        out: the folder to make.
        items: how many items.
        classes: how many classes.
        seed: decides everything.
        kinds: the modalities and their kinds; an image of kind "dense" and a text of "counts" when left out.
        dimensions: the length of a row by modality; 64 when dense and 200 when counts, unless given.
        val_share: the share of validation items.
        test_share: the share of test items.
        unlabelled_share: the share of training items whose label is taken away.
        missing_share: the share of items that lack one modality.
        multi_label: give items up to three labels.
        name: name of the dataset.
        overwrite: replace a dataset that is already there.
    """
    check_target(out, overwrite=overwrite)
    chosen = dict(kinds or DEFAULT_KINDS)
    _check_options(items, classes, chosen, unlabelled_share, missing_share)
    hidden = _hidden(items, classes, seed, multi_label)
    splits = stratified_split([str(row[0]) for row in hidden.labels], seed, val_share, test_share)
    present = _present(items, list(chosen), missing_share, seed)
    hide = _take_away(splits == "train", unlabelled_share, seed)
    names = [f"class-{code + 1}" for code in range(classes)]
    modalities = {}
    for modality, kind in chosen.items():
        width = (dimensions or {}).get(modality, DEFAULT_DIMENSION[kind])
        view = _dense_view if kind == "dense" else _counts_view
        rows = view(hidden.positions, width, generator(seed, "synthetic", "view", modality))
        modalities[modality] = ModalityRows(kind, rows[present[modality]], present[modality], f"synthetic {modality}")
    draft = Draft(
        name=name,
        ids=[f"item-{row:05d}" for row in range(items)],
        splits=splits.tolist(),
        labels=[[] if hide[row] else [names[code] for code in codes] for row, codes in enumerate(hidden.labels)],
        classes=names,
        modalities=modalities,
        source={
            "importer": "synthetic",
            "seed": seed,
            "unlabelled_share": unlabelled_share,
            "missing_share": missing_share,
            "multi_label": multi_label,
        },
        origin="synthetic items",
    )
    return write_dataset(out, draft, overwrite=overwrite)


def _check_options(
    items: int, classes: int, kinds: Mapping[str, Kind], unlabelled_share: float, missing_share: float
) -> None:
    if classes < 2:
        raise ConfigError(f"classes is {classes}; it must be at least 2.")
    if items < 10 * classes:
        raise ConfigError(f"items is {items}; {classes} classes need at least {10 * classes}.")
    for share_name, share in (("unlabelled_share", unlabelled_share), ("missing_share", missing_share)):
        if not 0 <= share < 1:
            raise ConfigError(f"{share_name} is {share}; it must be at least 0 and below 1.")
    for modality, kind in kinds.items():
        if kind not in KINDS:
            raise ConfigError(f"the kind of '{modality}' is {kind!r}; choose one of {', '.join(KINDS)}.")
    if missing_share and len(kinds) < 2:
        raise ConfigError("missing_share needs at least two modalities, for an item must keep one.")


def _hidden(items: int, classes: int, seed: int, multi_label: bool) -> _Hidden:
    random = generator(seed, "synthetic", "hidden")
    centres = random.normal(scale=_CLASS_SPREAD, size=(classes, _LATENT))
    shares = np.linspace(3.0, 1.0, classes)
    sizes = np.floor(items * shares / shares.sum()).astype(np.int64)
    sizes[: items - int(sizes.sum())] += 1
    first = random.permutation(np.repeat(np.arange(classes), sizes))
    labels = [[int(code)] for code in first]
    if multi_label:
        labels = [_with_more(row, classes, random) for row in labels]
    means = np.stack([centres[row].mean(axis=0) for row in labels])
    return _Hidden(labels, means + random.normal(size=(items, _LATENT)))


def _with_more(row: list[int], classes: int, random: np.random.Generator) -> list[int]:
    """Add none, one or two further classes."""
    more: Integers = random.integers(classes, size=random.integers(_MEMBERSHIP_DRAWS))
    return list(dict.fromkeys([*row, *more.tolist()]))


def _dense_view(positions: Floats, width: int, random: np.random.Generator) -> Features:
    """Squash a projection of the position and of directions this view has alone, and add noise."""
    own = random.normal(size=(len(positions), _NUISANCE))
    causes = np.hstack([positions, own])
    projection = random.normal(size=(causes.shape[1], width)) / np.sqrt(causes.shape[1])
    squashed = np.tanh(causes @ projection) + 0.3 * np.square(causes @ np.roll(projection, 1, axis=1))
    return np.asarray(squashed + _DENSE_NOISE * random.normal(size=squashed.shape), dtype=np.float32)


def _counts_view(positions: Floats, width: int, random: np.random.Generator) -> Features:
    """Draw words from a mixture of topics whose weights the position decides; a few items have no word at all."""
    topics = random.dirichlet(np.full(width, 0.1), size=2 * _LATENT)
    mixing = np.eye(2 * _LATENT) + 0.1 * random.normal(size=(2 * _LATENT, 2 * _LATENT))
    strengths = np.hstack([positions, -positions]) @ mixing
    weights = np.exp(strengths - strengths.max(axis=1, keepdims=True))
    words = (weights / weights.sum(axis=1, keepdims=True)) @ topics
    lengths = random.negative_binomial(2, 2 / (2 + _MEAN_WORDS), size=len(positions))
    return sp.csr_array(random.multinomial(lengths, words / words.sum(axis=1, keepdims=True)).astype(np.int32))


def _present(items: int, modalities: list[str], share: float, seed: int) -> dict[str, Booleans]:
    """Which items have which modality: an item lacks at most one."""
    random = generator(seed, "synthetic", "missing")
    lacking = random.random(items) < share
    which = random.integers(len(modalities), size=items)
    return {name: ~(lacking & (which == position)) for position, name in enumerate(modalities)}


def _take_away(candidates: Booleans, share: float, seed: int) -> Booleans:
    """Choose which items lose their labels: exactly the share of the candidates."""
    members = generator(seed, "synthetic", "unlabelled").permutation(np.flatnonzero(candidates))
    chosen = np.zeros(len(candidates), dtype=np.bool_)
    chosen[members[: round(share * len(members))]] = True
    return chosen
