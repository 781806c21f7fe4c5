"""Simulated queries: phrases of a few words out of the texts of an index, and what belongs to them.

A document belongs to a phrase if it shares a label with the document the phrase comes from, or if its text holds all
words of the phrase that tell anything. The document itself is left out: its own words find it whatever they are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from diptych._core.arrays import Booleans
from diptych._core.errors import DiptychError
from diptych.data import Dataset, Partition
from diptych.search.embedding import Direction, directions
from diptych.search.fusion import WORDS
from diptych.search.labelling import DocumentLabels
from diptych.search.listing import Listed, Lister
from diptych.search.queries import Query, QueryPart
from diptych.search.ranking import gathered
from diptych.search.raw_parts import RawParts
from diptych.search.texts import Texts

_MOST_PHRASE_WORDS = 6
_COMMON_SHARE = 0.2
"""A word that stands in more than this share of the texts is no word that a query is about."""
_AT_ONCE = 32

Lists = Sequence[tuple[int, Listed]]


@dataclass(frozen=True)
class Simulated:
    """Simulated queries.

    Attributes:
        documents: which document each phrase comes from.
        directions: each phrase as the index sees it.
    """

    documents: Sequence[str]
    directions: Sequence[Direction]

    def __len__(self) -> int:
        return len(self.documents)


def simulate(
    dataset: Dataset, part: Partition, lister: Lister, raw: RawParts, count: int, random: np.random.Generator
) -> Simulated:
    """Make a phrase of the text of some items and embed it as a query is."""
    texts = lister.texts
    if texts is None:
        return Simulated((), ())
    having = part.having(texts.plan.modality)
    chosen = having.take(np.sort(random.permutation(len(having))[:count]))
    written = [text or "" for text in dataset.items.column("text").take(chosen.index).to_pylist()]
    common = _common_words(texts, written)
    phrases = [phrase(text, random, common) for text in written]
    asked = [(document, words) for document, words in zip(chosen.documents.tolist(), phrases, strict=True) if words]
    found = embedded([words for _, words in asked], lister, raw)
    usable = [(document, one) for (document, _), one in zip(asked, found, strict=True) if one is not None]
    return Simulated([document for document, _ in usable], [one for _, one in usable])


def embedded(phrases: Sequence[str], lister: Lister, raw: RawParts) -> list[Direction | None]:
    """Phrases as the index sees them; None for one that it cannot read."""
    plan = None if lister.texts is None else lister.texts.plan
    made: list[Direction | DiptychError] = []
    for start in range(0, len(phrases), _AT_ONCE):
        queries = [Query((QueryPart("text", words),)) for words in phrases[start : start + _AT_ONCE]]
        made += directions(lister.index, raw, lister.spaces, plan, queries)
    return [one if isinstance(one, Direction) else None for one in made]


def phrase(text: str, random: np.random.Generator, common: Callable[[str], bool] = lambda word: False) -> str:
    """One to six neighbouring words of one line of a text, without common ones.

    >>> phrase("red wall", np.random.default_rng(0), lambda word: word == "red")
    'wall'
    """
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    line = lines[int(random.integers(len(lines)))]
    words = [bare for word in line if (bare := word.strip(".,;:!?()[]\"'")) and not common(bare)] or line
    length = int(random.integers(1, min(len(words), _MOST_PHRASE_WORDS) + 1))
    start = int(random.integers(len(words) - length + 1))
    return " ".join(words[start : start + length])


def _common_words(texts: Texts, written: Sequence[str]) -> Callable[[str], bool]:
    words = sorted({bare for text in written for word in text.split() if (bare := word.strip(".,;:!?()[]\"'"))})
    counts = texts.index.word_counts(words) if words else {}
    most = max(5.0, _COMMON_SHARE * texts.index.count())
    return lambda word: counts.get(word, 0) > most


@dataclass(frozen=True)
class Judged:
    """The documents of one query's pool, with what is known of whether they belong to it.

    Attributes:
        lists: where they come from, without the query's own document.
        relevant: whether each document of `gathered(lists)` belongs to the query.
        known: of which documents that can be said.
    """

    lists: Lists
    relevant: Booleans
    known: Booleans


def judge(lists: Lists, own: str, words: str, labels: DocumentLabels, texts: Texts, read: Mapping[str, str]) -> Judged:
    """Say which documents of a pool belong to a phrase.

    Args:
        lists: of one query.
        own: the document its words come from.
        words: the phrase.
        labels: of the documents.
        texts: know how much each word tells.
        read: the text of each document.
    """
    others = [(kind, listed.without(own)) for kind, listed in lists]
    documents = gathered(others)
    shared, known = labels.shared(own, [one.document for one in documents])
    holding = np.array([not np.isnan(one.evidence[WORDS]) for one in documents], np.bool_)
    matching = [read.get(one.document, "") for one, some in zip(documents, holding, strict=True) if some]
    holding[holding] = texts.hold_all(words, matching)
    # Of a document without a label nothing is known but what holds its words, and that alone would flatter.
    return Judged(others, shared | holding, (known | holding) & labels.has(own))
