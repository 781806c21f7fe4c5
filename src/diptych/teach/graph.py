"""The items of an index as a graph of neighbours.

An item is placed by the vectors of its sides in the partner space. What was taught before must not decide what is near,
or mistakes would confirm themselves: once a model was learned from answers, items stay where the last model without
them had placed them, and items added since are placed beside those that they are near to now.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from diptych._core.arrays import Booleans, Floats, Integers, Singles, Sparse
from diptych._core.files import atomic_file
from diptych.evaluation.similarity import unit_rows
from diptych.index import Item
from diptych.methods.propagation import NEIGHBOURS, faiss, graph_of_neighbours, nearest_rows
from diptych.search.entries import document_of
from diptych.search.generation import Generation
from diptych.search.index_folder import folder_beside
from diptych.search.raw_embedder import media_type_of

_PAGE = 2_000
_PLACES_FILE = "places.npz"
_MAPPED_BY, _RIDGE = 5_000, 1e-3
"""Items by which the map to earlier places is fitted, and its ridge as a share of the mean variance."""


@dataclass(frozen=True)
class ItemInfo:
    """What teaching needs to know of an item.

    Attributes:
        entry: the id of the entry that stands for it: an image if it has one.
        split: of the dataset, if it came with one.
        label: that came with the dataset.
    """

    entry: str
    split: str | None = None
    label: str | None = None


@dataclass(frozen=True)
class Places:
    """Where items stood before anything was learned from answers.

    Attributes:
        items: their names.
        vectors: of each, of length 1.
    """

    items: Sequence[str]
    vectors: Singles

    def write(self, folder: Path) -> None:
        """Keep them in the folder beside an index."""
        with atomic_file(folder / _PLACES_FILE) as temporary, temporary.open("wb") as file:
            np.savez(file, items=np.array(self.items, np.str_), vectors=self.vectors.astype(np.float16))

    @classmethod
    def read(cls, folder: Path) -> "Places | None":
        """Read what `write` kept; None where there is nothing, or it cannot be read."""
        try:
            with np.load(folder / _PLACES_FILE, allow_pickle=False) as kept:
                vectors = np.asarray(unit_rows(kept["vectors"].astype(np.float32)), np.float32)
                return cls(kept["items"].tolist(), vectors)
        except (OSError, ValueError, KeyError, BadZipFile):
            return None

    def mapped_from(self, items: Sequence[str], vectors: Singles) -> tuple[Singles, Singles | None]:
        """Items that are known where they stood, the others by a linear map fitted on those; and the map.

        The map is None, and the vectors are as they are, where fewer than two items are known.
        """
        row_of = {item: row for row, item in enumerate(self.items)}
        here = np.array([row for row, item in enumerate(items) if item in row_of], np.int64)
        if len(here) < 2:
            return vectors, None
        there = np.array([row_of[items[row]] for row in here])
        some = slice(None, None, -(-len(here) // _MAPPED_BY))
        rows, targets = vectors[here[some]].astype(np.float64), self.vectors[there[some]]
        scatter = rows.T @ rows
        ridge = _RIDGE * np.trace(scatter) / len(scatter)
        to_places = np.linalg.solve(scatter + ridge * np.eye(len(scatter)), rows.T @ targets).astype(np.float32)
        placed = np.asarray(unit_rows(vectors @ to_places), np.float32)
        placed[here] = self.vectors[there]
        return placed, to_places


@dataclass
class ItemGraph:
    """Items, their neighbours and the graph of these; rows of removed items stay, without neighbours.

    Attributes:
        items: the item of each row.
        info: of each item.
        vectors: the unit vectors of each row.
        living: which rows are items that are still there.
        cosines: of each row with its neighbours.
        nearest: the rows of these; -1 for none.
        graph: the affinities, as propagation wants them.
        row_of: the row of each item.
        to_places: from vectors of the index to those of the graph; None where these are the same.
    """

    items: list[str]
    info: dict[str, ItemInfo]
    vectors: Singles
    living: Booleans
    cosines: Singles
    nearest: Integers
    graph: Sparse
    row_of: dict[str, int]
    to_places: Singles | None = None

    @classmethod
    def of(cls, generation: Generation) -> "ItemGraph":
        """Read every entry of an index."""
        index = generation.index
        ids = index.list_ids(limit=max(1, index.count()))
        entries = [entry for start in range(0, len(ids), _PAGE) for entry in index.get(ids[start : start + _PAGE])]
        info, vectors = _documents([entry for entry in entries if entry is not None], generation)
        items, to_places = list(info), None
        if "taught_from" in generation.description.dataset and (known := Places.read(folder_beside(generation.folder))):
            vectors, to_places = known.mapped_from(items, vectors)
        count = len(info)
        width = min(NEIGHBOURS, max(0, count - 1))
        cosines, nearest = np.zeros((count, 0), np.float32), np.zeros((count, 0), np.int64)
        if width:
            cosines, nearest = nearest_rows(vectors, width)
        rows = {item: row for row, item in enumerate(items)}
        graph = graph_of_neighbours(cosines, nearest)
        return cls(items, info, vectors, np.ones(count, np.bool_), cosines, nearest, graph, rows, to_places)

    def changed(self, generation: Generation, entries: Sequence[str]) -> "ItemGraph":
        """The graph after entries were written or removed: their items are placed anew, all others stay.

        Others keep the neighbours they had; new items join them by their own, for the graph has no direction.
        """
        index = generation.index
        found = {id: item for id, item in zip(entries, index.get(entries), strict=True) if item is not None}
        known = {info.entry: item for item, info in self.info.items()}
        touched = {document_of(id, item.metadata) for id, item in found.items()}
        touched |= {known.get(id) or id.partition(":")[2] or id for id in entries if id not in found}
        sides = [f"{name}:{item}" for item in touched for name in generation.model.modalities]
        present = {item.id: item for item in index.get(sides) if item is not None} | found
        info, vectors = _documents(list(present.values()), generation)
        if self.to_places is not None:
            vectors = np.asarray(unit_rows(vectors @ self.to_places), np.float32)
        items, rows = [*self.items], dict(self.row_of)
        for item in info:
            if item not in rows:
                rows[item] = len(items)
                items.append(item)
        more = len(items) - len(self.items)
        width = self.vectors.shape[1]
        grown = np.vstack([self.vectors, np.zeros((more, width), np.float32)])
        living = np.append(self.living, np.zeros(more, np.bool_))
        places = np.array([rows[item] for item in info], np.int64)
        grown[places] = vectors
        living[places] = True
        gone = [rows[item] for item in touched if item in rows and item not in info]
        grown[gone], living[gone] = 0.0, False
        cosines, nearest = self._neighbours(grown, places, more)
        cosines[~living[np.maximum(nearest, 0)]] = 0.0
        cosines[~living] = 0.0
        kept = {item: known for item, known in self.info.items() if living[rows[item]]}
        graph = graph_of_neighbours(cosines, nearest)
        return ItemGraph(items, kept | info, grown, living, cosines, nearest, graph, rows, self.to_places)

    def _neighbours(self, vectors: Singles, places: Integers, more: int) -> tuple[Singles, Integers]:
        """The neighbours of all rows, those of some rows looked for again."""
        width = max(self.nearest.shape[1], min(NEIGHBOURS, len(vectors) - 1))
        cosines = np.zeros((len(vectors), width), np.float32)
        nearest = np.full((len(vectors), width), -1, np.int64)
        old = len(vectors) - more
        cosines[:old, : self.nearest.shape[1]], nearest[:old, : self.nearest.shape[1]] = self.cosines, self.nearest
        if len(places) and width:
            index = faiss().IndexFlatIP(vectors.shape[1])
            index.add(vectors)
            near, found = index.search(vectors[places], width + 1)
            own = found == places[:, None]
            own[~own.any(axis=1), -1] = True
            cosines[places] = near[~own].reshape(len(places), width)
            nearest[places] = found[~own].reshape(len(places), width)
        return cosines, nearest

    @property
    def density(self) -> Floats:
        """How near the neighbours of each row are, from 0 to 1."""
        return (
            np.asarray(self.cosines.mean(axis=1, dtype=np.float64)) if self.cosines.size else np.ones(len(self.items))
        )


def _documents(entries: Sequence[Item], generation: Generation) -> tuple[dict[str, ItemInfo], Singles]:
    """Items in the order of their names, and the vectors of their sides next to each other, of length 1 in all.

    A side that an item lacks is stood in for by the others, as all sides share a space.
    """
    order = sorted(generation.model.modalities, key=lambda name: _is_text(generation, name))
    columns = generation.spaces.columns("partner")
    sides: dict[str, dict[str, list[Item]]] = {}
    for entry in entries:
        document = document_of(entry.id, entry.metadata)
        sides.setdefault(document, {}).setdefault(entry.modality, []).append(entry)
    info: dict[str, ItemInfo] = {}
    width = len(range(*columns.indices(generation.index.identity.dimension)))
    vectors = np.zeros((len(sides), len(order), width), np.float32)
    for row, document in enumerate(sorted(sides)):
        mine = sides[document]
        for place, name in enumerate(order):
            for entry in mine.get(name, ()):
                vectors[row, place] += entry.vector[columns]
        first = next(mine[name][0] for name in order if name in mine)
        info[document] = ItemInfo(first.id, _text(first, "split"), _text(first, "label"))
    lengths = np.linalg.norm(vectors, axis=2, keepdims=True)
    vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    mean = vectors.sum(axis=1, keepdims=True)
    vectors = np.where(lengths > 0, vectors, mean)
    return info, np.asarray(unit_rows(vectors.reshape(len(sides), len(order) * width)), np.float32)


def _is_text(generation: Generation, modality: str) -> bool:
    return (media_type_of(generation.model, modality) or modality) == "text"


def _text(entry: Item, key: str) -> str | None:
    """A value of the metadata; the first of several."""
    value = entry.metadata.get(key)
    if isinstance(value, list):
        value = value[0] if value else None
    return None if value is None else str(value)
