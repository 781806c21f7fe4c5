"""Tables: rows of named cells, read from CSV and TSV so that a line that cannot be read costs no other."""

import codecs
import csv
import io
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from diptych._core.errors import ConfigError, DataError
from diptych.media import is_media_name

ProblemKind = Literal["row", "picture", "text", "note"]
"""As reports store it; "picture" is an image."""

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SECOND_GUESS = "cp1252"
_ENCODINGS = {
    "cp1251": ("Windows-1251", 0xE0, 0xFF, 0.7),
    "koi8-r": ("KOI8-R", 0xC0, 0xDF, 0.7),
    "cp932": ("Shift-JIS", 0x82, 0x83, 0.25),
    "cp949": ("EUC-KR", 0xB0, 0xC8, 0.9),
    "big5": ("Big5", 0xA4, 0xC6, 0.7),
    "gb18030": ("GB 18030", 0xB0, 0xD7, 0.7),
}
"""What else a table may be written in: its name, between which first bytes the usual characters of its language lie
(small Russian letters, kana, Hangul, common Chinese characters), and which share of a text they are at least."""
_NOT_IN_CP1252 = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
_SAMPLED = 100_000
_STATED_SEPARATOR = re.compile(r"""["']?sep=(.)["']?""", re.IGNORECASE)
_LONGEST_TITLE, _RECORDS_LOOKED_AT = 20, 20
_LONGEST_CELL = 16 * 2**20
_LONGEST_RECORD = 1000
"""How many lines one quoted record may span before its quote counts as broken."""


@dataclass(frozen=True)
class Problem:
    """Something that was left out or read with doubt.

    Attributes:
        kind: "row" for a line of a table, "picture" or "text" for an item's image or text, "note" for what was kept.
        where: the line, the file or the archive's member.
        reason: what is wrong with it.
    """

    kind: ProblemKind
    where: str
    reason: str

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


@dataclass(frozen=True)
class Row:
    """One line of a table: its number, counted from 1 as an editor does, and its cells by column."""

    number: int
    cells: dict[str, Any]


@dataclass(frozen=True)
class Table:
    """A table as it was read.

    Attributes:
        origin: its file's name, for reports.
        columns: the names of its columns, in order.
        rows: the rows that could be read.
        problems: the lines that could not, and those read with doubt.
        unit: what its rows' numbers count: "line", "row" or "entry".
    """

    origin: str
    columns: tuple[str, ...]
    rows: list[Row]
    problems: list[Problem] = field(default_factory=list)
    unit: str = "line"

    def column(self, name: str) -> list[Any]:
        """The cells of one column; None where a row lacks it."""
        return [row.cells.get(name) for row in self.rows]

    def place(self, row: Row) -> str:
        """Where a row stands, for reports."""
        return f"{self.origin}, {self.unit} {row.number}"


@dataclass(frozen=True)
class TextLines:
    """Lines with their ends, and a note for each that was not in the expected encoding."""

    lines: list[str]
    problems: list[Problem]


def read_lines(path: Path, encoding: str | None = None) -> TextLines:
    """Read a file line by line; see `decode_lines`."""
    return decode_lines(path.name, path.read_bytes(), encoding)


