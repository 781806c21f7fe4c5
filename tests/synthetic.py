"""Small datasets with known structure: a latent vector per item, near its class's centre, seen by every modality."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from diptych._core.seeding import generator
from diptych.data import Dataset, Draft, ModalityRows, write_dataset
from diptych.evaluation import expected_average_precision, mean_average_precision, normalise
from diptych.methods import Method

CLASSES = ("art", "biology", "geography", "history", "music", "sport")
COUNTS = {"train": 96, "val": 40, "test": 60}
_LATENT = 6


def draft(
    modalities=("image", "text"),
    *,
    counts_text=True,
    mixed_text=False,
    seed=0,
    counts=COUNTS,
    spread=0.7,
    shared=False,
) -> Draft:
    """An easy dataset: the item's own latent makes pairs agree, the class's centre makes classes cluster.

    With `mixed_text`, texts have counts and dense columns side by side. With `shared`, all modalities are dense views
    of the latent in one space, as encoders trained together give them.
    """
    random = generator(seed, "synthetic")
    total = sum(counts.values())
    codes = np.arange(total) % len(CLASSES)
    centres = 2.0 * np.linalg.qr(random.normal(size=(_LATENT, _LATENT)))[0][: len(CLASSES)]
    latent = centres[codes] + spread * random.normal(size=(total, _LATENT))
    order = random.permutation(total)
    codes, latent = codes[order], latent[order]
    return Draft(
        name="synthetic",
        ids=[f"item{i:03d}" for i in range(total)],
        splits=[split for split, count in counts.items() for _ in range(count)],
        labels=[CLASSES[code] for code in codes],
        classes=CLASSES,
        modalities={
            name: ModalityRows(
                *(_shared_rows(name, latent, seed) if shared else _rows(name, latent, counts_text, seed, mixed_text))
            )
            for name in modalities
        },
    )


def _shared_rows(name: str, latent: np.ndarray, seed: int):
    towards = generator(seed, "synthetic", "shared").normal(size=(latent.shape[1], 12))
    seen = latent @ towards
    return "dense", (seen + 0.3 * generator(seed, "synthetic", name).normal(size=seen.shape)).astype(np.float32)


def _rows(name: str, latent: np.ndarray, counts_text: bool, seed: int, mixed_text: bool = False):
    if name == "text" and mixed_text:
        _, words = _rows(name, latent, True, seed)
        _, dense = _rows("encoder", latent, False, seed)
        return f"counts:{words.shape[1]}+dense:{dense.shape[1]}", np.hstack([words, dense]).astype(np.float32)
    random = generator(seed, "synthetic", name)
    dimension = {"image": 12, "text": 20}.get(name, 9)
    seen = latent @ random.normal(size=(latent.shape[1], dimension))
    if name == "text" and counts_text:
        return "counts", random.poisson(np.exp(0.3 * seen + 1.0))
    scales = random.uniform(0.5, 20.0, size=dimension)  # unlike units, as real descriptors have
    return "dense", (scales * (seen + 0.3 * random.normal(size=seen.shape))).astype(np.float32)


def with_gaps(base: Draft) -> Draft:
    """Every tenth item loses one modality in turn, and every third training item its label."""
    names = list(base.modalities)
    modalities = {}
    for place, (name, rows) in enumerate(base.modalities.items()):
        present = np.array([i % 10 != 0 or (i // 10) % len(names) != place for i in range(len(base.ids))])
        modalities[name] = ModalityRows(rows.kind, rows.values[present], present)
    hidden = [split == "train" and i % 3 == 0 for i, split in enumerate(base.splits)]
    labels = [None if hide else label for hide, label in zip(hidden, base.labels, strict=True)]
    return replace(base, modalities=modalities, labels=labels)


def with_holes(base: Draft) -> Draft:
    """Every second item lacks one modality in turn, some lack all but one, and every fifth training item its label."""
    names = list(base.modalities)
    numbers = np.arange(len(base.ids))
    modalities = {}
    for place, (name, rows) in enumerate(base.modalities.items()):
        present = (numbers % 2 == 0) | ((numbers // 2) % len(names) != place)
        present &= (numbers % 20 != 4) | (place == 0)
        modalities[name] = ModalityRows(rows.kind, rows.values[present], present)
    hidden = [split == "train" and i % 5 == 0 for i, split in enumerate(base.splits)]
    labels = [None if hide else label for hide, label in zip(hidden, base.labels, strict=True)]
    return replace(base, modalities=modalities, labels=labels)


def change_test_labels(base: Draft) -> Draft:
    """Give every test item another class; training and validation stay as they are."""
    following = dict(zip(CLASSES, (*CLASSES[1:], CLASSES[0]), strict=True))
    labels = [following[x] if s == "test" else x for x, s in zip(base.labels, base.splits, strict=True)]
    return replace(base, labels=labels)


def reverse_test_rows(base: Draft, modality: str) -> Draft:
    """Hand every test item another test item's row of one modality, which breaks the pairing and nothing else."""
    rows = base.modalities[modality]
    test = np.flatnonzero(np.asarray(base.splits) == "test")
    values = rows.values.copy()
    values[test] = values[test[::-1]]
    return replace(base, modalities={**base.modalities, modality: ModalityRows(rows.kind, values)})


def shuffle_for_training(base: Draft, seed: int) -> Draft:
    """Deal labels and every modality's rows out anew inside training and inside validation.

    Nothing is left to be learned about classes or pairs; the test items stay as they are.
    """
    random = generator(seed, "shuffled")
    labels = np.array(base.labels, dtype=object)
    values = {name: rows.values.copy() for name, rows in base.modalities.items()}
    for split in ("train", "val"):
        where = np.flatnonzero(np.asarray(base.splits) == split)
        for column in (labels, *values.values()):
            column[where] = column[random.permutation(where)]
    modalities = {name: ModalityRows(rows.kind, values[name]) for name, rows in base.modalities.items()}
    return replace(base, labels=labels.tolist(), modalities=modalities)


def write(folder: Path, content: Draft) -> Dataset:
    """Write a draft and open it."""
    return write_dataset(folder, content)


def score_on_test(
    method: Method, dataset: Dataset, modalities: tuple[str, str] = ("image", "text"), *, normalised: bool = False
) -> float:
    """MAP over the test items, averaged over both directions."""
    scores = []
    for asking, asked in (modalities, modalities[::-1]):
        queries, gallery = dataset.split("test").having(asking), dataset.split("test").having(asked)
        codes = method.represent(asking, asked, queries.features(asking), gallery.features(asked))
        codes = tuple(normalise(side, "eval-set" if normalised else "none") for side in codes)
        scores.append(mean_average_precision(*codes, queries.labels, gallery.labels, similarity=method.similarity))
    return float(np.mean(scores))


def chance_score(dataset: Dataset) -> float:
    """The MAP of a random ranking of the test items."""
    labels = dataset.split("test").labels
    return float(expected_average_precision(labels.shared_counts(labels), len(labels)).mean())
