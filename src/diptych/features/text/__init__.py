"""Features of texts, each in its module with its own optional packages, and what they share: cutting text into tokens.

Words are runs of letters, digits and the marks that belong to them, after compatibility normalisation (NFKC)
and case folding. Scripts written without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) give overlapping
pairs of characters, which need no dictionary and find most words. So does Korean, inside its words: particles grow onto
nouns, and "커피를" shares no word with "커피", but a pair. An emoji is a token of its own.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

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


_ROUNDS = 8  # texts are seldom escaped more than twice
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_AMPERSAND = "\ufdd0"  # a noncharacter stands for "&" in the parser, which would read "&copy=2" of an address as "©=2"
_LESS = "\ufdd1"  # another, for "<" that begins no tag, where parsers would read a comment: "</3", "<!>"
_NO_TAG = re.compile(r"<(?![a-z]|/[a-z]|!--|!doctype|\?xml|\?php)", re.IGNORECASE)
_CONDITION = re.compile(r"<!\[(?:end)?if\b[^\[\]<>]*\]>", re.IGNORECASE)  # word processors' hints to old browsers
_QUOTED = "<![CDATA["
_PREFIXED = re.compile(r"[a-z][a-z0-9]*:[a-z][a-z0-9]*")  # word processors write elements such as <o:p>
_BREAK = "\v"


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BLOCKS = _names(
    "address article aside blockquote body br caption center dd details dialog div dl dt fieldset figcaption figure "
    "footer form frameset h1 h2 h3 h4 h5 h6 head header hr html legend li main menu nav ol optgroup option p pre "
    "section select summary table tbody tfoot thead title tr ul"
)
_CELLS = _names("td th")
_INLINE = _names(
    "a abbr acronym area audio b base basefont bdi bdo big button canvas cite code col colgroup data datalist del dfn "
    "em embed font frame i iframe img input ins kbd label link map mark meta meter nobr noframes noscript object "
    "output param picture progress q rp rt ruby s samp script slot small source span strike strong style sub sup svg "
    "path template textarea time track tt u var video wbr"
)
_ELEMENTS = _BLOCKS | _CELLS | _INLINE
_BARE_ATTRIBUTES = _names(
    "allowfullscreen async autofocus autoplay checked compact controls default defer disabled hidden ismap itemscope "
    "loop multiple muted nohref nomodule noshade novalidate nowrap open playsinline readonly required reversed "
    "selected /"
)


def clean_text(text: str) -> str:
    r"""The text a person would read: tags and scripts removed, entities unescaped, white space tidied.

    What only looks like a tag stays ("a < b", "<3", "<jo@example.org>"). Blocks (paragraphs, list items, table rows)
    and line breaks stay apart as lines.

    >>> clean_text("<p>Salt &amp;amp; pepper&#x27;s <b>mill</b></p><p>5 &lt; 6</p>")
    "Salt & pepper's mill\n5 < 6"
    """
    for _ in range(_ROUNDS):
        stripped = _without_tags(text) if "<" in text else text
        plain = _ENTITY.sub(lambda found: unescape(found[0]), stripped) if "&" in stripped else stripped
        if plain == text:
            break
        text = plain
    return _tidied(text)


def _tidied(text: str) -> str:
    """Single spaces, no space at the ends of lines, at most one empty line in a row, no control characters."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.isprintable():
        text = "".join(" " if unicodedata.category(c) == "Cc" and c not in "\n\v" else c for c in text)
    return "\n".join(filter(None, (_tidied_block(block) for block in text.split(_BREAK))))


def _tidied_block(block: str) -> str:
    lines = (" ".join(line.split()) for line in block.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _without_tags(text: str) -> str:
    text = _unquoted(_CONDITION.sub("", text)) if "<![" in text else text
    parser = _Reader(text)
    parser.feed(_NO_TAG.sub(_LESS, text.replace("&", _AMPERSAND)))
    # What is left is the beginning of a tag that never ends, so it is none.
    return "".join([*parser.kept, parser.rawdata]).replace(_AMPERSAND, "&").replace(_LESS, "<")


def _unquoted(text: str) -> str:
    """The content of quoted sections in their place."""
    first, *others = text.split(_QUOTED)
    return first + "".join(part.replace("]]>", "", 1) if "]]>" in part else _QUOTED + part for part in others)


class _Reader(HTMLParser):
    """Collects the text between tags."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        lowered = text.lower()
        # One that is opened and never closed would swallow the rest of the text.
        self._scripts = tuple(name for name in ("script", "style") if f"</{name}" in lowered)
        self.kept: list[str] = []
        self._hidden = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what a tag stands for: a break, nothing, or itself where it is no tag."""
        if not _is_element(tag, attrs):
            self.kept.append(self.get_starttag_text() or "")
            return
        if tag in self._scripts:
            self._hidden = tag
        self.kept.append(_separator(tag))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what an element without content stands for."""
        known = _is_element(tag, attrs)
        self.kept.append(_separator(tag) if known else self.get_starttag_text() or "")

    def handle_endtag(self, tag: str) -> None:
        """Keep what the end of an element stands for."""
        if tag == self._hidden:
            self._hidden = ""
        self.kept.append(_separator(tag) if _is_element(tag, []) else f"</{tag}>")

    def set_cdata_mode(self, elem: str, **options: Any) -> None:  # noqa: ANN401 - newer parsers have some
        """Read on without looking for tags, in scripts alone."""
        if elem in self._scripts:
            super().set_cdata_mode(elem, **options)

    def handle_data(self, data: str) -> None:
        """Keep text, unless it is a script or a style."""
        if not self._hidden:
            self.kept.append(data)


def _is_element(tag: str, attributes: list[tuple[str, str | None]]) -> bool:
    """Whether a tag is one: "<b and c>" of "a<b and c>d" is none, since no element has these attributes."""
    named = tag in _ELEMENTS or _PREFIXED.fullmatch(tag) is not None
    return named and all(value is not None or name in _BARE_ATTRIBUTES for name, value in attributes)


def _separator(tag: str) -> str:
    return _BREAK if tag in _BLOCKS else " " if tag in _CELLS else ""
