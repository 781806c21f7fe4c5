"""The labels of documents, by which it is learned what belongs together: given, or propagated from a few."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import scipy.sparse as sp

from diptych._core.arrays import Booleans, Floats, Singles, Sparse
from diptych.data import Labels, Partition
from diptych.index import Index
from diptych.methods.propagation import affinity_graph, label_shares, spread_labels
from diptych.search.entries import entry_id
from diptych.search.texts import Texts

LabelSource = Literal["labels", "propagated labels", "nothing"]
ENOUGH = 100
"""So many labelled validation items suffice without propagation."""
_CONFIDENT = 0.5
_MOST_ITEMS = 20_000
_PAGE = 1_000


@dataclass(frozen=True)
class DocumentLabels:
    """The labels of documents.

    Attributes:
        names: the documents.
        matrix: one row a document, one column a class.
        source: where they come from.
    """

    names: Sequence[str]
    matrix: Sparse
    source: LabelSource

    @classmethod
    def of(cls, part: Partition, source: LabelSource = "labels") -> "DocumentLabels":
        """The labels of a partition's documents; a document has those of all its items."""
        names, rows = np.unique(part.documents, return_inverse=True)
        ones = np.ones(len(rows), np.int32)
        grouped = sp.csr_array((ones, (rows, np.arange(len(rows)))), shape=(len(names), len(rows)))
        matrix = sp.csr_array(grouped @ part.labels.matrix.astype(np.int32) > 0)
        return cls(names.tolist(), matrix, source if matrix.nnz else "nothing")

    @cached_property
    def _row(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self.names)}

    def has(self, document: str) -> bool:
        """Whether a document has a label."""
        row = self._row.get(document)
        return row is not None and bool(self.matrix[[row]].nnz)

    def shared(self, document: str, others: Sequence[str]) -> tuple[Booleans, Booleans]:
        """Which documents share a label with one, and of which it is known whether they do."""
        nothing = np.zeros(len(others), np.bool_)
        if not self.has(document):
            return nothing, nothing.copy()
        own = self._row[document]
        rows = np.array([self._row.get(name, -1) for name in others], np.int64)
        present = rows >= 0
        theirs = self.matrix[rows[present]].astype(np.int32)
        shared, known = nothing.copy(), nothing
        shared[present] = np.asarray((theirs @ self.matrix[[own]].astype(np.int32).T).toarray() > 0).ravel()
        known[present] = np.diff(theirs.indptr) > 0
        return shared, known


def labels_to_learn_from(seen: Partition, validation: Partition, index: Index, texts: Texts) -> DocumentLabels:
    """The labels of training and validation documents; where few validation items have one, they are propagated.

    Zhou et al. (2003), as `diptych.methods.propagation` does it, over a graph of the items' images in the shared space
    and their texts as the text encoder sees them. An item gets a label it has the larger share of.

    Args:
        seen: the training and the validation items.
        validation: the latter.
        index: the main index.
        texts: its texts.
    """
    labelled = seen.labels.is_labelled
    if validation.labels.is_labelled.sum() >= ENOUGH or not labelled.any() or labelled.all():
        return DocumentLabels.of(seen)
    order = np.argsort(~labelled, kind="stable")[:_MOST_ITEMS]
    part = seen.take(np.sort(order))
    codes, present = _codes(part, index, texts)
    part = part.take(present)
    if not part.labels.is_labelled.any() or len(part) < 3:
        return DocumentLabels.of(seen)
    shares = spread_labels(affinity_graph(codes[present]), label_shares(part.labels))
    guessed = sp.csr_array(shares > _CONFIDENT)
    known = part.with_labels(Labels(sp.csr_array(part.labels.matrix + guessed), part.labels.classes))
    return DocumentLabels.of(known, "propagated labels")


def _codes(part: Partition, index: Index, texts: Texts) -> tuple[Floats, Booleans]:
    """The vectors of items, image and text side by side, and which items have one."""
    name = texts.plan.modality
    others = [modality for modality in part.columns if modality != name]
    sides = [(index, modality) for modality in others]
    sides.append((texts.index if texts.plan.encoded else index, name))
    columns = [_vectors(source, [entry_id(modality, str(id)) for id in part.ids]) for source, modality in sides]
    stacked = np.hstack(columns)
    lengths = np.linalg.norm(stacked, axis=1, keepdims=True)
    return np.asarray(stacked / np.maximum(lengths, 1e-12), np.float64), np.asarray(lengths[:, 0] > 0)


def _vectors(index: Index, ids: Sequence[str]) -> Singles:
    rows = np.zeros((len(ids), index.identity.dimension), np.float32)
    for start in range(0, len(ids), _PAGE):
        for place, item in enumerate(index.get(ids[start : start + _PAGE]), start=start):
            if item is not None:
                rows[place] = item.vector
    return rows
