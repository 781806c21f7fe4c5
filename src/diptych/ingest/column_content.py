"""What the cells of a column look like (addresses, names of files, codes, free text), and how to read its values."""

import ast
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any
from urllib.parse import unquote, urlsplit

from diptych.features import clean_text
from diptych.ingest.names import word_set
from diptych.media import KINDS, MediaKind, is_media_name

SAMPLE = 200
"""So many cells, evenly over the column, are looked at closely."""

_LONGEST_LIST = 100_000
_SHOWN = 60
"""Characters of a cell in messages."""
_ADDRESS = re.compile(r"(?:https?|ftp|file)://\S+", re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:[ ,.']\d{3})+|\d+)?(?:[.,]\d+)?(?:[eE][-+]?\d+)?")
_AMOUNT = re.compile(r"^\s*(?:[$€£¥₹₽₩]|[A-Z]{3}|Rs\.?)?\s*[-+]?[\d.,' ]*\d\s*(?:[$€£¥₹₽₩%]|[A-Za-z]{1,3})?\s*$")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{1,2}:\d{2}")
_FLAGS = word_set("true false yes no y n t f 0 1 ja nein oui non si sí да нет はい いいえ 是 否 none n/a null")
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")
_EMPTY = frozenset(("", "nan", "null", "none", "n/a", "na", "-"))


def is_empty(cell: Any) -> bool:  # noqa: ANN401 - whatever a cell holds
    """Whether a cell is empty: null, NaN, an empty list, or a word for these."""
    if cell is None or (isinstance(cell, float) and cell != cell):
        return True
    if isinstance(cell, str):
        return cell.strip().lower() in _EMPTY
    return isinstance(cell, list | tuple | dict) and not cell


def values_of(cell: Any) -> list[Any]:  # noqa: ANN401
    """The values in a cell: of a list, of a list that is written as text, or the cell itself.

    >>> values_of('["a.jpg", "b.jpg"]'), values_of("['x']"), values_of("[sic] a"), values_of(None)
    (['a.jpg', 'b.jpg'], ['x'], ['[sic] a'], [])
    """
    if is_empty(cell):
        return []
    if isinstance(cell, str):
        text = cell.strip()
        found = _written_list(text) if text[0] == "[" and text[-1] == "]" else None
        return [cell] if found is None else [value for value in found if not is_empty(value)]
    return [value for value in cell if not is_empty(value)] if isinstance(cell, list | tuple) else [cell]


def _written_list(text: str) -> list[Any] | None:
    if len(text) > _LONGEST_LIST:
        return None
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(value, list) and all(isinstance(each, str | int | float | bool | None) for each in value):
            return value
    return None


def file_names(cell: Any) -> list[str]:  # noqa: ANN401
    """The media files that a cell may name; several are cut at bars, semicolons, commas or lines if each piece is one.

    >>> file_names("http://x.org/a.jpg | http://x.org/b.jpg"), file_names("me, you.jpg")
    (['http://x.org/a.jpg', 'http://x.org/b.jpg'], ['me, you.jpg'])
    """
    names: list[str] = []
    for value in values_of(cell):
        if isinstance(value, dict):
            value = next((value[key] for key in ("path", "url", "file_name", "src") if value.get(key)), "")
        text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()
        pieces = [piece.strip() for piece in re.split(r"[|;,\n]", text)]
        several = len(pieces) > 1 and all(names_file(piece) for piece in pieces)
        names += pieces if several else [text] if text else []
    return names


def names_file(text: str, kind: MediaKind | None = None) -> bool:
    """Whether a text is the path or the address of a media file, of a kind if that is given."""
    if is_address(text):
        text = unquote(urlsplit(text).path)
    if len(text) >= 1000 or "\n" in text:
        return False
    return is_media_name(text) if kind is None else kind.has_name(text) or kind.name_problem(text) is not None


def is_address(text: str) -> bool:
    """Whether a text is an address with a scheme, such as one on the web."""
    return _ADDRESS.fullmatch(text.strip()) is not None


@dataclass(frozen=True)
class ColumnContent:
    """What a column's cells look like; shares are of the cells that are not empty.

    Attributes:
        name: of the column.
        rows: how many cells there are.
        filled: how many of them say something.
        distinct: how many different ones.
        largest: the share of the commonest value.
        repeated: the share of cells whose value occurs at least twice.
        words: in a cell on average; signs of scripts without spaces count half a word each.
        numbers: the share of numbers and amounts.
        flags: the share of cells such as "yes", "0" or "true".
        addresses: the share of addresses on the web.
        files: by kind of media, the share of names and addresses of such files.
        codes: the share of short cells without spaces, such as ids.
        dates: the share of dates and times.
        lists: the share of lists with several values.
        structured: the share of cells that hold a structure instead of a text.
        example: the first cell that says something, cut.
    """

    name: str
    rows: int
    filled: int
    distinct: int
    largest: float
    repeated: float
    words: float
    numbers: float
    flags: float
    addresses: float
    files: Mapping[str, float]
    codes: float
    dates: float
    lists: float
    structured: float
    example: str

    @property
    def media(self) -> float:
        """The share of names and addresses of media files of any kind."""
        return sum(self.files.values())

    @property
    def is_text(self) -> bool:
        """Whether the cells can be read as texts at all."""
        others = self.numbers, self.addresses, self.media, self.dates, self.structured, self.flags
        return self.filled > 0 and sum(others) < 0.5

    @property
    def is_unique(self) -> bool:
        """Whether every row has a value of its own."""
        return self.filled == self.rows == self.distinct and self.rows > 1


def describe_column(name: str, cells: Sequence[Any]) -> ColumnContent:
    """Describe a column's cells: how often values occur in all of them, and what a sample of them holds."""
    filled = [cell for cell in cells if not is_empty(cell)]
    counts = Counter(_key(cell) for cell in filled)
    sample = sample_evenly(filled, SAMPLE)
    values = [values_of(cell) for cell in sample]
    texts = [" ".join(str(value) for value in each) for each in values]

    def share(test: Callable[[str], bool]) -> float:
        return sum(map(test, texts)) / len(texts) if texts else 0.0

    return ColumnContent(
        name=name,
        rows=len(cells),
        filled=len(filled),
        distinct=len(counts),
        largest=max(counts.values()) / len(filled) if filled else 0.0,
        repeated=sum(count for count in counts.values() if count > 1) / len(filled) if filled else 0.0,
        words=sum(map(_words, texts)) / len(texts) if texts else 0.0,
        numbers=share(_is_amount),
        flags=share(lambda text: text.strip().lower() in _FLAGS),
        addresses=share(lambda text: all(map(is_address, text.split()))),
        files={kind.name: _share(sample, partial(_names_one, kind)) for kind in KINDS.values()},
        codes=share(lambda text: len(text) <= 80 and not re.search(r"\s", text.strip())),
        dates=share(lambda text: _DATE.match(text.strip()) is not None),
        lists=_share(values, lambda each: len(each) > 1),
        structured=_share(sample, _is_structured),
        example=shortened(next(iter(filled), "")),
    )


def shortened(cell: Any) -> str:  # noqa: ANN401
    """A cell on one line, cleaned, and cut where it is long."""
    text = " ".join(clean_text(" | ".join(map(str, values_of(cell)))[: 40 * _SHOWN]).split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def sample_evenly(items: Sequence[Any], most: int) -> list[Any]:
    """Take at most so many items, evenly spaced."""
    if len(items) <= most:
        return list(items)
    return [items[number * len(items) // most] for number in range(most)]


def _names_one(kind: MediaKind, cell: Any) -> bool:  # noqa: ANN401
    return any(names_file(name, kind) for name in file_names(cell))


def _share(cells: Sequence[Any], test: Callable[[Any], bool]) -> float:
    return sum(map(test, cells)) / len(cells) if cells else 0.0


def _key(cell: Any) -> str:  # noqa: ANN401
    return cell.strip() if isinstance(cell, str) else repr(cell)


def _words(text: str) -> float:
    unspaced = len(_UNSPACED.findall(text))
    return len(list(_spaced(text))) + unspaced / 2


def _spaced(text: str) -> Iterator[str]:
    return (word for word in re.findall(r"\w+", text) if not _UNSPACED.match(word))


def _is_amount(text: str) -> bool:
    plain = text.strip()
    return bool(plain) and (_NUMBER.fullmatch(plain) is not None or _AMOUNT.match(plain) is not None)


def _is_structured(cell: Any) -> bool:  # noqa: ANN401
    if isinstance(cell, dict):
        return True
    text = cell.strip() if isinstance(cell, str) else ""
    return text[:1] == "{" and text[-1:] == "}"


_WHOLE = re.compile(r"[-+]?(?:0|[1-9]\d{0,14})")
_DECIMAL = re.compile(r"[-+]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,2})?")
_COMMA = re.compile(r"[-+]?(?:\d{1,3}(?:\.\d{3})+|0|[1-9]\d*)(?:,\d{1,2})?")
_PRICE_READERS = (
    (re.compile(r"[-+]?\d+(?:\.\d{1,2})?"), float),
    (_COMMA, lambda text: float(text.replace(".", "").replace(",", "."))),
    (re.compile(r"[-+]?\d{1,3}(?:,\d{3})*(?:\.\d{1,2})?"), lambda text: float(text.replace(",", ""))),
)
_CURRENCY = r"([$€£¥₹₽₩]|EUR|USD|GBP|CHF|JPY|CNY|INR|RUB|KRW|CAD|AUD|BRL|SEK|NOK|DKK|PLN|CZK)?"
_PRICE = re.compile(rf"{_CURRENCY}\s*([-+]?\d[\d.,]*)\s*{_CURRENCY}")
_DAY_OR_MONTH_FIRST = re.compile(r"(\d{1,2})([./])(\d{1,2})\2(\d{4})(?:[ T](\d{2}:\d{2}(?::\d{2})?))?")
_TRUTH = {"true": True, "false": False}

Reader = Callable[[str], Any]
_READERS: tuple[tuple[re.Pattern[str], Reader], ...] = ((_WHOLE, int), (_DECIMAL, float), _PRICE_READERS[1])


def reader_of(texts: Sequence[str]) -> tuple[Reader, str | None]:
    """What reads all texts of a column as numbers, truth values or dates, and what to say of it."""
    for fits, read in _READERS:
        if all(fits.fullmatch(text) for text in texts):
            return read, None
    if all(text.lower() in _TRUTH for text in texts):
        return lambda text: _TRUTH[text.lower()], None
    read_as = _prices(texts) or _dates(texts)
    return (str, None) if read_as is None else (read_as[0].__getitem__, read_as[1])


def _prices(texts: Sequence[str]) -> tuple[dict[str, Any], str] | None:
    """Prices in one currency as numbers."""
    found = [_PRICE.fullmatch(text) for text in texts]
    marks = {(price[1] or price[3]) if price else None for price in found}
    amounts = [price[2] for price in found if price]
    for fits, read in _PRICE_READERS:
        if len(marks) == 1 and None not in marks and all(fits.fullmatch(amount) for amount in amounts):
            return dict(zip(texts, map(read, amounts), strict=True)), f"prices in {marks.pop()}, kept as numbers"
    return None


def _dates(texts: Sequence[str]) -> tuple[dict[str, Any], str] | None:
    """Dates that begin with the day or the month as those that begin with the year; None where it cannot be told."""
    parts = [found.groups() if (found := _DAY_OR_MONTH_FIRST.fullmatch(text)) else None for text in texts]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    by_day = all(sign == "." for _, sign, *_ in known) or any(int(first) > 12 for first, *_ in known)
    if not by_day and all(int(second) <= 12 for _, _, second, *_ in known):
        return None
    try:
        days = [date(int(y), *map(int, (b, a) if by_day else (a, b))).isoformat() for a, _, b, y, _ in known]
    except ValueError:
        return None
    written = [day if time is None else f"{day}T{time}" for day, (*_, time) in zip(days, known, strict=True)]
    said = f"dates such as {texts[0]}, kept as {written[0]} so that they can be compared"
    return dict(zip(texts, written, strict=True)), said
