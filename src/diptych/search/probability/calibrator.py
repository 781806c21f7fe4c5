"""Learn from validation items how scores become probabilities, and judge that on test items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from diptych._core.errors import DiptychError
from diptych._core.progress import Progress, silent
from diptych._core.seeding import generator
from diptych.data import SPLITS, Dataset, Labels, Partition
from diptych.methods import Method
from diptych.methods.purposes import Purpose
from diptych.search.listing import Lister
from diptych.search.probability import (
    CosineLine,
    Pairs,
    ProbabilityMap,
    Side,
    draw_pairs,
    fit_line,
    fit_map,
    itself,
    sigmoid,
)
from diptych.search.probability.calibration import Calibration, DocumentCalibration, Relevance, typed
from diptych.search.probability.reliability import BestEntries, best_of, judged, judged_best
from diptych.search.raw_embedder import has_content
from diptych.search.spaces import IndexSpaces

_MOST_ITEMS = 60_000
_SHOWN, _OTHERS = 20, 0.02
"""The maps are learned from the best hits of each query, which are what people see; other pairs count this little."""
_MOST_TYPED = 2_000
_MOST_QUERIES = 500
_MOST_WORDS = 12


def calibrate(
    model: Method,
    dataset: Dataset,
    *,
    spaces: IndexSpaces | None = None,
    lister: Lister | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Calibration:
    """Learn the maps from queries of the validation split, and judge them by queries of the test split.

    The gallery is what a user searches: to learn, the training and validation items; to judge, the whole index. So
    neither the labels nor the embeddings of test items shape a map.

    Two items belong together if they share a label, or, where no validation item has one, if they are of one document.
    For the purpose "partner" they always have to be of one document. The share of items that share a label with a query
    is taken to be in the index what it is in the gallery; of partners, the number is.

    Args:
        model: embeds the items.
        dataset: the items.
        spaces: of the index's vectors; there are maps for each purpose it can serve.
        lister: asks the index that is searched; without one the dataset is taken for it.
        seed: of what is drawn.
        progress: called with the progress.
    """
    spaces = spaces or IndexSpaces()
    part = _gallery(dataset, seed)
    everything = {name: _side(model, _judged(part, "document"), name, spaces.embedded_for) for name in model.modalities}
    splits = {
        split: _queries(model, dataset, part, everything, split, seed, spaces.embedded_for) for split in ("val", "test")
    }
    usual: Relevance = "label" if dataset.split("val").labels.is_labelled.any() else "document"
    purposes = [spaces.purpose, *(name for name in spaces.purposes if name != spaces.purpose)]
    made = []
    for number, purpose in enumerate(purposes):
        relevance: Relevance = "document" if purpose == "partner" else usual
        truth, columns = _judged(part, relevance), spaces.columns(purpose)
        learned, unseen, searched = (
            {name: side.narrowed(columns).scored_by(truth) for name, side in of.items()}
            for of in (splits["val"], splits["test"], everything)
        )
        seen = {name: side.take(dataset.splits[side.items] != "test") for name, side in searched.items()}
        best = BestEntries(lister, dataset, _judged(dataset.everything, relevance), purpose) if lister else None
        work = _Work(learned, unseen, seen, searched, relevance, best, seed)
        directions = list(product(learned, model.modalities))
        for done, (query, gallery) in enumerate(directions, start=1):
            work.learn(query, gallery)
            progress("calibrating", number * len(directions) + done, len(purposes) * len(directions))
        asked = {query: curve for query in learned if (curve := work.best_side(query, model.modalities)) is not None}
        documents = DocumentCalibration(lines=work.lines, asked=asked)
        made.append(Calibration(relevance, work.maps, work.facts, purpose, documents=documents))
    return replace(made[0], others={each.purpose or "": each for each in made[1:]})


@dataclass
class _Work:
    """The maps of one purpose on their way.

    Attributes:
        learned: the queries of validation items.
        unseen: the queries of test items.
        seen: the training and validation items as a gallery.
        everything: all items as a gallery.
        relevance: what belonging means.
        best: asks the index for the best entries; None where there is none.
        seed: of what is drawn.
    """

    learned: Mapping[str, Side]
    unseen: Mapping[str, Side]
    seen: Mapping[str, Side]
    everything: Mapping[str, Side]
    relevance: Relevance
    best: BestEntries | None
    seed: int
    maps: dict[tuple[str, str], ProbabilityMap] = field(default_factory=dict)
    facts: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    lines: dict[tuple[str, str], CosineLine] = field(default_factory=dict)

    def learn(self, query: str, gallery: str) -> None:
        """Learn the map of one direction and judge it."""
        asked, searched = self.learned[query], self.seen[gallery]
        pairs = draw_pairs(asked, searched, generator(self.seed, "calibration", query, gallery))
        curve = fit_map(pairs.joined(best_of(asked, searched, _SHOWN), _OTHERS))
        if curve is None:
            return
        growth = self._growth(gallery)
        self.maps[query, gallery] = curve.in_gallery(growth)
        line = fit_line(pairs, growth)
        if line is not None:
            self.lines[query, gallery] = line
        self.facts[query, gallery] = {"pairs": len(pairs), "relevant_share": pairs.relevant_share}
        if query not in self.unseen:
            return
        asked, searched = self.unseen[query], self.everything[gallery]
        held_out = draw_pairs(asked, searched, generator(self.seed, "reliability", query, gallery))
        if held_out.tell_anything:
            there = curve.in_gallery(self._growth(gallery, len(searched)))
            best = None if self.best is None else self.best(asked, gallery)
            self.facts[query, gallery]["test"] = judged(there, held_out, best or best_of(asked, searched))
            if best is not None:
                self.facts[query, gallery]["test"] |= judged_best(self.maps[query, gallery], best)
            self.facts[query, gallery]["test"]["gallery"] = self._size(gallery)

    def _size(self, gallery: str) -> int:
        return len(self.everything[gallery]) if self.best is None else self.best.size(gallery)

    def _growth(self, gallery: str, items: int | None = None) -> float:
        """How many times as many items the gallery has: of a class there are then more, of partners there are not."""
        size = self._size(gallery) if items is None else items
        return 1.0 if self.relevance == "label" else max(1.0, size / max(1, len(self.seen[gallery])))

    def best_side(self, query: str, galleries: Sequence[str]) -> ProbabilityMap | None:
        """What the score of a document's best side means for queries of a kind."""
        sides = {name: self.seen[name] for name in galleries if (query, name) in self.lines}
        if not sides:
            return None
        random = generator(self.seed, "calibration", "documents", query)
        lines = {name: self.lines[query, name] for name in sides}
        partners = self.relevance == "document"
        pairs = best_side_pairs(self.learned[query], sides, lines, random, partners=partners)
        curve = fit_map(pairs)
        return None if curve is None else curve.in_gallery(max(self._growth(name) for name in sides))


