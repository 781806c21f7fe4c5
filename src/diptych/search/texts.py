"""The texts of an index, in an index of their own beside the main one: searched by words and by a text encoder.

Every text entry of the main index has an entry of the same id here. Its vector is the row of the pretrained text
encoder, before any method has touched it, and its words are the text. The main index is the truth: an entry is written
here before it is there and deleted here after it is gone there, so that after a kill there may be too many here, which
no search shows, and `repair` removes them.
"""

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from diptych._core.arrays import Booleans, Features, Singles
from diptych._core.errors import DiptychError
from diptych._core.files import checked_fields
from diptych.features import text_encoder_columns
from diptych.index import EmbedderId, EngineLocation, Identity, Index
from diptych.index.items import is_plain
from diptych.index.terms import idf
from diptych.index.words import is_spelled, matched_words, plain
from diptych.methods import Method
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
        """The length of a vector; 1 where it is zero."""
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


def open_texts(plan: TextsPlan, main: EngineLocation, folder: Path, embedder: EmbedderId, **opening: Any) -> Index:  # noqa: ANN401
    """Open the index of the texts; the rest is what `EngineLocation.open` takes."""
    return _location(plan, main).open(folder / FOLDER, embedder, **opening)


def _location(plan: TextsPlan, main: EngineLocation) -> EngineLocation:
    return EngineLocation(plan.engine, main.url if plan.place else None, plan.place)


@dataclass(frozen=True)
class Texts:
    """The texts of an open index: which they are (`plan`), and where (`index`)."""

    plan: TextsPlan
    index: Index

    def write(self, ids: Sequence[str], features: Features, metadata: Sequence[Mapping[str, Any]]) -> None:
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


_AROUND = re.compile(r"^[\W_]+|[\W_]+$")
_MOST_WORDS = 32
"""Words of a query that are looked at; a longer text is no query that a person would have misspelled."""
_LONGEST_SUGGESTION = 60
_COMPLETIONS = 12


@dataclass(frozen=True)
class Suggester:
    """Knows the words of an index.

    Attributes:
        raw: reads texts.
        modality: of the texts; None where the index reads none.
        texts: the texts by their words; None where there are none.
        labels: the names of the classes.
    """

    raw: RawEmbedder
    modality: str | None
    texts: Texts | None
    labels: Sequence[str] = ()

    def ignored(self, words: str) -> tuple[str, ...]:
        """The typed words that contribute nothing: unknown to the feature extractor and to the texts of the index."""
        if self.modality is None or not words:
            return ()
        try:
            unread = self.raw.ignored_words(self.modality, words)
        except DiptychError:
            return ()
        if self.texts is None or not unread:
            return unread
        counts = self.texts.index.word_counts(unread)
        return tuple(word for word in unread if not counts[word])

    def did_you_mean(self, words: str) -> str | None:
        """The query with words that no text holds replaced by near ones of the index; None if there is nothing to say.

        A proper word of the language needs no correction, though no text holds it.
        """
        typed = words.split()
        if self.texts is None or not typed or len(typed) > _MOST_WORDS:
            return None
        bare = [_bare(word) for word in typed]
        counts = self.texts.index.word_counts([word for word in dict.fromkeys(bare) if word])
        corrected, changed = [], False
        for word, plain_word in zip(typed, bare, strict=True):
            better = None
            if plain_word and not counts[plain_word] and is_spelled(plain(plain_word)):
                better = self._correction(plain_word)
            corrected.append(word if better is None else word.replace(plain_word, better))
            changed |= better is not None
        return " ".join(corrected) if changed else None

    def is_misspelled(self, words: str, corrected: str) -> bool:
        """Whether a query is surely misspelled: what was corrected is no word, and all else is one or stands in a text.

        "Gall bladder" is no misspelling of "ball ladder", whatever the texts hold.
        """
        if self.texts is None:
            return False
        pairs = [(_bare(word), word != better) for word, better in zip(words.split(), corrected.split(), strict=True)]
        typed = [word for word, _ in pairs if word]
        counts = self.texts.index.word_counts(typed)
        known = {word: bool(counts.get(word)) or self.raw.is_word(self.modality or "", word) for word in typed}
        return all(known.get(word, True) != changed for word, changed in pairs)

    def suggest(self, prefix: str, limit: int) -> list[str]:
        """How what is being typed may go on: labels, whole short texts, and words that complete the last one."""
        beginning = " ".join(prefix.split())
        if not beginning or limit < 1:
            return []
        folded = beginning.casefold()
        found = [label for label in self.labels if label.casefold().startswith(folded)]
        if self.texts is not None:
            completed = self._completed(beginning, prefix[-1:].isspace())
            found += self._openings(folded, [beginning, *completed[:2]])
            found += completed
        distinct = {suggestion.casefold(): suggestion for suggestion in reversed(found)}
        return list(dict.fromkeys(distinct[one.casefold()] for one in found if one.casefold() != folded))[:limit]

    def _correction(self, word: str) -> str | None:
        assert self.texts is not None
        if self.raw.is_word(self.modality or "", word):
            return None
        nearest = self.texts.index.correct(word, 1)
        return nearest[0][0] if nearest else None

    def _completed(self, beginning: str, ended: bool) -> list[str]:
        """The last word completed; what stands together with the words before it in some text comes first."""
        assert self.texts is not None
        *before, last = beginning.split(" ")
        if ended:
            return []
        head = " ".join(before)
        words = [word for word, _ in self.texts.index.complete(last, _COMPLETIONS)]
        made = [f"{head} {word}" if head else word for word in words]
        if not head or not made:
            return made
        best = self.texts.index.search_words(made, 1, with_metadata=True)
        together = []
        for one, found in zip(made, best, strict=True):
            text = str(found.metadata[0].get("text", "")) if found.metadata else ""
            together.append(len(matched_words(one, text)) >= len(one.split(" ")))
        return [one for one, whole in zip(made, together, strict=True) if whole]

    def _openings(self, folded: str, queries: Sequence[str]) -> list[str]:
        """Short texts, or the first lines of texts, that begin so."""
        assert self.texts is not None
        found: list[str] = []
        for hits in self.texts.index.search_words(list(dict.fromkeys(queries)), _COMPLETIONS, with_metadata=True):
            for about in hits.metadata or ():
                lines = str(about.get("text", "")).strip().splitlines()
                first = " ".join(lines[0].split()) if lines else ""
                if len(first) <= _LONGEST_SUGGESTION and first.casefold().startswith(folded):
                    found.append(first)
        return list(dict.fromkeys(found))


def _bare(word: str) -> str:
    """A word without punctuation around it."""
    return _AROUND.sub("", word)
