"""How cosines become probabilities, for each pair of modalities: learned from validation items, judged on test."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np

from diptych.arrays import Floats, Singles
from diptych.atomic import read_json, write_json
from diptych.data import Dataset, Labels, Partition
from diptych.methods import Method
from diptych.progress import Progress, silent
from diptych.search.pairs import Side, draw_pairs
from diptych.search.probability_map import ProbabilityMap, fit_map
from diptych.search.reliability import judged
from diptych.search.typed_queries import typed, typed_side
from diptych.seeding import generator

Relevance = Literal["label", "document"]
_MOST_ITEMS = 20_000


@dataclass(frozen=True)
class Calibration:
    """Maps by (who asks, gallery modality), and what is known of how well they do.

    Those who ask are the modalities, and words that a person types, which are fewer than an item's text has and tell
    less: see `typed`.

    Attributes:
        relevance: what belonging means: "label", two items share one, or "document", they are partners.
        maps: one map a direction; a direction without one has no probabilities.
        facts: for each direction how many pairs there were, and the reliability on test items.
    """

    relevance: Relevance = "label"
    maps: Mapping[tuple[str, str], ProbabilityMap] = field(default_factory=dict)
    facts: Mapping[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def asker(self, modality: str, *, by_item: bool) -> str:
        """Whose map to use for a query of a modality: an item of the index, or something from outside."""
        known = {asker for asker, _ in self.maps}
        return typed(modality) if not by_item and typed(modality) in known else modality

    def probabilities(
        self, query: str | None, galleries: Sequence[str], cosines: Singles | Floats
    ) -> list[float | None]:
        """The probabilities that items belong to a query, None where that is not known.

        Args:
            query: who asks.
            galleries: the modality of each item.
            cosines: of each item with the query.
        """
        curves = {gallery: self.maps.get((query, gallery)) for gallery in set(galleries)} if query is not None else {}
        columns = {gallery: curve(cosines).tolist() for gallery, curve in curves.items() if curve is not None}
        return [columns[gallery][place] if gallery in columns else None for place, gallery in enumerate(galleries)]

    def to_json(self) -> dict[str, Any]:
        """All of it."""
        directions = [
            {"query": query, "gallery": gallery} | curve.to_json() | self.facts.get((query, gallery), {})
            for (query, gallery), curve in self.maps.items()
        ]
        return {"relevance": self.relevance, "learned_from": "val", "judged_on": "test", "directions": directions}


def calibrate(model: Method, dataset: Dataset, *, seed: int = 0, progress: Progress = silent) -> Calibration:
    """Learn the maps from the validation split, and judge them on the test split.

    Two items belong together if they share a label, or, where no validation item has one, if they are of one document.
    The share of items that belong to a query is taken to be in the index what it is in validation.
    """
    relevance: Relevance = "label" if dataset.split("val").labels.is_labelled.any() else "document"
    validation, test = (_judgeable(dataset.split(name), relevance, seed) for name in ("val", "test"))
    learned, unseen = (_sides(model, dataset, part, seed) for part in (validation, test))
    maps: dict[tuple[str, str], ProbabilityMap] = {}
    facts: dict[tuple[str, str], dict[str, Any]] = {}
    directions = list(product(learned, model.modalities))
    for done, (query, gallery) in enumerate(directions, start=1):
        pairs = draw_pairs(learned[query], learned[gallery], generator(seed, "calibration", query, gallery))
        curve = fit_map(pairs)
        progress("calibrating", done, len(directions))
        if curve is None:
            continue
        maps[query, gallery] = curve
        facts[query, gallery] = {"pairs": len(pairs), "relevant_share": pairs.relevant_share}
        if query not in unseen:
            continue
        held_out = draw_pairs(unseen[query], unseen[gallery], generator(seed, "reliability", query, gallery))
        if held_out.tell_anything:
            facts[query, gallery]["test"] = judged(curve, unseen[query], unseen[gallery], held_out)
    return Calibration(relevance, maps, facts)


def write_calibration(calibration: Calibration, path: Path) -> None:
    """Keep it as JSON."""
    write_json(path, calibration.to_json())


def read_calibration(path: Path) -> Calibration:
    """Read it again; none at all, if there is no file."""
    if not path.exists():
        return Calibration()
    written = read_json(path)
    ways = {(part["query"], part["gallery"]): part for part in written["directions"]}
    maps = {way: ProbabilityMap.from_json(part) for way, part in ways.items()}
    known = ("pairs", "relevant_share", "test")
    facts = {way: {key: part[key] for key in known if key in part} for way, part in ways.items()}
    return Calibration(written["relevance"], maps, facts)


def _judgeable(part: Partition, relevance: Relevance, seed: int) -> Partition:
    """A split whose labels say what belongs together; of a very large one some documents, each whole."""
    if relevance == "document":
        part = part.with_labels(Labels.from_identity(part.documents.tolist()))
    if len(part) <= _MOST_ITEMS:
        return part
    documents, counts = np.unique(part.documents, return_counts=True)
    order = generator(seed, "calibration", "documents").permutation(len(documents))
    enough = order[np.cumsum(counts[order]) <= _MOST_ITEMS]
    return part.take(np.isin(part.documents, documents[enough]))


def _sides(model: Method, dataset: Dataset, part: Partition, seed: int) -> dict[str, Side]:
    """Those who ask: the items of each modality, and words like those that people type."""
    sides = {name: _side(model, part, name) for name in model.modalities}
    words = {typed(name): typed_side(model, dataset, part, name, seed) for name in model.modalities}
    return sides | {name: side for name, side in words.items() if side is not None}


def _side(model: Method, part: Partition, modality: str) -> Side:
    having = part.having(modality)
    if not len(having):
        return Side(modality, np.zeros((0, 1)), having.labels, having.index)
    codes = np.concatenate(list(model.embed_blocks(modality, having.blocks(modality))))
    return Side.of(modality, having, codes)
