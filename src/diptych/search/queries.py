"""What is asked, and what is answered."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from diptych.errors import ConfigError
from diptych.features import Picture
from diptych.methods.purposes import PURPOSES, Purpose

PartKind = Literal["text", "image", "item"]
PART_KINDS: tuple[PartKind, ...] = ("text", "image", "item")
LARGEST_WEIGHT = 1e6


@dataclass(frozen=True, eq=False)
class QueryPart:
    """One ingredient of a query.

    Attributes:
        kind: what `value` is.
        value: words; a picture as the bytes of a file, as a path or decoded; the id of an item of the index.
        weight: how much it counts; a negative one leads away from it.
    """

    kind: PartKind
    value: "str | bytes | Path | Picture"
    weight: float = 1.0


@dataclass(frozen=True)
class Query:
    """One question, whole.

    Attributes:
        parts: what to look for; items named here are left out of the answer.
        into: the modality to search; None for all.
        k: how many results.
        offset: leave out so many of the best.
        where: only items that meet this condition.
        min_probability: only items that belong with at least this probability.
        purpose: what the query looks for, where the index has several spaces: things of its kind ("class"), the very
            item it describes ("partner"), or anything alike ("both"); "auto" asks in all spaces of the index.
    """

    parts: tuple[QueryPart, ...]
    into: str | None = None
    k: int = 10
    offset: int = 0
    where: str | None = None
    min_probability: float = 0.0
    purpose: Purpose = "auto"

    def check(self) -> None:
        """Refuse what no query can be; words, pictures and ids are looked at when they are embedded."""
        if not self.parts:
            raise ConfigError("the query is empty; give words, a picture or an item.")
        for part in self.parts:
            if part.kind not in PART_KINDS:
                raise ConfigError(f"a query's part is of kind {part.kind!r}; choose one of {', '.join(PART_KINDS)}.")
            if not abs(part.weight) <= LARGEST_WEIGHT:
                raise ConfigError(
                    f"a weight is {part.weight}; it must lie between -{LARGEST_WEIGHT:g} and its opposite."
                )
        if not 0 <= self.min_probability <= 1:
            raise ConfigError(f"min_probability is {self.min_probability}; it must lie between 0 and 1.")
        if self.purpose not in PURPOSES:
            raise ConfigError(f"the purpose is {self.purpose!r:.60}; choose one of {', '.join(PURPOSES)}.")


@dataclass(frozen=True)
class Hit:
    """One item found.

    Attributes:
        id: in the index.
        modality: what it is.
        score: its cosine with the query, in the space of the query's purpose.
        probability: that it belongs to the query; None where nothing is known of that.
        metadata: text, label, split, document, item, has_media and whatever else was given.
    """

    id: str
    modality: str
    score: float
    probability: float | None
    metadata: dict[str, Any]

    @property
    def has_media(self) -> bool:
        """Whether there is a picture to show."""
        return bool(self.metadata.get("has_media"))


@dataclass(frozen=True)
class Answer:
    """The answer to one query.

    Attributes:
        hits: best first.
        closest: the best probability among the items of this page before `min_probability` cut; None if unknown.
        seconds: what it took, embedding and all.
        purpose: what was looked for; None where the index has a single space.
    """

    hits: tuple[Hit, ...]
    closest: float | None
    seconds: float
    purpose: str | None = None


@dataclass(frozen=True, eq=False)
class NewItem:
    """Something to add to an index.

    Attributes:
        id: what to call it; unique in the index.
        kind: "text" or "image".
        value: words; a picture as the bytes of a file or as a path.
        metadata: a JSON object, such as {"label": "river", "split": "train"}.
    """

    id: str
    kind: Literal["text", "image"]
    value: str | bytes | Path
    metadata: Mapping[str, Any] = field(default_factory=dict)
