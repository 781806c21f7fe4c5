"""How cosines become probabilities, for each pair of modalities: learned from validation items, judged on test."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from diptych._core.arrays import Floats, Singles
from diptych._core.files import interpreting, read_json, write_json
from diptych.search.index_folder import REBUILD
from diptych.search.listing import Presence
from diptych.search.probability import CosineLine, ProbabilityMap
from diptych.search.query import Direction
from diptych.search.ranking import Fusion

Relevance = Literal["label", "document"]


@dataclass(frozen=True)
class DocumentCalibration:
    """How documents are ranked and judged for one purpose.

    Attributes:
        fusion: makes one score of the evidence for typed words.
        typed: by mode, what that score means for typed words.
        lines: by who asks and which side is compared, what a cosine is worth.
        asked: by who asks, what the score of a document's best side means.
        presence: tells whether anything in the index answers typed words; None where nothing could be learned.
        facts: how it was learned and how it does on test items.
    """

    fusion: Fusion = field(default_factory=Fusion.prior)
    typed: Mapping[str, ProbabilityMap] = field(default_factory=dict)
    lines: Mapping[tuple[str, str], CosineLine] = field(default_factory=dict)
    asked: Mapping[str, ProbabilityMap] = field(default_factory=dict)
    presence: Presence | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def line(self, asker: str | None, gallery: str) -> CosineLine | None:
        """What a cosine of a query with a side of an item is worth; None where nothing is known of that."""
        return None if asker is None else self.lines.get((asker, gallery))

    def to_json(self) -> dict[str, Any]:
        """All of it."""
        return {
            "fusion": self.fusion.to_json(),
            "typed": {mode: curve.to_json() for mode, curve in self.typed.items()},
            "lines": [[asker, gallery, line.slope, line.intercept] for (asker, gallery), line in self.lines.items()],
            "asked": {asker: curve.to_json() for asker, curve in self.asked.items()},
            "presence": None if self.presence is None else self.presence.to_json(),
            "facts": dict(self.facts),
        }

    @classmethod
    def from_json(cls, written: Mapping[str, Any] | None) -> "DocumentCalibration":
        """What `to_json` wrote, or nothing, as earlier versions did."""
        if not written:
            return cls()
        return cls(
            Fusion.from_json(written["fusion"]),
            {mode: ProbabilityMap.from_json(curve) for mode, curve in written["typed"].items()},
            {(asker, gallery): CosineLine(slope, intercept) for asker, gallery, slope, intercept in written["lines"]},
            {asker: ProbabilityMap.from_json(curve) for asker, curve in written["asked"].items()},
            None if written["presence"] is None else Presence.from_json(written["presence"]),
            written["facts"],
        )


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


def typed(modality: str) -> str:
    """What words of a person are called among those who ask; no modality has a blank in its name."""
    return f"typed {modality}"


def write_calibration(calibration: Calibration, path: Path) -> None:
    """Keep it as JSON."""
    write_json(path, calibration.to_json())


def read_calibration(path: Path) -> Calibration:
    """Read it again; none at all, if there is no file."""
    if not path.exists():
        return Calibration()
    with interpreting(path, REBUILD):
        return _read(read_json(path))


def _read(written: Mapping[str, Any]) -> Calibration:
    ways = {(part["query"], part["gallery"]): part for part in written["directions"]}
    maps = {way: ProbabilityMap.from_json(part) for way, part in ways.items()}
    known = ("pairs", "relevant_share", "test")
    facts = {way: {key: part[key] for key in known if key in part} for way, part in ways.items()}
    others = {name: _read(each) for name, each in written.get("others", {}).items()}
    documents = DocumentCalibration.from_json(written.get("documents"))
    return Calibration(written["relevance"], maps, facts, written.get("purpose"), others, documents)