def typed_side(
    model: Method, dataset: Dataset, part: Partition, modality: str, seed: int, purpose: Purpose = "auto"
) -> Side | None:
    """The first few words of the texts of some items, embedded as a query is.

    Returns:
        None where the modality is not one of texts, or these are not known.
    """
    if model.pipeline_folder is None or "text" not in dataset.metadata_columns:
        return None
    if model.pipeline.of(modality).media_type != "text":
        return None
    order = generator(seed, "typed queries").permutation(len(part))[:_MOST_TYPED]
    asked = part.having(modality) if len(part) <= _MOST_TYPED else part.take(np.sort(order)).having(modality)
    texts = dataset.items.column("text").take(asked.index).to_pylist()
    words = [opening(text or "") for text in texts]
    asked = asked.take(np.array([bool(found) for found in words], dtype=np.bool_))
    words = [found for found in words if found]
    if not words:
        return None
    try:
        rows = model.pipeline(modality, words)
        known = np.array(has_content(rows), dtype=np.bool_)
        return Side.of(modality, asked.take(known), model.embed(modality, rows, purpose)[known])
    except DiptychError:
        return None


def opening(text: str) -> str:
    """The first line or sentence of a text, twelve words at most.

    >>> opening("Many planes are parked here. It rains.")
    'Many planes are parked here'
    """
    lines = text.strip().splitlines()
    first = lines[0].split(". ")[0].strip(" .") if lines else ""
    return " ".join(first.split()[:_MOST_WORDS])


