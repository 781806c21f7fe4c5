"""Which of many words are spelled nearly like a given one."""

import threading
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from diptych._core.optional import optional_package
from diptych.index.words import is_spelled

_LONG = 6
_SHORT = 3
_MOST = 1_000
"""Near words that are returned; the nearest, where there are more."""

Later = Callable[[int], Sequence[tuple[int, str]]]
"""The words with numbers greater than a given one, in their order."""


def edits_allowed(word: str) -> int:
    """How many edits away a word may be: none for what is not spelled with letters, or too short to be recognised."""
    if len(word) < _SHORT or not is_spelled(word):
        return 0
    return 2 if len(word) >= _LONG else 1


class Spellings:
    """Words by their spelling, as their owner lists them: with rising numbers, so that only new ones must be read.

    Comparing letter by letter is left to the few words that could be near: one edit changes the length by at most one
    and the set of letters by at most two.
    """

    def __init__(self) -> None:
        self._words: list[str] = []
        self._numbers = _Growing(np.int64)
        self._lengths = _Growing(np.int16)
        self._letters = _Growing(np.uint64)
        self._lock = threading.Lock()

    def near(self, word: str, edits: int, later: Later) -> dict[int, tuple[int, bool]]:
        """The numbers of the words at most so many edits away, each with the distance and whether it begins otherwise.

        Args:
            word: what they are compared with.
            edits: letters added, left out, exchanged, or swapped with their neighbours.
            later: reads the words after a number; some of those read before may be gone, their owner will know.
        """
        with self._lock:
            self._catch_up(later)
            letters = np.uint64(_letters(word))
            possible = np.abs(self._lengths.values - len(word)) <= edits
            possible &= np.bitwise_count(self._letters.values ^ letters) <= 2 * edits
            places = np.flatnonzero(possible)
            others = [(int(self._numbers.values[place]), self._words[place]) for place in places.tolist()]
        found = {}
        osa = optional_package("rapidfuzz.distance", "an index with words", "search").OSA
        for number, other in others:
            distance = osa.distance(word, other, score_cutoff=edits)
            if distance <= edits:
                found[number] = (distance, other[:1] != word[:1])
        return dict(sorted(found.items(), key=lambda each: each[1])[:_MOST])

    def _catch_up(self, later: Later) -> None:
        known = self._numbers.values
        fresh = later(int(known[-1]) if len(known) else 0)
        words = [word for _, word in fresh]
        self._words += words
        self._numbers.append([number for number, _ in fresh])
        self._lengths.append([len(word) for word in words])
        self._letters.append([_letters(word) for word in words])


class _Growing:
    """An array with room to grow, so that putting in words one by one stays linear."""

    def __init__(self, dtype: type) -> None:
        self._held: NDArray[np.generic] = np.empty(1_024, dtype)
        self._count = 0

    @property
    def values(self) -> "np.ndarray[tuple[int], np.dtype[np.integer]]":
        return self._held[: self._count]  # type: ignore[return-value]

    def append(self, values: Sequence[int]) -> None:
        needed = self._count + len(values)
        if needed > len(self._held):
            larger = np.empty(max(needed, 2 * len(self._held)), self._held.dtype)
            larger[: self._count] = self._held[: self._count]
            self._held = larger
        self._held[self._count : needed] = values
        self._count = needed


def _letters(word: str) -> int:
    """A set of letters as 64 bits; different letters may share one, which lets too many pass, never too few."""
    bits = 0
    for letter in word:
        bits |= 1 << (ord(letter) & 63)
    return bits
