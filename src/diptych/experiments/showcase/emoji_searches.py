"""Searches in an index of the emoji sample that show what its model has learned: from words to pictures and back."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from diptych.errors import DiptychError
from diptych.ingest.samples.emoji_catalogue import character
from diptych.search import Hit, Query, QueryPart, Searcher, entry_id
from diptych.seeding import generator

WORDS = (
    "red heart",
    "smiling face",
    "animal",
    "an animal, a bird",
    "something sweet with fruit",
    "a flag with stripes",
    "a woman who plays a sport",
    "train or tram on the ground",
)
"""What is searched for; some words are in no emoji's name, as happens to everyone who searches."""

_PICTURES, _TOP, _PAGE = 8, 10, 1_000


@dataclass(frozen=True)
class Found:
    """An emoji to show.

    Attributes:
        emoji: the character.
        name: its name.
        group: its class.
        is_new: whether training never saw it.
        picture: the bytes of its PNG.
        probability: that it belongs to the query; None where there was none, or nothing is known of that.
    """

    emoji: str
    name: str
    group: str
    is_new: bool
    picture: bytes
    probability: float | None = None


@dataclass(frozen=True)
class Answer:
    """A query and what came of it.

    Attributes:
        words: the query, if words were asked.
        asked: the query, if a picture was.
        found: the best hits in order.
        own_place: for a picture, at which place its own words stand, from 1; None if the index lacks them.
        problem: why nothing was found, such as words that nobody knows.
    """

    words: str | None
    asked: Found | None
    found: tuple[Found, ...]
    own_place: int | None = None
    problem: str | None = None


def emoji_searches(
    searcher: Searcher, words: Sequence[str] = WORDS, *, pictures: int = _PICTURES, top: int = _TOP
) -> list[Answer]:
    """Search pictures with words, then words with a few pictures that training never saw.

    Args:
        searcher: an index of the emoji sample.
        words: what to search pictures for.
        pictures: how many pictures of the test split ask, as many of each class as can be.
        top: how many hits to keep.
    """
    return [*_by_words(searcher, words, top), *_by_pictures(searcher, _test_pictures(searcher, pictures), top)]


def _by_words(searcher: Searcher, words: Sequence[str], top: int) -> Iterator[Answer]:
    queries = [Query((QueryPart("text", each),), into="image", k=top) for each in words]
    for each, answer in zip(words, searcher.answer_many(queries), strict=True):
        if isinstance(answer, DiptychError):
            yield Answer(each, None, (), problem=str(answer))
        else:
            yield Answer(each, None, _shown_all(searcher, answer.hits))


def _by_pictures(searcher: Searcher, asked: Sequence[Hit], top: int) -> Iterator[Answer]:
    """Each picture asks as if it came from outside, by its pixels; all words are ranked, to find its own."""
    everything = max(1, searcher.count(modality="text"))
    queries = [[QueryPart("image", _picture(searcher, hit.id))] for hit in asked]
    for hit, answer in zip(asked, searcher.search_many(queries, into="text", k=everything), strict=True):
        own = entry_id("text", hit.metadata["item"])
        place = next((place for place, found in enumerate(answer.hits, start=1) if found.id == own), None)
        yield Answer(None, _shown(searcher, hit), _shown_all(searcher, answer.hits[:top]), place)


def _shown_all(searcher: Searcher, hits: Sequence[Hit]) -> tuple[Found, ...]:
    return tuple(_shown(searcher, hit) for hit in hits)


def _shown(searcher: Searcher, hit: Hit) -> Found:
    known = hit.metadata
    item = str(known["item"])
    return Found(
        emoji=character(item),
        name=str(known["text"]).splitlines()[0],
        group=_label(hit),
        is_new=known["split"] != "train",
        picture=_picture(searcher, entry_id("image", item)),
        probability=hit.probability,
    )


def _picture(searcher: Searcher, id: str) -> bytes:
    """The PNG of an emoji, as it was indexed; nothing where it has been deleted since."""
    original = searcher.original(id)
    return b"" if original is None else original[0]


def _label(hit: Hit) -> str:
    label = hit.metadata.get("label") or ""
    return label if isinstance(label, str) else ", ".join(label)


def _test_pictures(searcher: Searcher, count: int) -> list[Hit]:
    """Pictures of the test split, drawn in turn from every class, so that each has its say."""
    found: list[Hit] = []
    while page := searcher.list(
        where="split = 'test'", modality="image", after=found[-1].id if found else "", limit=_PAGE
    ):
        found += page
    usable = [hit for hit in found if searcher.original(hit.id) is not None]
    of_class: dict[str, list[Hit]] = {}
    for place in generator(0, "showcase").permutation(len(usable)).tolist():
        of_class.setdefault(_label(usable[place]), []).append(usable[place])
    queues = [of_class[label] for label in sorted(of_class)]
    return [hit for turn in zip_longest(*queues) for hit in turn if hit is not None][:count]
