"""From ranked documents to hits: their entries, what is known of them, and why they are there."""

import math
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from diptych._core.arrays import Singles
from diptych.index import Index, Item
from diptych.index.filters import In, Key
from diptych.index.words import matched_words
from diptych.media import KINDS
from diptych.search.entries import document_of, entry_id, likely_entries
from diptych.search.listing import EVIDENCE, TEXT, WORDS, Lister
from diptych.search.query import Direction, EvidenceSide
from diptych.search.ranking import Ranked

AUDIO = "audio"
_NO_MEDIA = object()
_MOST_ENTRIES = 10_000


@dataclass  # like `Hit` not frozen: one that is takes four times as long to make, and every answer has many
class Why:
    """Why an item is a hit.

    Attributes:
        words: the typed words that stand in its text, as typed.
        image: the cosine of the query with its image (the best of several); None if it has none or was not compared.
        audio: the cosine of the query with its sound, likewise.
        text: the cosine of the query with its text; None if it has none or was not compared.
        bm25: how well the typed words match its text, between 0 and 1; None if no word does.
        side: what contributed most; None where nothing was asked, as for an item fetched by its id.
    """

    words: tuple[str, ...] = ()
    image: float | None = None
    audio: float | None = None
    text: float | None = None
    bm25: float | None = None
    side: EvidenceSide | None = None


@dataclass
class Hit:
    """One item found, or one of its entries if the query names a modality.

    Attributes:
        id: of its entry in the index: the image if it has one, else the text.
        modality: of that entry.
        score: hits are ordered by it, and scores of different queries are comparable.
        probability: the probability that it matches the query; None if unknown.
        metadata: text, label, split, document, item, has_media and all other columns.
        item: the id of the item (document).
        entries: the ids of the item's entries by modality, if known.
        why: the reason why it was found.
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
        """Whether there is an image or a sound to show."""
        return bool(self.metadata.get("has_media"))


@dataclass(frozen=True)
class Answer:
    """The answer to one query.

    Attributes:
        hits: best first.
        closest: the best probability on this page before `min_probability` was applied; None if unknown.
        seconds: the time taken, including embedding.
        purpose: the purpose used; None if the index has a single space.
        mode: how the hits were ranked; it differs from the requested mode if the index does not support that.
        ignored: typed words unknown to both the text encoder and the texts of the index.
        did_you_mean: the query with unknown words replaced by similar words of the index; None without a suggestion.
        total: how many items can be paged through; None if unknown.
        nothing_close: whether nothing matches, so that the hits are merely the nearest items.
        corrected: whether the hits are those of `did_you_mean`, because no text contains the words as typed.
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


class Side(NamedTuple):
    """One entry of a document that is a hit.

    Attributes:
        id: of the entry.
        modality: of the entry.
        metadata: what is known of it.
        vector: its embedding; None where the cosine is known.
        cosine: with the query in the shared space, if it was listed by that.
    """

    id: str
    modality: str
    metadata: Mapping[str, Any]
    vector: Singles | None
    cosine: float | None = None


