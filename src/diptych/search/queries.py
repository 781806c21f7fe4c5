"""What is asked, and what is answered."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from diptych._core.arrays import ImageArray
from diptych._core.errors import ConfigError
from diptych.methods.purposes import PURPOSES, Purpose

PartKind = Literal["text", "image", "item"]
PART_KINDS: tuple[PartKind, ...] = ("text", "image", "item")
LARGEST_WEIGHT = 1e6

Mode = Literal["hybrid", "vector", "lexical"]
MODES: tuple[Mode, ...] = ("hybrid", "vector", "lexical")
EvidenceSide = Literal["words", "image", "text"]


@dataclass(frozen=True, eq=False)
class QueryPart:
    """One ingredient of a query.

    Attributes:
        kind: what `value` is.
        value: words; a picture as the bytes of a file, as a path or decoded; the id of an item of the index.
        weight: how much it counts; a negative one leads away from it.
    """

    kind: PartKind
    value: "str | bytes | Path | ImageArray"
    weight: float = 1.0


@dataclass(frozen=True)
class Query:
    """One question, whole.

    Attributes:
        parts: what to look for; items named here are left out of the answer.
        into: the modality whose entries are the hits; None: a hit is an item with all its sides.
        k: how many results.
        offset: leave out so many of the best.
        where: only items that meet this condition.
        min_probability: only items that belong with at least this probability.
        purpose: what the query looks for, where the index has several spaces: things of its kind ("class"), the very
            item it describes ("partner"), or anything alike ("both"); "auto" takes
            "partner" for words that ask for items, and "both" otherwise.
        mode: by which evidence typed words are ranked: embeddings and matching words ("hybrid"), embeddings alone
            ("vector"), matching words alone ("lexical").
        correct: whether misspelled words are corrected where the query as typed finds nothing close, or all are.
    """

    parts: tuple[QueryPart, ...]
    into: str | None = None
    k: int = 10
    offset: int = 0
    where: str | None = None
    min_probability: float = 0.0
    purpose: Purpose = "auto"
    mode: Mode = "hybrid"
    correct: bool = True

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
        if self.k < 1:
            raise ConfigError(f"k is {self.k}; ask for at least one result.")
        if self.offset < 0:
            raise ConfigError(f"offset is {self.offset}; it must be zero or positive.")
        if not 0 <= self.min_probability <= 1:
            raise ConfigError(f"min_probability is {self.min_probability}; it must lie between 0 and 1.")
        if self.purpose not in PURPOSES:
            raise ConfigError(f"the purpose is {self.purpose!r:.60}; choose one of {', '.join(PURPOSES)}.")
        if self.mode not in MODES:
            raise ConfigError(f"the mode is {self.mode!r:.60}; choose one of {', '.join(MODES)}.")


@dataclass(frozen=True)
class Why:
    """Why an item is a hit.

    Attributes:
        words: the typed words that stand in its text, as typed.
        image: the cosine of the query with its image (the best of several); None if it has none or was not compared.
        text: the cosine of the query with its text; None if it has none or was not compared.
        bm25: how well the typed words match its text, between 0 and 1; None if no word does.
        side: what contributed most; None where nothing was asked, as for an item fetched by its id.
    """

    words: tuple[str, ...] = ()
    image: float | None = None
    text: float | None = None
    bm25: float | None = None
    side: EvidenceSide | None = None


@dataclass(frozen=True)
class Hit:
    """One item found, or, where a query names a modality, one of its entries.

    Attributes:
        id: of its entry in the index: the image if it has one, else the text.
        modality: of that entry.
        score: how well it fits; hits are ordered by it, and scores of different queries are comparable.
        probability: that it belongs to the query; None where nothing is known of that.
        metadata: text, label, split, document, item, has_media and whatever else was given.
        item: the item (document) it is.
        entries: the ids of the item's entries by modality, as far as they are known.
        why: why it is there.
    """

    id: str
    modality: str
    score: float
    probability: float | None
    metadata: dict[str, Any]
    item: str = ""
    entries: dict[str, str] = field(default_factory=dict)
    why: Why = field(default_factory=Why)

    @property
    def has_media(self) -> bool:
        """Whether there is an image to show."""
        return bool(self.metadata.get("has_media"))


@dataclass(frozen=True)
class Answer:
    """The answer to one query.

    Attributes:
        hits: best first.
        closest: the best probability among the items of this page before `min_probability` cut; None if unknown.
        seconds: what it took, embedding and all.
        purpose: what was looked for; None where the index has a single space.
        mode: by which evidence the hits were ranked; another than asked for where the index cannot do that.
        ignored: the typed words that neither the text encoder nor the texts of the index know.
        did_you_mean: the query with unknown words replaced by near ones of the index; None if there is nothing to say.
        total: how many items can be paged through; None if unknown.
        nothing_close: whether even the best hit of the query is not credible, so that the hits are merely the nearest.
        corrected: whether the hits are those of `did_you_mean`: no text holds the words as typed.
    """

    hits: tuple[Hit, ...]
    closest: float | None
    seconds: float
    purpose: str | None = None
    mode: str = "vector"
    ignored: tuple[str, ...] = ()
    did_you_mean: str | None = None
    total: int | None = None
    nothing_close: bool = False
    corrected: bool = False


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
