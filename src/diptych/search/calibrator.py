"""Learn from validation items how scores become probabilities, and judge that on test items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from diptych._core.errors import DiptychError
from diptych._core.progress import Progress, silent
from diptych._core.seeding import generator
from diptych.data import Dataset, Labels, Partition
from diptych.methods import Method
from diptych.methods.purposes import Purpose
from diptych.search.calibration import Calibration, DocumentCalibration, Relevance, typed
from diptych.search.pairs import Pairs, Side, draw_pairs, itself
from diptych.search.probabilities import CosineLine, ProbabilityMap, fit_line, fit_map, sigmoid
from diptych.search.raw_embedder import has_content
from diptych.search.reliability import judged
from diptych.search.spaces import IndexSpaces

_MOST_ITEMS = 20_000
_MOST_TYPED = 2_000
_MOST_QUERIES = 500
_MOST_WORDS = 12


def calibrate(
    model: Method,
    dataset: Dataset,
    *,
    spaces: IndexSpaces | None = None,
    entries: Mapping[str, int] | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Calibration:
    """Learn the maps from the validation split, and judge them on the test split.

    Two items belong together if they share a label, or, where no validation item has one, if they are of one document.
    For the purpose "partner" they always have to be of one document. The share of items that share a label with a query
    is taken to be in the index what it is in validation; of partners, the number is.

    Args:
        model: embeds the items.
        dataset: the items.
        spaces: of the index's vectors; there are maps for each purpose it can serve.
        entries: how many items of each modality the index holds; as many as validation has, if left out.
        seed: of what is drawn.
        progress: told how far it is.
    """
    spaces = spaces or IndexSpaces()
    splits = [_some_documents(dataset.split(name), seed) for name in ("val", "test")]
    sides = [_sides(model, dataset, part, seed, spaces.embedded_for) for part in splits]
    usual: Relevance = "label" if dataset.split("val").labels.is_labelled.any() else "document"
    purposes = [spaces.purpose, *(name for name in spaces.purposes if name != spaces.purpose)]
    made = []
    for number, purpose in enumerate(purposes):
        relevance: Relevance = "document" if purpose == "partner" else usual
        learned, unseen = (
            {
                name: side.narrowed(spaces.columns(purpose)).judged_by(_judged(part, relevance))
                for name, side in of.items()
            }
            for part, of in zip(splits, sides, strict=True)
        )
        work = _Work(learned, unseen, relevance, entries or {}, seed)
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
    """The maps of one purpose on their way."""

    learned: Mapping[str, Side]
    unseen: Mapping[str, Side]
    relevance: Relevance
    entries: Mapping[str, int]
    seed: int
    maps: dict[tuple[str, str], ProbabilityMap] = field(default_factory=dict)
    facts: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    lines: dict[tuple[str, str], CosineLine] = field(default_factory=dict)

    def learn(self, query: str, gallery: str) -> None:
        """Learn the map of one direction from validation pairs and judge it on test pairs."""
        asked, searched = self.learned[query], self.learned[gallery]
        pairs = draw_pairs(asked, searched, generator(self.seed, "calibration", query, gallery))
        curve = fit_map(pairs)
        if curve is None:
            return
        self.maps[query, gallery] = self._in(curve, gallery, self.entries.get(gallery, len(searched)))
        line = fit_line(pairs, self._growth(gallery, self.entries.get(gallery, len(searched))))
        if line is not None:
            self.lines[query, gallery] = line
        self.facts[query, gallery] = {"pairs": len(pairs), "relevant_share": pairs.relevant_share}
        if query not in self.unseen:
            return
        held_out = draw_pairs(
            self.unseen[query], self.unseen[gallery], generator(self.seed, "reliability", query, gallery)
        )
        if held_out.tell_anything:
            there = self._in(curve, gallery, len(self.unseen[gallery]))
            self.facts[query, gallery]["test"] = judged(there, self.unseen[query], self.unseen[gallery], held_out)

    def _in(self, curve: ProbabilityMap, gallery: str, items: int) -> ProbabilityMap:
        """The map among so many items: of a class there are more in a larger gallery, of partners there are not."""
        return curve if self.relevance == "label" else curve.in_gallery(self._growth(gallery, items))

    def _growth(self, gallery: str, items: int) -> float:
        return 1.0 if self.relevance == "label" else items / len(self.learned[gallery])

    def best_side(self, query: str, galleries: Sequence[str]) -> ProbabilityMap | None:
        """What the score of a document's best side means for queries of a kind."""
        sides = {name: self.learned[name] for name in galleries if (query, name) in self.lines}
        if not sides:
            return None
        random = generator(self.seed, "calibration", "documents", query)
        lines = {name: self.lines[query, name] for name in sides}
        partners = self.relevance == "document"
        pairs = best_side_pairs(self.learned[query], sides, lines, random, partners=partners)
        curve = fit_map(pairs)
        if curve is None:
            return None
        growth = [self._growth(name, self.entries.get(name, len(sides[name]))) for name in sides]
        return curve if self.relevance == "label" else curve.in_gallery(max(growth))


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
    return Pairs(scores[kept], shared[kept], np.ones(int(kept.sum())))


def _judged(part: Partition, relevance: Relevance) -> Partition:
    """Items whose labels say what belongs together."""
    return part if relevance == "label" else part.with_labels(Labels.from_identity(part.documents.tolist()))


def _some_documents(part: Partition, seed: int) -> Partition:
    """A split's items; of a very large one some documents, each whole."""
    if len(part) <= _MOST_ITEMS:
        return part
    documents, counts = np.unique(part.documents, return_counts=True)
    order = generator(seed, "calibration", "documents").permutation(len(documents))
    enough = order[np.cumsum(counts[order]) <= _MOST_ITEMS]
    return part.take(np.isin(part.documents, documents[enough]))


def _sides(model: Method, dataset: Dataset, part: Partition, seed: int, purpose: Purpose) -> dict[str, Side]:
    """Those who ask: the items of each modality, and words like those that people type."""
    every = _judged(part, "document")  # of which each has a label
    sides = {name: _side(model, every, name, purpose) for name in model.modalities}
    words = {typed(name): typed_side(model, dataset, every, name, seed, purpose) for name in model.modalities}
    return sides | {name: side for name, side in words.items() if side is not None}


def _side(model: Method, part: Partition, modality: str, purpose: Purpose) -> Side:
    having = part.having(modality)
    if not len(having):
        return Side(modality, np.zeros((0, 1)), having.labels, having.index)
    embeddings = np.concatenate(list(model.embed_blocks(modality, having.blocks(modality), purpose)))
    return Side.of(modality, having, embeddings)
