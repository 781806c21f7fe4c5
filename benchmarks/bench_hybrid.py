"""What lexical search costs beside vector search: queries over 100,000 documents by vectors, by words, and by both.

A document is an image and a text. The main index has 256 numbers per image, the text index 384 numbers and about twenty
words per text, drawn from 4,000 words by Zipf's law, plus one word that occurs in every text. A query has three words
drawn in the same way. Every kind of search is run in turn for every query, and asks for 200 results.

- `vector_p50_ms`: the nearest images and the metadata of the first 20; `texts_…`: the nearest texts; `words_…`: the
  best texts by BM25.
- `engine_…`: all three and the metadata of 20, one after another: what the engines do for a hybrid query.
- `ratio_words`, `ratio_engine`: those medians divided by that of `vector`.
- `search_hybrid_…`, `search_vector_…`: a whole search by `Searcher` for ten items, except the text encoder, including
  joins, fusion, explanations and corrections; `ratio_search` compares the two.
- `first_word_p50_ms`: a word that was not searched for since the index was opened.
- `everywhere_…`: the word of all texts together with three others; `filtered_…`: with a filter that one in three meets.
- `correct_…`, `complete_…`: a misspelled word, and the first three letters of one, of `vocabulary` different words.
- `add_words_ms`: what the lexical index adds to the time of adding a text.

DIPTYCH_BENCH_HYBRID=10000 measures another number of documents, for a quick look.
"""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np

from diptych._core.arrays import Singles
from diptych._core.seeding import generator
from diptych.index import EmbedderId, Identity, Index, create_index, open_index
from diptych.search import Calibration, Mode, Query, QueryPart
from diptych.search.answers import Answerer
from diptych.search.listing import Lister
from diptych.search.raw_embedder import Embedded, RawEmbedder
from diptych.search.spaces import IndexSpaces
from diptych.search.texts import Suggester, Texts, TextsPlan

