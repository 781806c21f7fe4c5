"""Cut texts and queries into the words by which items are found, and reduce each to its stem.

The normalisation is that of the text features (NFKC, no case, pairs of characters where a script has no spaces, emoji
as words). On top of it:

- Part numbers and hyphenated words are indexed both in pieces and joined: "AB-1234/X" gives ab, 1234, x and ab1234x,
  and so does "ab1234x", so that each spelling finds the other.
- Single letters and digits are kept: a frequent one weighs little, and in "vitamin c" it is what matters.
- Korean words also give pairs of syllables, which find a word that carries another particle.

Stems are one form for the inflections and accents of a word, so that "dogs" finds "dog" and "cafe" finds "café".
"""

import re
import threading
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from diptych._core.errors import optional_package
from diptych.features.text import normalise, split

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
            _stemmers[language] = optional_package("snowballstemmer", "an index with words", "search").stemmer(language)
        return str(_stemmers[language].stemWord(word)) or word


LONGEST = 64
"""Characters of a word; what is longer is no word and is found by its beginning."""

_SEPARATORS = "-/.+&\u2010\u2011\u2013"
_WITHOUT_SEPARATORS = str.maketrans("", "", _SEPARATORS)
_EDGES = "'\"’‘“”.,;:!?()[]{}<>«»…*#|" + _SEPARATORS
_COMPOUND = re.compile(rf"[^\W_]+(?:[{re.escape(_SEPARATORS)}][^\W_]+)+")
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_RUNS = re.compile(r"\d+|\D+")
_POINT = re.compile(r"(?<=\d)\.(?=\d)")
_MOST_PIECES = 6
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_HANGUL = re.compile("[\uac00-\ud7a3]{3,}")


class Word(NamedTuple):
    """One word of a text.

    Attributes:
        term: what it is indexed as, before its endings are taken off.
        shown: how it is written in suggestions; empty if it is a fragment that nobody would type.
    """

    term: str
    shown: str


def words_of(text: str) -> list[Word]:
    """The words of a text in order; those of a compound are followed by the compound itself."""
    found: list[Word] = []
    for chunk in _chunks(text):
        found += _words_of_chunk(chunk)
    return found


def lexical_tokens(text: str) -> list[str]:
    """The words of a text as they are indexed, endings and all.

    >>> lexical_tokens("Dogs, AB-1234/X")
    ['dogs', 'ab', '1234', 'x', 'ab1234x']
    """
    return [word.term for word in words_of(text)]


def plain(word: str) -> str:
    """A word without case, accents, separators and punctuation: what spellings are compared by."""
    whole = _NO_TEXT.sub("", normalise(word)).strip(_EDGES + " ")
    return without_accents(whole).translate(_WITHOUT_SEPARATORS)


def is_spelled(word: str) -> bool:
    """Whether a word is spelled with letters, so that a misspelling can be recognised; 1234 and 東京都 are not."""
    return not any(sign.isdigit() for sign in word) and split(word) == [word]


def matched_words(query: str, text: str) -> tuple[str, ...]:
    """The words of a query, as they were typed, that stand in a text in any of their forms.

    >>> matched_words("Red shoes and ab1234", "A red shoe, model AB-1234/X")
    ('Red', 'shoes', 'ab1234')
    """
    typed = _typed(query)
    beginnings = tuple({term[: max(1, len(term) - 2)] for _, _, pieces in typed for term in pieces})
    there: set[str] = set()
    for chunk in set(_chunks(text)):
        bare = without_accents(chunk).translate(_WITHOUT_SEPARATORS)
        if any(beginning in bare for beginning in beginnings):
            there.update(stem(word.term) for word in _words_of_chunk(chunk))
    found: list[str] = []
    for shown, whole, pieces in typed:
        if whole in there or all(piece in there for piece in pieces):
            found.append(shown)
        else:
            found += [piece for piece in pieces if piece in there and len(piece) > 1]
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=256)
def _typed(query: str) -> list[tuple[str, str, list[str]]]:
    """Each word of a query as typed, the stem of the whole, and the stems of its pieces."""
    typed = []
    for shown in query.split():
        for chunk in _chunks(shown):
            words = _words_of_chunk(chunk)
            stems = [stem(word.term) for word in words]
            if stems:
                whole = stems[-1] if words[-1].term == _joined(chunk) else ""
                typed.append((shown.strip(_EDGES) or shown, whole, stems[:-1] if whole and stems[:-1] else stems))
    return typed


def _chunks(text: str) -> Iterable[str]:
    """What stands between spaces, without punctuation around it."""
    normal = normalise(text.replace("_", "-"))
    if "," in normal:
        normal = _THOUSANDS.sub(lambda number: number.group().replace(",", ""), normal)
    return (bare for chunk in normal.split() if (bare := _without_possessive(chunk.strip(_EDGES))))


def _without_possessive(chunk: str) -> str:
    return chunk[:-2] if chunk.endswith(("'s", "’s")) else chunk


def _words_of_chunk(chunk: str) -> list[Word]:
    if chunk.isascii() and chunk.isalpha():
        term = chunk[:LONGEST]
        return [Word(term, term)]
    found: list[Word] = []
    for token in split(chunk):
        found += _pieces(token[:LONGEST])
    if 1 < len(_parts(chunk)) <= _MOST_PIECES:
        joined = _joined(chunk)
        if len(joined) <= LONGEST:
            found.append(Word(joined, chunk))
    return found


def _pieces(token: str) -> list[Word]:
    """Letters and digits apart, then together; a Korean word and its pairs of syllables."""
    runs = _RUNS.findall(token) if not token.isalpha() else [token]
    whole = Word(token, token)
    if len(runs) > 1:
        return [*(Word(run, run) for run in runs[:_MOST_PIECES]), whole]
    if _HANGUL.fullmatch(token):
        return [*(Word(first + second, "") for first, second in pairwise(token)), whole]
    return [whole]


def _parts(chunk: str) -> list[str]:
    """The parts of a compound that is written without spaces, none if it is no compound.

    Words between slashes or points are alternatives or sentences unless there is a number among them.
    """
    if not _COMPOUND.fullmatch(chunk):
        return []
    joined_by = {sign for sign in chunk if sign in _SEPARATORS}
    if joined_by & set("/.+&") and not any(sign.isdigit() for sign in chunk):
        return []
    return [part for part in re.split(f"[{re.escape(_SEPARATORS)}]", chunk) if part]


def _joined(chunk: str) -> str:
    """A compound without its separators; 3.5 is not 35, so points between digits stay."""
    kept = _POINT.sub("\0", chunk)
    return kept.translate(_WITHOUT_SEPARATORS).replace("\0", ".")