def decode_lines(name: str, data: bytes, encoding: str | None = None) -> TextLines:
    """Decode a file's content line by line, so that one line in another encoding harms no other.

    A byte order mark tells UTF-16. Otherwise a line is UTF-8, or, with a note, in the encoding that the lines which
    cannot be are in by their characters, such as GB 18030 or Windows-1251; Windows-1252 where none fits.

    Args:
        name: the file's name, for reports.
        data: its content.
        encoding: read all of it so; what does not fit is then an error.
    """
    if encoding is not None or data.startswith(_UTF_16):
        text = _decoded(name, data, encoding or "utf-16")
        return TextLines(list(io.StringIO(text, newline="")), [])
    raw = data.removeprefix(codecs.BOM_UTF8).splitlines(keepends=True)
    lines: list[str] = []
    strange: list[int] = []
    for number, line in enumerate(raw):
        try:
            lines.append(line.decode("utf-8"))
        except UnicodeDecodeError:
            lines.append("")
            strange.append(number)
    if not strange:
        return TextLines(lines, [])
    guess = guess_encoding(b"".join(raw[number] for number in strange))
    for number in strange:
        lines[number] = raw[number].decode(guess, errors="replace")
    said = _ENCODINGS[guess][0] if guess in _ENCODINGS else "Windows-1252"
    more = f" and {len(strange) - 1:,} more" if len(strange) > 1 else ""
    are = "are" if more else "is"
    reason = f"{are} not UTF-8, and read as {said}; if that is wrong, save the file as UTF-8 or give its --encoding"
    return TextLines(lines, [Problem("note", f"{name}, line {strange[0] + 1}{more}", reason)])


def guess_encoding(data: bytes) -> str:
    """The likeliest encoding of lines that are not UTF-8.

    In Latin text, letters with accents stand alone among plain ones or in twos. Where most bytes above 127 stand in
    longer runs, or some are nothing in Windows-1252, the first encoding fits of which enough characters are usual ones.

    >>> guess_encoding("Größe, très été".encode("cp1252")), guess_encoding("красный мяч".encode("cp1251"))
    ('cp1252', 'cp1251')
    """
    sample = data[:_SAMPLED]
    runs = [len(run) for run in re.findall(rb"[\x80-\xff]+", sample)]
    if sum(length for length in runs if length > 2) * 2 <= sum(runs) and not _NOT_IN_CP1252.search(sample):
        return _SECOND_GUESS
    for encoding, (_, first, last, least) in _ENCODINGS.items():
        foreign = re.sub(r"[\x00-\x7f]", "", sample.decode(encoding, errors="replace"))
        usual = sum(first <= sign.encode(encoding, "replace")[0] <= last for sign in foreign)
        if foreign and usual >= least * len(foreign):
            return encoding
    return _SECOND_GUESS