COUNT, IMAGE_NUMBERS, TEXT_NUMBERS = 100_000, 256, 384
WORDS, WORDS_IN_TEXT, WORDS_IN_QUERY = 4_000, 20, 3
QUERIES, K, SHOWN, BLOCK = 300, 200, 20, 5_000
SYLLABLES = ("ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "zu", "wa")


def run() -> dict[str, Any]:
    """Build both indexes and ask them."""
    count = int(os.environ.get("DIPTYCH_BENCH_HYBRID", COUNT))
    words, weights = vocabulary()
    with tempfile.TemporaryDirectory() as name:
        build(Path(name) / "main", count, IMAGE_NUMBERS, None)
        texts = [texts_of(words, weights, start, min(BLOCK, count - start)) for start in range(0, count, BLOCK)]
        build(Path(name) / "texts", count, TEXT_NUMBERS, [text for block in texts for text in block])
        with open_index(Path(name) / "main") as main, open_index(Path(name) / "texts") as side:
            figures = asked(main, side, words, weights)
        figures["add_words_ms"] = cost_of_words(Path(name), texts[0])
    return {"documents": count, "vocabulary": WORDS, "k": K, **figures}


def vocabulary() -> tuple[list[str], "np.ndarray[Any, np.dtype[np.float64]]"]:
    """Words that are spelled and stemmed like words, the first ones the most frequent."""
    size = len(SYLLABLES)
    places = generator(0, "benchmark", "hybrid", "words").permutation(size**3)[:WORDS]
    words = [SYLLABLES[n // size**2] + SYLLABLES[n // size % size] + SYLLABLES[n % size] for n in places.tolist()]
    weights = 1 / np.arange(1, WORDS + 1)
    return words, weights / weights.sum()


def texts_of(words: list[str], weights: Any, start: int, count: int) -> list[str]:  # noqa: ANN401
    """Some of the texts, always the same."""
    draw = generator(0, "benchmark", "hybrid", "texts", str(start))
    lengths = draw.integers(WORDS_IN_TEXT - 10, WORDS_IN_TEXT + 11, count)
    return ["everywhere " + " ".join(draw.choice(words, size=length, p=weights)) for length in lengths.tolist()]


def vectors_of(count: int, dimension: int, *purpose: str) -> Singles:
    """Random directions."""
    rows = generator(0, "benchmark", "hybrid", *purpose).standard_normal((count, dimension), dtype=np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def build(folder: Path, count: int, dimension: int, texts: list[str] | None) -> None:
    """Fill an index as the command line does."""
    create_index(folder, Identity(EmbedderId("benchmark"), dimension), words=texts is not None).close()
    with open_index(folder, auto_fold=False) as index:
        for start in range(0, count, BLOCK):
            add(index, start, min(BLOCK, count - start), dimension, texts and texts[start : start + BLOCK])
        index.optimise()


def add(index: Index, start: int, count: int, dimension: int, texts: list[str] | None) -> None:
    """Add one block of documents."""
    index.add(
        [f"{'image' if texts is None else 'text'}:item-{row:08d}" for row in range(start, start + count)],
        vectors_of(count, dimension, "items", str(dimension), str(start)),
        modality="image" if texts is None else "text",
        metadata=[{"item": f"item-{row:08d}", "third": row % 3} for row in range(start, start + count)],
        words=texts,
    )


def asked(main: Index, side: Index, words: list[str], weights: Any) -> dict[str, float]:  # noqa: ANN401
    """The time of every way of asking, in turns."""
    draw = generator(0, "benchmark", "hybrid", "queries")
    queries = [" ".join(draw.choice(words, size=WORDS_IN_QUERY, p=weights)) for _ in range(QUERIES)]
    images, texts = (
        vectors_of(QUERIES, IMAGE_NUMBERS, "image queries"),
        vectors_of(QUERIES, TEXT_NUMBERS, "text queries"),
    )
    first = timed(lambda n: side.search_words([words[n]], K), range(WORDS // 2, WORDS // 2 + QUERIES))

    def engine(n: int) -> None:
        found = main.search(images[n], K)[0]
        side.search(texts[n], K)
        side.search_words([queries[n]], K)
        main.get(found.ids[:SHOWN])

    def vector(n: int) -> None:
        main.get(main.search(images[n], K)[0].ids[:SHOWN])

    answerer = Answerer(
        Lister(main, Texts(TextsPlan("text", 0, TEXT_NUMBERS), side), EmbedderId("benchmark"), IndexSpaces()),
        cast(RawEmbedder, reader := Reader(images, texts)),
        Calibration(),
        ("image", "text"),
        Suggester(cast(RawEmbedder, reader), "text", Texts(TextsPlan("text", 0, TEXT_NUMBERS), side)),
    )

    def search(n: int, mode: Mode) -> None:
        reader.number = n
        (answer,) = answerer.answer_many([Query((QueryPart("text", queries[n]),), mode=mode)])
        if isinstance(answer, Exception) or len(answer.hits) != 10:
            raise AssertionError(f"no proper answer to {queries[n]!r}: {answer}")

    ways: dict[str, Callable[[int], object]] = {
        "vector": vector,
        "texts": lambda n: side.search(texts[n], K),
        "words": lambda n: side.search_words([queries[n]], K),
        "engine": engine,
        "search_vector": lambda n: search(n, "vector"),
        "search_hybrid": lambda n: search(n, "hybrid"),
        "everywhere": lambda n: side.search_words([f"everywhere {queries[n]}"], K),
        "filtered": lambda n: side.search_words([queries[n]], K, where="third = 1"),
        "correct": lambda n: side.correct(queries[n][:3] + "x" + queries[n][4:6]),
        "complete": lambda n: side.complete(queries[n][:3]),
    }
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(2):
        for n in range(QUERIES):
            for name, way in ways.items():
                spent = timed(way, [n])
                if turn:  # the first round reads the words
                    taken[name] += spent
    figures = {"first_word_p50_ms": quantile(first, 0.5)}
    for name, times in taken.items():
        figures |= {f"{name}_p50_ms": quantile(times, 0.5), f"{name}_p95_ms": quantile(times, 0.95)}
    for name in ("words", "engine"):
        figures[f"ratio_{name}"] = figures[f"{name}_p50_ms"] / figures["vector_p50_ms"]
    figures["ratio_search"] = figures["search_hybrid_p50_ms"] / figures["search_vector_p50_ms"]
    return figures


class Reader:
    """Stands for the text encoder, whose time is no part of this: gives the vectors of the query with a number."""

    def __init__(self, images: Singles, texts: Singles) -> None:
        self._images, self._texts = images, texts
        self.number = 0

    def modality_of(self, media_type: str) -> str:
        """Texts are texts."""
        return media_type

    def read(self, media_type: str, value: str) -> str:
        """Words as they are."""
        return value

    def embed(self, modality: str, items: list[str]) -> Embedded:
        """The vectors of the query."""
        row = slice(self.number, self.number + 1)
        return Embedded(self._images[row], [None], self._texts[row])

    def ignored_words(self, modality: str, text: str) -> tuple[str, ...]:
        """None."""
        return ()

    def is_word(self, modality: str, word: str) -> bool:
        """Every word may be misspelled."""
        return False


def cost_of_words(folder: Path, texts: list[str]) -> float:
    """The time that one text takes longer to add with words than without, in milliseconds."""
    spent = []
    for words in (False, True):
        identity = Identity(EmbedderId("benchmark"), TEXT_NUMBERS)
        with create_index(folder / f"added-{words}", identity, words=words) as index:
            started = time.perf_counter()
            add(index, 0, len(texts), TEXT_NUMBERS, texts if words else None)
            spent.append(time.perf_counter() - started)
    return 1e3 * (spent[1] - spent[0]) / len(texts)


def timed(way: Callable[[int], object], numbers: Any) -> list[float]:  # noqa: ANN401
    """Seconds of each call."""
    times = []
    for number in numbers:
        started = time.perf_counter()
        way(number)
        times.append(time.perf_counter() - started)
    return times


def quantile(times: list[float], share: float) -> float:
    """In milliseconds."""
    return float(np.quantile(times, share) * 1e3)
