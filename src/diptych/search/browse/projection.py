"""The items of an index in two dimensions: a layout that is computed once and then takes new items.

A part of the items, the landmarks, is laid out by t-SNE or by principal components. Every other item, also one that is
added later, is placed among its nearest landmarks: at the mean of their positions, weighted by how near they are. So a
large index costs no more than its landmarks do, and nothing moves when items are added.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from diptych._core.arrays import Floats, Singles
from diptych._core.files import atomic_file, interpreting, read_json, write_json
from diptych._core.seeding import generator
from diptych.index import Index
from diptych.search.browse import Catalogue
from diptych.search.browse.cluster_names import ClusterName, ClusterNames
from diptych.search.index_folder import REBUILD

ProjectionChoice = Literal["auto", "tsne", "pca", "none"]
MOST_FOR_TSNE, LANDMARKS = 25_000, 10_000
"""More items than the first are not laid out at once: so many landmarks of them are."""
_PLACED_BY, _NEIGHBOURS, _BLOCK = 4_000, 8, 1_024
"""An item that is added later is placed by so many of the landmarks at most, among so many of them."""
_PCA_FIRST, _PERPLEXITY, _PAGE = 50, 30.0, 2_000


@dataclass(frozen=True)
class Projection:
    """Positions of items.

    Attributes:
        method: "tsne" or "pca".
        ids: which items.
        modalities: of each.
        labels: of each: a class, several, or None.
        positions: one row of two numbers each, between -1 and 1.
        names: for what has no label, at each zoom.
    """

    method: str
    ids: Sequence[str]
    modalities: Sequence[str]
    labels: Sequence[Any]
    positions: Singles
    names: Sequence[ClusterName] = ()


def project(index: Index, choice: ProjectionChoice = "auto", *, seed: int = 0) -> Projection | None:
    """Lay out the items of an index.

    t-SNE (van der Maaten and Hinton, JMLR 2008) on the first 50 principal components; of more than 25,000 items, 10,000
    landmarks are laid out so and the others are placed among them. The same index gives the same layout.
    """
    ids = index.list_ids(limit=max(1, index.count()))
    if choice == "none" or len(ids) < 3:
        return None
    items = [item for start in range(0, len(ids), _PAGE) for item in index.get(ids[start : start + _PAGE])]
    present = [item for item in items if item is not None]
    vectors = np.stack([item.vector for item in present])
    method = "tsne" if choice == "auto" else choice
    return Projection(
        method,
        [item.id for item in present],
        [item.modality for item in present],
        [item.metadata.get("label") for item in present],
        _fitted_to_sheet(_laid_out(vectors, seed) if method == "tsne" else _principal(vectors, 2)),
    )


def _laid_out(vectors: Singles, seed: int) -> Floats:
    if len(vectors) <= MOST_FOR_TSNE:
        return _tsne(vectors, seed)
    chosen = np.sort(generator(seed, "projection").choice(len(vectors), LANDMARKS, replace=False))
    positions = np.empty((len(vectors), 2))
    positions[chosen] = _tsne(vectors[chosen], seed)
    others = np.setdiff1d(np.arange(len(vectors)), chosen)
    positions[others] = place(vectors[others], vectors[chosen], positions[chosen])
    return positions


def place(vectors: Singles, landmarks: Singles, positions: Floats) -> Floats:
    """Positions for vectors, each among the landmarks nearest to it by cosine; the nearest count most.

    >>> place(np.array([[1.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[3.0, 4.0], [9.0, 9.0]])).round(1)
    array([[3.7, 4.6]])
    """
    count = min(_NEIGHBOURS, len(landmarks))
    found = np.empty((len(vectors), 2))
    for start in range(0, len(vectors), _BLOCK):
        cosines = vectors[start : start + _BLOCK] @ landmarks.T
        nearest = np.argpartition(-cosines, count - 1, axis=1)[:, :count]
        near = np.take_along_axis(cosines, nearest, axis=1).astype(np.float64)
        spread = near.max(axis=1, keepdims=True) - near
        weights = np.exp(-2 * spread / np.maximum(spread.max(axis=1, keepdims=True), 1e-9))
        weights /= weights.sum(axis=1, keepdims=True)
        found[start : start + _BLOCK] = np.einsum("ij,ijk->ik", weights, positions[nearest])
    return found


def write_projection(projection: Projection, folder: Path) -> None:
    """Keep it as `projection.npy` and `projection.json`."""
    with atomic_file(folder / "projection.npy") as temporary, temporary.open("wb") as file:
        np.save(file, projection.positions, allow_pickle=False)
    columns = {"ids": projection.ids, "modalities": projection.modalities, "labels": projection.labels}
    write_json(folder / "projection.json", {"method": projection.method} | columns)


def read_projection(folder: Path) -> Projection | None:
    """Read it again, if there is one."""
    if not (folder / "projection.json").exists():
        return None
    with interpreting(folder / "projection.json", REBUILD):
        with (folder / "projection.npy").open("rb") as file:
            positions = np.load(file, allow_pickle=False)
        known = Projection(**read_json(folder / "projection.json"), positions=positions)
        columns = (known.ids, known.modalities, known.labels, positions)
        if len({len(column) for column in columns}) > 1 or positions.shape[1:] != (2,):
            raise ValueError("the columns differ in length")
        return known


def living_projection(folder: Path, index: Index, wanted: Container[str] | None = None) -> Projection | None:
    """The layout as it is now: without what was removed since the index was built, and with what was added.

    Args:
        folder: of the index.
        index: its entries.
        wanted: only these of them; None: all.
    """
    known = read_projection(folder)
    if known is None:
        return None
    ids = [id for id in index.list_ids(limit=max(1, index.count())) if wanted is None or id in wanted]
    place_of = dict(zip(known.ids, range(len(known.ids)), strict=True))
    there = [place_of[id] for id in ids if id in place_of]
    kept = Projection(
        known.method,
        [known.ids[at] for at in there],
        [known.modalities[at] for at in there],
        [known.labels[at] for at in there],
        known.positions[there],
    )
    return _with_added(kept, [id for id in ids if id not in place_of], index)


def _with_added(known: Projection, added: Sequence[str], index: Index) -> Projection:
    if not added or len(known.ids) < 2:
        return known
    step = -(-len(known.ids) // _PLACED_BY)
    items = dict(zip(range(0, len(known.ids), step), index.get(known.ids[::step]), strict=True))
    landmarks = {at: item.vector for at, item in items.items() if item is not None}
    new = [
        item
        for start in range(0, len(added), _PAGE)
        for item in index.get(added[start : start + _PAGE])
        if item is not None
    ]
    if not new or not landmarks:
        return known
    vectors = np.stack([item.vector for item in new])
    positions = place(vectors, np.stack(list(landmarks.values())), known.positions[list(landmarks)].astype(np.float64))
    return Projection(
        known.method,
        [*known.ids, *(item.id for item in new)],
        [*known.modalities, *(item.modality for item in new)],
        [*known.labels, *(item.metadata.get("label") for item in new)],
        np.concatenate([known.positions, positions.astype(np.float32)]),
    )


def living_points(folder: Path, index: Index) -> list[dict[str, Any]] | None:
    """The same, point by point; None if the index has no layout."""
    known = living_projection(folder, index)
    if known is None:
        return None
    columns = zip(known.ids, known.modalities, known.labels, known.positions.tolist(), strict=True)
    return [{"id": id, "modality": name, "label": label, "x": x, "y": y} for id, name, label, (x, y) in columns]


def item_map(folder: Path, index: Index, catalogue: Catalogue, names: ClusterNames) -> Projection | None:
    """The layout of items, each once, at the place of the entry that stands for it, with its label of today."""
    standing, labels = catalogue.documents(), catalogue.labels()
    known = living_projection(folder, index, standing)
    if known is None:
        return None
    now = [labels[standing[id]] for id in known.ids]
    unlabelled = np.array([label is None for label in now], np.bool_)
    return replace(known, labels=now, names=names.of(known.ids, known.positions, unlabelled))


def _principal(vectors: Singles, count: int) -> Floats:
    """The first principal components, each with the sign that makes its largest entry positive."""
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    _, axes = np.linalg.eigh(centred.T @ centred)
    leading = axes[:, ::-1][:, :count]
    signs = np.sign(leading[np.argmax(np.abs(leading), axis=0), np.arange(leading.shape[1])])
    found = centred @ (leading * np.where(signs == 0, 1.0, signs))
    return np.pad(found, ((0, 0), (0, max(0, 2 - found.shape[1]))))


def _tsne(vectors: Singles, seed: int) -> Floats:
    from sklearn.manifold import TSNE  # slow to import, and only building needs it

    reduced = _principal(vectors, _PCA_FIRST)
    start = reduced[:, :2] / (np.std(reduced[:, 0]) or 1.0) * 1e-4
    perplexity = min(_PERPLEXITY, (len(vectors) - 1) / 3)
    layout = TSNE(2, perplexity=perplexity, init=start.astype(np.float32), random_state=seed, n_jobs=1)
    return np.asarray(layout.fit_transform(reduced.astype(np.float32)), dtype=np.float64)


def _fitted_to_sheet(positions: Floats) -> Singles:
    centred = positions - (positions.max(axis=0) + positions.min(axis=0)) / 2
    return np.asarray(centred / (np.abs(centred).max() or 1.0), dtype=np.float32)