def _decoded(name: str, data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except LookupError:
        raise ConfigError(f"the encoding '{encoding}' is unknown; name one such as utf-8, cp1252 or gb18030.") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{name} is not {encoding} text ({error}); name another encoding.") from None


def csv_records(lines: Iterable[str], separator: str, number: int = 1) -> Iterator[tuple[int, list[str] | str]]:
    """Read the records of a CSV text: the number of the line each starts at, and its cells or what is wrong with it.

    After a broken record reading goes on with the next line, so that a quote that is not closed swallows nothing. A
    blank line is a record without cells. Lines are read as they are needed.

    Args:
        lines: with their ends.
        separator: between cells.
        number: of the first line.
    """
    source = iter(lines)
    ahead: deque[str] = deque()

    def window() -> Iterator[str]:
        yield from list(ahead)
        while len(ahead) < _LONGEST_RECORD and (line := next(source, None)) is not None:
            ahead.append(line)
            yield line

    while True:
        if not ahead and (first := next(source, None)) is not None:
            ahead.append(first)
        if not ahead:
            return
        cells, used = _record(window(), separator)
        yield number, cells
        for _ in range(used):
            ahead.popleft()
        number += used


def _record(lines: Iterator[str], separator: str) -> tuple[list[str] | str, int]:
    """The cells of the record that starts at a line, or what is wrong with it, and how many lines it spans."""
    before = csv.field_size_limit(_LONGEST_CELL)
    reader = csv.reader(lines, delimiter=separator, strict=True)
    try:
        return next(reader), reader.line_num
    except csv.Error as error:
        unclosed = "unexpected end" in str(error) or "expected after" in str(error)
        return "has a quote that is not closed" if unclosed else f"is not a valid record ({error})", 1
    finally:
        csv.field_size_limit(before)


def read_csv(name: str, data: bytes, encoding: str | None = None) -> Table:
    """Read a table with commas, or semicolons, tabs or bars where its first line has more of them."""
    return _delimited(name, data, encoding, ",;\t|")


def read_tsv(name: str, data: bytes, encoding: str | None = None) -> Table:
    """Read a table with tabs."""
    return _delimited(name, data, encoding, "\t")


def _delimited(name: str, data: bytes, encoding: str | None, separators: str) -> Table:
    text = decode_lines(name, data, encoding)
    problems = list(text.problems)
    lines, number = text.lines, 1
    while lines and not lines[0].strip():
        lines, number = lines[1:], number + 1
    if not lines:
        raise DataError(f"{name} is empty; give a table with a line of column names.")
    stated = _STATED_SEPARATOR.fullmatch(lines[0].strip())  # as spreadsheets write it
    if stated is not None:
        lines, number, separators = lines[1:], number + 1, stated[1]
    start, separator = _start(lines, separators)
    if start:
        reason = f"{start} line{'s' if start > 1 else ''} before that of the column names; left out"
        problems.append(Problem("note", f"{name}, line {number}", reason))
    records = csv_records(lines[start:], separator, number + start)
    first, header = next(records, (0, []))
    if isinstance(header, str):
        raise DataError(f"{name}: its line of column names {header}; write it again.")
    if any(is_media_name(cell.strip()) for cell in header):
        problems.append(Problem("note", f"{name}, line {first}", "names a file, so the columns have no names"))
        records = csv_records(lines[start:], separator, number + start)
        columns: tuple[str, ...] = tuple(f"column {each}" for each in range(1, len(header) + 1))
    else:
        columns = _column_names(name, header, problems)
    rows: list[Row] = []
    for number, cells in records:
        if not isinstance(cells, str) and any(cell.strip() for cell in cells):
            while len(cells) > len(columns) and not cells[-1].strip():
                cells.pop()
            if len(cells) == len(columns):
                rows.append(Row(number, {key: cell.strip() or None for key, cell in zip(columns, cells, strict=True)}))
                continue
            cells = f"has {len(cells)} cells where there are {len(columns)} columns"
        if isinstance(cells, str):
            problems.append(Problem("row", f"{name}, line {number}", cells))
    return Table(name, columns, rows, problems)


def _start(lines: Sequence[str], separators: str) -> tuple[int, str]:
    """How many lines stand before that of the column names, and what separates cells.

    A title is alone on its line; most records below the names have as many cells as there are names.
    """
    usual = max(separators, key=lines[0].count)
    if _filled(lines, usual)[0][0] > 1:
        return 0, usual
    for start in range(1, min(_LONGEST_TITLE, len(lines))):
        for separator in separators:
            counts = _filled(lines[start:], separator) if lines[start].strip() else []
            alike = sum(cells == counts[0][1] for _, cells in counts[1:]) if counts else 0
            if counts and counts[0][0] > 1 and alike * 2 > len(counts) - 1:
                return start, separator
    return 0, usual


def _filled(lines: Sequence[str], separator: str) -> list[tuple[int, int]]:
    """How many cells of the first records are filled, and how many there are; blank lines are passed over."""
    records = (cells for _, cells in csv_records(lines, separator) if isinstance(cells, list) and any(cells))
    return [(sum(bool(cell.strip()) for cell in cells), len(cells)) for cells in islice(records, _RECORDS_LOOKED_AT)]


def _column_names(name: str, header: list[str], problems: list[Problem]) -> tuple[str, ...]:
    """The names of the columns; one without a name, or with that of another, is named by its number."""
    columns: list[str] = []
    for number, written in enumerate(header, start=1):
        column = written.strip()
        while not column or column in columns:
            column = f"{column or 'column'} {number}"
        if column != written.strip():
            reason = f"has {'the name of another' if written.strip() else 'no name'} and is called '{column}'"
            problems.append(Problem("note", f"{name}, column {number}", reason))
        columns.append(column)
    return tuple(columns)
