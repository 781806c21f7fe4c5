"""The texts of an index, in an index of their own beside the main one: searched by words and by a text encoder.

Every text entry of the main index has an entry of the same id here. Its vector is the row of the pretrained text
encoder, before any method has touched it, and its words are the text. The main index is the truth: an entry is written
here before it is there and deleted here after it is gone there, so that after a kill there may be too many here, which
no search shows, and `repair` removes them.
"""

import string
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from diptych._core.arrays import Booleans, Features, Singles
from diptych._core.files import checked_fields
from diptych.features import text_encoder_columns
from diptych.index import EmbedderId, Identity, Index
from diptych.index.items import is_plain
from diptych.index.terms import idf
from diptych.index.words import matched_words
from diptych.methods import Method
from diptych.search.engine_location import EngineLocation
from diptych.search.raw_embedder import RawEmbedder

FOLDER = "texts"
_PAGE = 1_000
_ALL = 0.85
"""The share of what a query's words tell that a text must hold to hold them all."""
_EDGES = string.punctuation + "’‘“”«»…"


@dataclass(frozen=True)
class TextsPlan:
    """Which texts there are and which numbers stand for them; kept in the index's description.

    Attributes:
        modality: the modality of the texts.
        start: the first column of a row that the text encoder made.
        stop: one past the last; equal to `start` where the model reads no pretrained text encoder.
        engine: which engine keeps them.
        place: what they are called on a server; None if they are in the index's folder.
    """

    modality: str
    start: int = 0
    stop: int = 0
    engine: str = "local"
    place: str | None = None

    @property
    def encoded(self) -> bool:
        """Whether texts can be compared by a pretrained encoder."""
        return self.stop > self.start

    @property
    def dimension(self) -> int:
        """The length of a vector; 1 where it says nothing."""
        return max(1, self.stop - self.start)

    def rows(self, features: Features) -> Singles:
        """The vectors of texts, given their rows of features; never zero, for no index takes a zero vector."""
        count = features.shape[0]
        if not self.encoded:
            return np.ones((count, 1), np.float32)
        part = features[:, self.start : self.stop]
        dense = np.array(part if isinstance(part, np.ndarray) else part.toarray(), np.float32)
        dense[~dense.any(axis=1), 0] = 1.0
        return dense

    def to_json(self) -> dict[str, Any]:
        """All of it."""
        return asdict(self)

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> "TextsPlan | None":
        """What `to_json` wrote; None for nothing, as earlier versions wrote."""
        return checked_fields(cls(**written)) if written else None


def plan_texts(model: Method, location: EngineLocation) -> TextsPlan | None:
    """The texts that an index of a model can hold; None where the model reads no texts, or several kinds of them."""
    if model.pipeline_folder is None:
        return None
    names = [name for name in model.modalities if model.pipeline.of(name).media_type == "text"]
    if len(names) != 1:
        return None
    columns = text_encoder_columns(model.pipeline.of(names[0])) or slice(0, 0)
    mine = location.for_texts()
    return TextsPlan(names[0], columns.start, columns.stop, mine.engine, mine.place)


def create_texts(plan: TextsPlan, location: EngineLocation, folder: Path, embedder: EmbedderId) -> Index:
    """Make the empty index of the texts."""
    return _location(plan, location).create(folder / FOLDER, Identity(embedder, plan.dimension), words=True)


def open_texts(
    plan: TextsPlan, location: EngineLocation, folder: Path, embedder: EmbedderId, *, writable: bool
) -> Index:
    """Open the index of the texts."""
    return _location(plan, location).open(folder / FOLDER, embedder, writable=writable)


def _location(plan: TextsPlan, main: EngineLocation) -> EngineLocation:
    return EngineLocation(plan.engine, main.url if plan.place else None, plan.place)


@dataclass(frozen=True)
class Texts:
    """The texts of an open index.

    Attributes:
        plan: which they are.
        index: where they are.
    """

    plan: TextsPlan
    index: Index

    def write(
        self,
        ids: Sequence[str],
        features: Features,
        metadata: Sequence[Mapping[str, Any]],
    ) -> None:
        """Add texts or put them in the place of those with the same ids; their words are in the metadata."""
        words = [about.get("text") for about in metadata]
        self.index.update(
            ids,
            self.plan.rows(features),
            modality=self.plan.modality,
            metadata=[{key: value for key, value in about.items() if key != "media"} for about in metadata],
            words=[text if isinstance(text, str) else None for text in words],
        )

    def hold_all(self, words: str, texts: Sequence[str]) -> Booleans:
        """Which texts hold the words of a query, but for common ones that tell little."""
        typed = list(dict.fromkeys(words.split()))
        entries = max(1, self.index.count())
        counts = self.index.word_counts(typed)
        tells = {word: idf(entries, min(entries, counts[word])) for word in typed}
        whole = sum(tells.values())
        matched = [sum(tells.get(word, 0.0) for word in _as_typed(words, text, typed)) for text in texts]
        return np.array([0 < _ALL * whole <= found for found in matched], np.bool_)

    def repair(self, main: Index, raw: RawEmbedder) -> int:
        """Bring the texts in step with the main index where an interruption left them apart.

        Returns:
            How many entries were removed or written again. Counting alone tells that nothing is to be done.
        """
        if self.index.count() == main.count(modality=self.plan.modality):
            return 0
        there, here = set(_all_ids(main, self.plan.modality)), set(_all_ids(self.index, self.plan.modality))
        differing = sorted(there ^ here)
        for start in range(0, len(differing), _PAGE):
            self.match(differing[start : start + _PAGE], main, raw)
        return len(differing)

    def match(self, ids: Sequence[str], main: Index, raw: RawEmbedder) -> None:
        """Make the texts of some entries what the main index says they are."""
        found = [item for item in main.get(ids) if item is not None and item.modality == self.plan.modality]
        present = {item.id for item in found}
        self.index.delete([id for id in dict.fromkeys(ids) if id not in present and is_plain(id) and id])
        if found:
            words = [str(item.metadata.get("text") or "") for item in found]
            about = [item.metadata for item in found]
            self.write([item.id for item in found], raw.features(self.plan.modality, words), about)


def _as_typed(words: str, text: str, typed: Sequence[str]) -> list[str]:
    """The words of a query that stand in a text, with the punctuation they were typed with."""
    found = set(matched_words(words, text))
    return [word for word in typed if word in found or word.strip(_EDGES) in found]


def _all_ids(index: Index, modality: str) -> list[str]:
    ids: list[str] = []
    while page := index.list_ids(modality=modality, after=ids[-1] if ids else "", limit=_PAGE):
        ids += page
    return ids
