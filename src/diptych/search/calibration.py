"""How cosines become probabilities, for each pair of modalities: learned from validation items, judged on test."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np

from diptych._core.arrays import Floats, Singles
from diptych._core.files import read_json, write_json
from diptych._core.progress import Progress, silent
from diptych._core.seeding import generator
from diptych.data import Dataset, Labels, Partition
from diptych.methods import Method
from diptych.methods.purposes import Purpose
from diptych.search.document_calibration import CosineLine, DocumentCalibration, best_side_pairs, fit_line
from diptych.search.embedding import Direction
from diptych.search.pairs import Side, draw_pairs
from diptych.search.probability_map import ProbabilityMap, fit_map
from diptych.search.reliability import judged
from diptych.search.spaces import IndexSpaces
from diptych.search.typed_queries import typed, typed_side

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
        purpose: what queries look for; None where the index has a single space.
        others: the same for other purposes of the index.
        documents: how whole documents are ranked and judged.
    """

    relevance: Relevance = "label"
    maps: Mapping[tuple[str, str], ProbabilityMap] = field(default_factory=dict)
    facts: Mapping[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    purpose: str | None = None
    others: Mapping[str, "Calibration"] = field(default_factory=dict)
    documents: DocumentCalibration = field(default_factory=DocumentCalibration)

    def of(self, purpose: str | None) -> "Calibration":
        """What is known for one of the index's purposes."""
        return self.others.get(purpose or "", self)

    def each(self) -> list["Calibration"]:
        """What is known for every purpose, that of a query that names none first."""
        return [self, *self.others.values()]

    @property
    def directions(self) -> list[str]:
        """The directions that have probabilities, such as "image->text"."""
        return [f"{query}->{gallery}" for query, gallery in self.maps]

    def asker(self, modality: str, *, by_item: bool) -> str:
        """Whose map to use for a query of a modality: an item of the index, or something from outside."""
        known = {asker for asker, _ in self.maps}
        return typed(modality) if not by_item and typed(modality) in known else modality

    def asker_of(self, direction: Direction) -> str | None:
        """Whose map to use for a query; None for one that only leads away from things."""
        return None if direction.modality is None else self.asker(direction.modality, by_item=direction.by_item)

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

    def summary(self) -> dict[str, Any]:
        """Which directions have probabilities and what belonging means, for each purpose."""
        purposes = [each for each in self.each() if each.purpose is not None]
        return {
            "calibrated": self.directions,
            "belongs_means": self.relevance,
            "by_purpose": {
                each.purpose: {"calibrated": each.directions, "belongs_means": each.relevance} for each in purposes
            },
        }

    def to_json(self) -> dict[str, Any]:
        """All of it."""
        directions = [
            {"query": query, "gallery": gallery} | curve.to_json() | self.facts.get((query, gallery), {})
            for (query, gallery), curve in self.maps.items()
        ]
        known: dict[str, Any] = {
            "relevance": self.relevance,
            "learned_from": "val",
            "judged_on": "test",
            "directions": directions,
        }
        known["documents"] = self.documents.to_json()
        if self.purpose is None:
            return known
        return known | {"purpose": self.purpose, "others": {name: each.to_json() for name, each in self.others.items()}}


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


def write_calibration(calibration: Calibration, path: Path) -> None:
    """Keep it as JSON."""
    write_json(path, calibration.to_json())


def read_calibration(path: Path) -> Calibration:
    """Read it again; none at all, if there is no file."""
    if not path.exists():
        return Calibration()
    written = read_json(path)
    return _read(written)


def _read(written: Mapping[str, Any]) -> Calibration:
    ways = {(part["query"], part["gallery"]): part for part in written["directions"]}
    maps = {way: ProbabilityMap.from_json(part) for way, part in ways.items()}
    known = ("pairs", "relevant_share", "test")
    facts = {way: {key: part[key] for key in known if key in part} for way, part in ways.items()}
    others = {name: _read(each) for name, each in written.get("others", {}).items()}
    documents = DocumentCalibration.from_json(written.get("documents"))
    return Calibration(written["relevance"], maps, facts, written.get("purpose"), others, documents)


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
    codes = np.concatenate(list(model.embed_blocks(modality, having.blocks(modality), purpose)))
    return Side.of(modality, having, codes)
