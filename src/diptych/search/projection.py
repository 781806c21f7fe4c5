"""Project the shared space to two dimensions, all modalities together, for the explore view."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from diptych._core.arrays import Floats, Singles
from diptych._core.files import atomic_file, interpreting, read_json, write_json
from diptych._core.seeding import generator
from diptych.index import Index
from diptych.search.index_folder import REBUILD

ProjectionChoice = Literal["auto", "tsne", "pca", "none"]
MOST_FOR_TSNE = 25_000
MOST_POINTS = 50_000
_PCA_FIRST = 50
_PERPLEXITY = 30.0
_PAGE = 2_000


@dataclass(frozen=True)
class Projection:
    """Positions of items.

    Attributes:
        method: "tsne" or "pca".
        ids: which items.
        modalities: of each.
        labels: of each: a class, several, or None.
        positions: one row of two numbers each, between -1 and 1.
    """

    method: str
    ids: Sequence[str]
    modalities: Sequence[str]
    labels: Sequence[Any]
    positions: Singles


def project(index: Index, choice: ProjectionChoice = "auto", *, seed: int = 0) -> Projection | None:
    """Lay out the items of an index.

    t-SNE (van der Maaten and Hinton, JMLR 2008) on the first 50 principal components for up to 25,000 items, the first
    two components themselves for more; of more than 50,000 items so many are drawn. The same index gives the same
    layout.
    """
    ids = index.list_ids(limit=max(1, index.count()))
    if choice == "none" or len(ids) < 3:
        return None
    if len(ids) > MOST_POINTS:
        chosen = generator(seed, "projection").choice(len(ids), MOST_POINTS, replace=False)
        ids = [ids[place] for place in np.sort(chosen)]
    items = [item for start in range(0, len(ids), _PAGE) for item in index.get(ids[start : start + _PAGE])]
    present = [item for item in items if item is not None]
    vectors = np.stack([item.vector for item in present])
    method = choice if choice != "auto" else "tsne" if len(present) <= MOST_FOR_TSNE else "pca"
    return Projection(
        method,
        [item.id for item in present],
        [item.modality for item in present],
        [item.metadata.get("label") for item in present],
        _fitted_to_sheet(_tsne(vectors, seed) if method == "tsne" else _principal(vectors, 2)),
    )


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
        try:
            with (folder / "projection.npy").open("rb") as file:
                positions = np.load(file, allow_pickle=False)
        except OSError as error:
            raise ValueError(error.strerror) from None
        known = Projection(**read_json(folder / "projection.json"), positions=positions)
        columns = (known.ids, known.modalities, known.labels, positions)
        if len({len(column) for column in columns}) > 1 or positions.shape[1:] != (2,):
            raise ValueError("the columns differ in length")
        return known


def living_points(folder: Path, index: Index) -> list[dict[str, Any]] | None:
    """Where the entries stood when the index was built, without those removed since; None if it has no layout."""
    known = read_projection(folder)
    if known is None:
        return None
    living = set(index.list_ids(limit=max(1, index.count())))
    columns = zip(known.ids, known.modalities, known.labels, known.positions.tolist(), strict=True)
    return [
        {"id": id, "modality": modality, "label": label, "x": x, "y": y}
        for id, modality, label, (x, y) in columns
        if id in living
    ]


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
