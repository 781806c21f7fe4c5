"""Cut text of any language into tokens.

Words are runs of letters, digits and the marks that belong to them, after compatibility normalisation (NFKC)
and case folding. Scripts written without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) give overlapping
pairs of characters, which need no dictionary and find most words. So does Korean, inside its words: particles grow onto
nouns, and "커피를" shares no word with "커피", but a pair. An emoji is a token of its own.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from itertools import pairwise

_UNSPACED = (
    *((0x0E01, 0x0E4E), (0x0E80, 0x0EDF)),  # Thai, Lao
    *((0x1000, 0x109F), (0x1780, 0x17D3)),  # Burmese, Khmer
    *((0x3005, 0x3007), (0x3041, 0x30FF), (0x3105, 0x312F), (0x31F0, 0x31FF)),  # kana, bopomofo
    *((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x323AF)),  # Han
)
"""The scripts that put no space between words."""

_HANGUL = ((0x1100, 0x11FF), (0x3131, 0x318E), (0xA960, 0xA97C), (0xAC00, 0xD7A3), (0xD7B0, 0xD7FB))

_EMOJI = "\u231a\u231b\u23e9-\u23fa\u2600-\u27bf\u2b50\u2b55\U0001f000-\U0001f1e5\U0001f200-\U0001faff"
_FLAG = "[\U0001f1e6-\U0001f1ff]{2}"
_JOINER = "\u200d"

_IGNORED = re.compile(
    "[\u00ad\u200c\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff"  # soft hyphens, non-joiners, direction marks
    "\ufe00-\ufe0f\U000e0020-\U000e01ef"  # variants and tags of characters and emoji
    "\U0001f3fb-\U0001f3ff"  # skin tones: a hand is a hand
    "\u0640\u064b-\u065f\u0670"  # Arabic stretching and vowel points, written or left out at will
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]"  # Hebrew points, likewise
)


def tokenise(text: str, *, korean_pairs: bool = True) -> list[str]:
    """Cut a text into tokens, in order.

    A single cased letter or digit ("s" of "dog's", "l" of "l'arbre") says too little and is left out.

    Args:
        text: any text.
        korean_pairs: cut Korean words into pairs of syllables; vocabularies of old models keep them whole.

    >>> tokenise("Zoë's Straße, 東京都 👍🏽")
    ['zoë', 'strasse', '東京', '京都', '👍']
    """
    tokens = split(normalise(text), korean_pairs=korean_pairs)
    return [token for token in tokens if len(token) > 1 or not _says_too_little(token)]


def split(text: str, *, korean_pairs: bool = False) -> list[str]:
    """Cut a normalised text into tokens, single letters and digits included."""
    runs, pieces, clusters = _patterns(korean_pairs)
    tokens: list[str] = []
    for run in runs.findall(text):
        if run.isascii():
            tokens.append(run)
            continue
        for piece in pieces.findall(run.replace(_JOINER, "") if run[0].isalnum() else run):
            tokens.extend(_pairs(clusters.findall(piece)) if clusters.match(piece) else [piece])
    return tokens


def normalise(text: str) -> str:
    """Normalise a text: NFKC, case folding, no invisible characters."""
    if text.isascii():
        return text.lower().replace("_", " ")
    folded = unicodedata.normalize("NFKC", text).casefold().replace("i\u0307", "i")  # the Turkish capital İ
    return unicodedata.normalize("NFKC", _IGNORED.sub("", folded)).replace("_", " ")


def _says_too_little(token: str) -> bool:
    return token.isdigit() or token.lower() != token.upper()


def _pairs(clusters: list[str]) -> list[str]:
    if len(clusters) == 1:
        return clusters
    return [first + second for first, second in pairwise(clusters)]


@cache
def _patterns(korean_pairs: bool) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    r"""What finds runs in a text, pieces of one way of writing in a run, and characters with their marks in a piece.

    The marks are gathered from the Unicode tables, because `\w` knows none: it would cut हिन्दी in four.
    """
    mark = _class(point for point in range(0x300, 0x20000) if unicodedata.category(chr(point))[0] == "M")
    base = _class(
        point
        for first, last in sorted(_UNSPACED + (_HANGUL if korean_pairs else ()))
        for point in range(first, last + 1)
        if unicodedata.category(chr(point))[0] in "LN"
    )
    word = rf"\w[\w{mark}{_JOINER}]*"
    emoji = f"[{_EMOJI}](?:{_JOINER}[{_EMOJI}])*"
    cluster = f"[{base}][{mark}]*"
    return re.compile(f"{word}|{_FLAG}|{emoji}"), re.compile(f"(?:{cluster})+|[^{base}]+"), re.compile(cluster)


def _class(points: Iterable[int]) -> str:
    """The inside of a regular expression's brackets that matches these rising code points."""
    ranges: list[list[int]] = []
    for point in points:
        if ranges and point == ranges[-1][1] + 1:
            ranges[-1][1] = point
        else:
            ranges.append([point, point])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)
