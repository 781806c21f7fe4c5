"""Simulated queries: phrases of a few words out of the texts of an index, and what belongs to them.

A document belongs to a phrase if it shares a label with the document the phrase comes from, or if its text holds all
words of the phrase that tell anything. The document itself is left out: its own words find it whatever they are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import scipy.sparse as sp

from diptych._core.arrays import Booleans, Floats, Singles, Sparse
from diptych._core.errors import DiptychError
from diptych.data import Dataset, Labels, Partition
from diptych.index import Index
from diptych.methods.propagation import affinity_graph, spread_labels
from diptych.search.entries import entry_id
from diptych.search.listing import WORDS, Listed, Lister
from diptych.search.query import Direction, Query, QueryPart, directions
from diptych.search.ranking import gathered
from diptych.search.raw_embedder import RawEmbedder
from diptych.search.texts import Texts

_MOST_PHRASE_WORDS = 6
_COMMON_SHARE = 0.2
"""A word that stands in more than this share of the texts is no word that a query is about."""
_AT_ONCE = 32

Lists = Sequence[tuple[int, Listed]]


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
    embeddings, present = _embeddings(part, index, texts)
    part = part.take(present)
    if not part.labels.is_labelled.any() or len(part) < 3:
        return DocumentLabels.of(seen)
    shares = spread_labels(affinity_graph(embeddings[present]), part.labels.shares)
    guessed = sp.csr_array(shares > _CONFIDENT)
    known = part.with_labels(Labels(sp.csr_array(part.labels.matrix + guessed), part.labels.classes))
    return DocumentLabels.of(known, "propagated labels")


def _embeddings(part: Partition, index: Index, texts: Texts) -> tuple[Floats, Booleans]:
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


@dataclass(frozen=True)
class Simulated:
    """Simulated queries.

    Attributes:
        documents: which document each phrase comes from.
        directions: each phrase as the index sees it.
    """

    documents: Sequence[str]
    directions: Sequence[Direction]

    def __len__(self) -> int:
        return len(self.documents)


def simulate(
    dataset: Dataset, part: Partition, lister: Lister, raw: RawEmbedder, count: int, random: np.random.Generator
) -> Simulated:
    """Make a phrase of the text of some items and embed it as a query is."""
    texts = lister.texts
    if texts is None:
        return Simulated((), ())
    having = part.having(texts.plan.modality)
    chosen = having.take(np.sort(random.permutation(len(having))[:count]))
    written = [text or "" for text in dataset.items.column("text").take(chosen.index).to_pylist()]
    common = _common_words(texts, written)
    phrases = [phrase(text, random, common) for text in written]
    asked = [(document, words) for document, words in zip(chosen.documents.tolist(), phrases, strict=True) if words]
    found = embedded([words for _, words in asked], lister, raw)
    usable = [(document, one) for (document, _), one in zip(asked, found, strict=True) if one is not None]
    return Simulated([document for document, _ in usable], [one for _, one in usable])


def answerable(asked: Simulated, texts: Texts, entries: Mapping[str, int]) -> Booleans:
    """Which phrases other documents than their own may answer: each of their words stands in some other text.

    Without the one text that holds it, a name is a query about what is not there.

    Args:
        asked: the phrases.
        texts: all texts.
        entries: how many of them each document has.
    """
    phrases = [plain_words(direction.words) for direction in asked.directions]
    words = sorted({word for phrase in phrases for word in phrase})
    counts = texts.index.word_counts(words) if words else {}
    pairs = zip(phrases, asked.documents, strict=True)
    return np.array([all(counts[word] > entries[own] for word in phrase) for phrase, own in pairs], np.bool_)


def embedded(phrases: Sequence[str], lister: Lister, raw: RawEmbedder) -> list[Direction | None]:
    """Phrases as the index sees them; None for one that it cannot read."""
    plan = None if lister.texts is None else lister.texts.plan
    made: list[Direction | DiptychError] = []
    for start in range(0, len(phrases), _AT_ONCE):
        queries = [Query((QueryPart("text", words),)) for words in phrases[start : start + _AT_ONCE]]
        made += directions(lister.index, raw, lister.spaces, plan, queries)
    return [one if isinstance(one, Direction) else None for one in made]


def phrase(text: str, random: np.random.Generator, common: Callable[[str], bool] = lambda word: False) -> str:
    """One to six neighbouring words of one line of a text, without common ones.

    >>> phrase("red wall", np.random.default_rng(0), lambda word: word == "red")
    'wall'
    """
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    line = lines[int(random.integers(len(lines)))]
    words = [word for word in plain_words(" ".join(line)) if not common(word)] or line
    length = int(random.integers(1, min(len(words), _MOST_PHRASE_WORDS) + 1))
    start = int(random.integers(len(words) - length + 1))
    return " ".join(words[start : start + length])


def plain_words(text: str) -> list[str]:
    """The words of a text without punctuation around them."""
    return [bare for word in text.split() if (bare := word.strip(".,;:!?()[]\"'"))]


def _common_words(texts: Texts, written: Sequence[str]) -> Callable[[str], bool]:
    words = sorted({word for text in written for word in plain_words(text)})
    counts = texts.index.word_counts(words) if words else {}
    most = max(5.0, _COMMON_SHARE * texts.index.count())
    return lambda word: counts.get(word, 0) > most


@dataclass(frozen=True)
class Judged:
    """The documents of one query's pool, with what is known of whether they belong to it.

    Attributes:
        lists: where they come from, without the query's own document.
        relevant: whether each document of `gathered(lists)` belongs to the query.
        known: of which documents that can be said.
    """

    lists: Lists
    relevant: Booleans
    known: Booleans


def judge(lists: Lists, own: str, words: str, labels: DocumentLabels, texts: Texts, read: Mapping[str, str]) -> Judged:
    """Say which documents of a pool belong to a phrase.

    Args:
        lists: of one query.
        own: the document its words come from.
        words: the phrase.
        labels: of the documents.
        texts: know how much each word tells.
        read: the text of each document.
    """
    others = [(kind, listed.without(own)) for kind, listed in lists]
    documents = gathered(others)
    shared, known = labels.shared(own, [one.document for one in documents])
    holding = np.array([not np.isnan(one.evidence[WORDS]) for one in documents], np.bool_)
    matching = [read.get(one.document, "") for one, some in zip(documents, holding, strict=True) if some]
    holding[holding] = texts.hold_all(words, matching)
    # Of a document without a label nothing is known but what holds its words, and that alone would flatter.
    return Judged(others, shared | holding, (known | holding) & labels.has(own))
