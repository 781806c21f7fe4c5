"""Searches in the emoji sample that show what a model has learned: from words to pictures and back."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from diptych.data import Dataset
from diptych.experiments.showcase.searching import Hit, search
from diptych.ingest.media import media_of
from diptych.ingest.samples.emoji_catalogue import character
from diptych.methods.base import Method
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

_PICTURES, _TOP = 8, 10


@dataclass(frozen=True)
class Found:
    """An emoji to show.

    Attributes:
        emoji: the character.
        name: its name.
        group: its class.
        is_new: whether training never saw it.
        picture: the bytes of its PNG.
    """

    emoji: str
    name: str
    group: str
    is_new: bool
    picture: bytes


@dataclass(frozen=True)
class Answer:
    """A query and what came of it.

    Attributes:
        words: the query, if words were asked.
        asked: the query, if a picture was.
        found: the best hits in order.
        own_place: for a picture, at which place its own words stand, from 1.
    """

    words: str | None
    asked: Found | None
    found: tuple[Found, ...]
    own_place: int | None = None


def emoji_searches(
    model: Method, dataset: Dataset, words: Sequence[str] = WORDS, *, pictures: int = _PICTURES, top: int = _TOP
) -> list[Answer]:
    """Search pictures with words, then words with a few pictures that training never saw.

    Args:
        model: fitted on the dataset.
        dataset: the emoji sample, ingested.
        words: what to search pictures for.
        pictures: how many pictures of the test split ask, as many of each class as can be.
        top: how many hits to keep.
    """
    shown = _Shown(dataset)
    rows = model.pipeline.describe("text", list(words))
    by_words = search(model, dataset, "text", "image", rows, top)
    answers = [Answer(each, None, shown.all(hits)) for each, hits in zip(words, by_words, strict=True)]
    chosen = _test_items(dataset, pictures)
    rows = dataset.everything.take(np.array(chosen, dtype=np.int64)).features("image")
    for item, hits in zip(chosen, search(model, dataset, "image", "text", rows), strict=True):
        own = next(place for place, hit in enumerate(hits, start=1) if hit.item == item)
        answers.append(Answer(None, shown(item), shown.all(hits[:top]), own))
    shown.close()
    return answers


class _Shown:
    """Emoji of a dataset by their position."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset, self._media = dataset, media_of(dataset)
        self._rows = dataset.items.select(["id", "split", "label", "media", "text"]).to_pylist()

    def __call__(self, item: int) -> Found:
        row = self._rows[item]
        label = row["label"] if isinstance(row["label"], str) else ", ".join(row["label"] or ())
        name = str(row["text"]).splitlines()[0]
        picture = self._media.read(self._media.locate(row["media"]))
        return Found(character(row["id"]), name, label, row["split"] != "train", picture)

    def all(self, hits: Sequence[Hit]) -> tuple[Found, ...]:
        return tuple(self(hit.item) for hit in hits)

    def close(self) -> None:
        self._media.close()


def _test_items(dataset: Dataset, count: int) -> list[int]:
    """Test items drawn in turn from every class, so that each has its say."""
    test = dataset.split("test").having("image", "text")
    order = generator(0, "showcase").permutation(len(test))
    of_class: dict[int, list[int]] = {}
    for place in order.tolist():
        of_class.setdefault(int(test.labels.codes[place]), []).append(int(test.index[place]))
    queues = [of_class[code] for code in sorted(of_class)]
    return [item for turn in zip_longest(*queues) for item in turn if item is not None][:count]
