"""The lines of a text file, whatever it is encoded in."""

import codecs
import io
from dataclasses import dataclass
from pathlib import Path

from diptych._core.errors import ConfigError, DataError
from diptych.ingest.report import Problem

_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_SECOND_GUESS = "cp1252"


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

    A mark at the start tells UTF-16. Otherwise a line is UTF-8, or Windows-1252 with a note if it cannot be.

    Args:
        name: the file's name, for reports.
        data: its content.
        encoding: read all of it so; what does not fit is then an error.
    """
    marked = next((name for mark, name in _MARKS.items() if data.startswith(mark)), None)
    if encoding is not None or marked is not None:
        text = _whole(name, data, encoding or marked or "utf-8")
        return TextLines(list(io.StringIO(text, newline="")), [])
    lines, problems = [], []
    for number, raw in enumerate(data.removeprefix(codecs.BOM_UTF8).splitlines(keepends=True), start=1):
        try:
            lines.append(raw.decode("utf-8"))
        except UnicodeDecodeError:
            lines.append(raw.decode(_SECOND_GUESS, errors="replace"))
            reason = "is not UTF-8 and was read as Windows-1252; name the encoding with --encoding if that is wrong"
            problems.append(Problem("note", f"{name}, line {number}", reason))
    return TextLines(lines, problems)


def _whole(name: str, data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except LookupError:
        raise ConfigError(f"the encoding '{encoding}' is unknown; name one such as utf-8, cp1252 or gb18030.") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{name} is not {encoding} text ({error}); name another encoding.") from None