def best_side_pairs(
    queries: Side,
    sides: Mapping[str, Side],
    lines: Mapping[str, CosineLine],
    random: np.random.Generator,
    *,
    partners: bool,
) -> Pairs:
    """Pairs of a query and an item, scored by the best side of the item.

    Args:
        queries: who asks.
        sides: the items by modality.
        lines: what a cosine with each side is worth.
        random: draws queries where there are many.
        partners: whether an item belongs to itself, found by its other side; else it is left out.
    """
    asked = queries.take(random.permutation(len(queries))[:_MOST_QUERIES])
    items = np.unique(np.concatenate([side.items for side in sides.values()]))
    scores = np.full((len(asked), len(items)), -np.inf)
    shared = np.zeros(scores.shape, np.bool_)
    for name, side in sides.items():
        columns = np.searchsorted(items, side.items)
        found = sigmoid(lines[name](asked.embeddings @ side.embeddings.T))
        scores[:, columns] = np.maximum(scores[:, columns], np.where(itself(asked, side), -np.inf, found))
        shared[:, columns] |= asked.labels.shared_with(side.labels)
    kept = np.isfinite(scores)
    if not partners:
        kept &= asked.items[:, None] != items[None, :]
    ranks = np.argsort(np.argsort(np.where(kept, -scores, np.inf), axis=1, kind="stable"), axis=1)
    weights = np.where(ranks < _SHOWN, 1.0, _OTHERS)
    return Pairs(scores[kept], shared[kept], weights[kept])


def _judged(part: Partition, relevance: Relevance) -> Partition:
    """Items whose labels say what belongs together."""
    return part if relevance == "label" else part.with_labels(Labels.from_identity(part.documents.tolist()))


def _gallery(dataset: Dataset, seed: int) -> Partition:
    """The items of a dataset; of a very large one some documents of each split, each whole."""
    everything = dataset.everything
    if len(everything) <= _MOST_ITEMS:
        return everything
    kept = [_some_documents(dataset.split(name), seed) for name in SPLITS]
    return everything.take(np.sort(np.concatenate([part.index for part in kept])))


def _some_documents(part: Partition, seed: int) -> Partition:
    most = _MOST_ITEMS // len(SPLITS)
    if len(part) <= most:
        return part
    documents, counts = np.unique(part.documents, return_counts=True)
    order = generator(seed, "calibration", "documents").permutation(len(documents))
    enough = order[np.cumsum(counts[order]) <= most]
    return part.take(np.isin(part.documents, documents[enough]))


def _queries(
    model: Method,
    dataset: Dataset,
    part: Partition,
    sides: Mapping[str, Side],
    split: str,
    seed: int,
    purpose: Purpose,
) -> dict[str, Side]:
    """Those who ask: the items of a split in each modality, and text like what people type."""
    asking = {name: side.take(dataset.splits[side.items] == split) for name, side in sides.items()}
    every = _judged(part.take(dataset.splits[part.index] == split), "document")  # of which each has a label
    text = {typed(name): typed_side(model, dataset, every, name, seed, purpose) for name in model.modalities}
    return asking | {name: side for name, side in text.items() if side is not None}


def _side(model: Method, part: Partition, modality: str, purpose: Purpose) -> Side:
    having = part.having(modality)
    if not len(having):
        return Side(modality, np.zeros((0, 1)), having.labels, having.index)
    embeddings = np.concatenate(list(model.embed_blocks(modality, having.blocks(modality), purpose)))
    return Side.of(modality, having, embeddings)
