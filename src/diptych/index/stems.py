"""One form for the inflections and accents of a word, so that "dogs" finds "dog" and "cafe" finds "café"."""

import re
import threading
import unicodedata
from functools import lru_cache
from typing import Any

from diptych.index.word_libraries import snowball

_LATIN = re.compile(r"[a-z]+")
_CYRILLIC = re.compile("[\u0430-\u0451]+")
_ACCENTED = re.compile("([a-z\u03b1-\u03c9])[\u0300-\u036f]+")
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ё": "е", "ς": "σ"}
)
"""Letters that are spelled otherwise by those who do not have them on their keyboard, and have no decomposition."""
_SHORTEST = 3

_stemmers: dict[str, Any] = {}
_stemming = threading.Lock()


def without_accents(word: str) -> str:
    """A normalised word without the accents of Latin and Greek letters; the marks of other scripts are letters.

    >>> without_accents("crème brûlée")
    'creme brulee'
    """
    if word.isascii():
        return word
    bare = _ACCENTED.sub(r"\1", unicodedata.normalize("NFD", word.translate(_LETTERS)))
    return unicodedata.normalize("NFC", bare)


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """What all forms of a normalised word have in common: no accents, no endings (English and Russian ones).

    The English rules take the plural's s from the words of other languages, too. Words in other scripts, numbers and
    part numbers are their own stems.

    >>> stem("dogs"), stem("cafés"), stem("1234")
    ('dog', 'cafe', '1234')
    """
    bare = without_accents(word)
    if len(bare) < _SHORTEST:
        return bare
    if _LATIN.fullmatch(bare):
        return _stemmed("english", bare)
    if _CYRILLIC.fullmatch(bare):
        return _stemmed("russian", bare)
    return bare


def _stemmed(language: str, word: str) -> str:
    """A stemmer keeps the word it works on, so one thread at a time may use it."""
    with _stemming:
        if language not in _stemmers:
            _stemmers[language] = snowball().stemmer(language)
        return str(_stemmers[language].stemWord(word)) or word