@dataclass(frozen=True)
class HitMaker:
    """Makes the hits of one query.

    Attributes:
        lister: knows the index and its texts.
        modalities: what there is to search.
        text_modality: which of them are texts, if that is known.
    """

    lister: Lister
    modalities: tuple[str, ...]
    text_modality: str | None = None

    @property
    def order(self) -> list[str]:
        """The modalities in the order in which one of them stands for an item: images, other media, then texts."""
        return sorted(self.modalities, key=lambda name: (name == self.text_modality, name in KINDS and name != "image"))

    def hits(
        self,
        ranked: Sequence[Ranked],
        direction: Direction,
        probabilities: Sequence[float | None],
    ) -> list[Hit]:
        """The hits of a page; a document that was removed meanwhile is left out."""
        sides = self._sides(ranked)
        cosines = self._text_cosines(ranked, sides, direction)
        order, made = self.order, []
        for one, chance in zip(ranked, probabilities, strict=True):
            mine = sides[one.document]
            ids = {name: mine[name].id for name in order if name in mine}
            if not ids:
                continue
            entry = mine[next(iter(ids))]
            about = public(entry.metadata)
            if "text" not in about and len(mine) > 1:
                about |= next(({"text": of["text"]} for item in mine.values() if "text" in (of := item.metadata)), {})
            why = self._why(one, mine, direction, cosines.get(one.document), about.get("text"))
            document = document_of(entry.id, entry.metadata) if self.lister.apart else one.document
            made.append(Hit(entry.id, entry.modality, one.score, chance, about, document, ids, why))
        return made

    def _sides(self, ranked: Sequence[Ranked]) -> dict[str, dict[str, Side]]:
        """The entries of each document by modality: those that were listed, and those called as they usually are."""
        sides: dict[str, dict[str, Side]] = {}
        wanted: list[tuple[str, str, str]] = []
        unusual = []
        for one in ranked:
            mine = sides[one.document] = {}
            item = None
            for name, (listed, place) in one.entries.items():
                item = item or listed.items[place]
                if listed.items[place] != one.document:
                    unusual.append(one.document)
                if listed.metadata is None or listed.cosines is None:
                    wanted.append((one.document, name, listed.ids[place]))
                else:
                    cosine = float(listed.cosines[place])
                    mine[name] = Side(listed.ids[place], name, listed.metadata[place], None, cosine)
            for name in self.modalities:
                if name not in one.entries:
                    wanted.append((one.document, name, entry_id(name, item or one.document)))
        self._fetch(wanted, sides)
        for document in [] if self.lister.apart else dict.fromkeys(unusual):
            missing = [name for name in self.modalities if name not in sides[document]]
            if missing:
                self._look_further(document, missing, sides[document])
        return sides

    def _fetch(self, wanted: Sequence[tuple[str, str, str]], sides: dict[str, dict[str, Side]]) -> None:
        """Read entries, each wanted as a modality of a document, and keep those that belong to it."""
        ids = list(dict.fromkeys(id for _, _, id in wanted))
        found = dict(zip(ids, self.lister.index.get(ids), strict=True)) if ids else {}
        for document, name, id in wanted:
            item = found[id]
            if item is not None and self.lister.document_of(item.id, item.metadata) == document:
                sides[document][name] = _side(item)

    def _look_further(self, document: str, missing: Sequence[str], sides: dict[str, Side]) -> None:
        """Find the missing sides of a document whose items have other names: by the usual names, then by metadata."""
        index = self.lister.index
        found = [item for item in index.get(likely_entries(document, (), missing)) if item is not None]
        mine = [item for item in found if document_of(item.id, item.metadata) == document]
        if not mine:
            ids = index.list_ids(where=In(Key(("document",)), (document,)), limit=_MOST_ENTRIES)
            mine = [item for item in index.get(ids) if item is not None]
        for item in mine:
            if item.modality in missing:
                sides.setdefault(item.modality, _side(item))

    def _text_cosines(
        self, ranked: Sequence[Ranked], sides: dict[str, dict[str, Side]], direction: Direction
    ) -> dict[str, float]:
        """The cosine of the query with each document's text, by the text encoder or in the shared space."""
        texts, name = self.lister.texts, self.text_modality
        if name is None:
            return {}
        known = {one.document: one.evidence[TEXT] for one in ranked if not math.isnan(one.evidence[TEXT])}
        open_ = {one.document: sides[one.document][name] for one in ranked if name in sides[one.document]}
        open_ = {document: item for document, item in open_.items() if document not in known}
        if texts is None or not texts.plan.encoded or direction.text_vector is None:
            shared = {document: self._cosine(item, direction) for document, item in open_.items()}
            return known | {document: cosine for document, cosine in shared.items() if cosine is not None}
        encoded = texts.index.get([item.id for item in open_.values()]) if open_ else []
        rows = {document: row.vector for document, row in zip(open_, encoded, strict=True) if row is not None}
        return known | {document: float(row @ direction.text_vector) for document, row in rows.items()}

    def _why(
        self,
        one: Ranked,
        sides: dict[str, Side],
        direction: Direction,
        text_cosine: float | None,
        text: Any,  # noqa: ANN401 - whatever metadata hold
    ) -> Why:
        image = sound = None
        for name, entry in sides.items():
            cosine = None if name == self.text_modality else self._cosine(entry, direction)
            if name == AUDIO:
                sound = cosine
            elif cosine is not None and (image is None or cosine > image):
                image = cosine
        side = EVIDENCE[one.side]
        if side == "image" and sound is not None and (image is None or sound > image):
            side = "audio"
        words = matched_words(direction.words, text) if direction.words and isinstance(text, str) else ()
        bm25 = one.evidence[WORDS]
        return Why(words, image, sound, text_cosine, None if math.isnan(bm25) else bm25, side)

    def _cosine(self, side: Side, direction: Direction) -> float | None:
        if side.vector is None or direction.vector is None:
            return side.cosine
        return float(side.vector @ direction.vector) / self.lister.spaces.share(direction.purpose)


def _side(item: Item) -> Side:
    return Side(item.id, item.modality, item.metadata, item.vector)


def public(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What may be shown of an entry's metadata: not by which name its file is stored; a copy that one may change."""
    shown = {key: deepcopy(value) if isinstance(value, list | dict) else value for key, value in metadata.items()}
    shown["has_media"] = shown.pop("media", _NO_MEDIA) is not _NO_MEDIA
    return shown


def plain_hits(index: Index, items: Sequence[Item], modalities: Sequence[str]) -> list[Hit]:
    """Entries that nobody asked for, each with score 1 and the usual other sides of its item."""
    names = [str(item.metadata.get("item") or document_of(item.id, item.metadata)) for item in items]
    others = [
        [entry_id(other, name) for other in modalities if other != item.modality]
        for name, item in zip(names, items, strict=True)
    ]
    wanted = list(dict.fromkeys(id for ids in others for id in ids))
    found = dict(zip(wanted, index.get(wanted), strict=True)) if wanted else {}
    made = []
    for item, ids in zip(items, others, strict=True):
        document = document_of(item.id, item.metadata)
        sides = [item, *(side for id in ids if (side := found[id]) is not None)]
        entries = {side.modality: side.id for side in sides if document_of(side.id, side.metadata) == document}
        made.append(Hit(item.id, item.modality, 1.0, None, public(item.metadata), document, entries))
    return made
