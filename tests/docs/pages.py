"""The pages of the documentation, cut into what a reader would run.

Comments say what a test needs and a reader does not:

    <!-- needs: data/mine, indexes/mine -->     folders that lie beside the reader (see `prepared`)
    <!-- setup
    x = 1
    -->                                          lines to run at this place
    <!-- skip: why -->                           do not run the next block
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

_PIECE = re.compile(
    r"^<!--\s*(?P<word>needs|skip):(?P<said>.*?)-->"
    r"|^<!--\s*setup\n(?P<setup>.*?)^-->"
    r"|^(?P<indent> *)```(?P<language>\w*)(?P<more>[^\n]*)\n(?P<code>.*?)^(?P=indent)```\s*$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Piece:
    """A part of a page that means something to a test.

    Attributes:
        kind: "needs", "skip", "setup", "file" for what a file holds, or the language of a block.
        content: what it holds.
        line: where it starts in its page.
    """

    kind: str
    content: str
    line: int


def name_of(page: Path) -> str:
    """A page's name in the list of tests."""
    return page.relative_to(ROOT).as_posix()


def pieces(page: Path) -> list[Piece]:
    """The comments and blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _PIECE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match["word"]:
            found.append(Piece(match["word"], match["said"].strip(), line))
        elif match["setup"] is not None:
            found.append(Piece("setup", match["setup"], line))
        else:
            indent = match["indent"]
            code = "".join(row.removeprefix(indent) for row in match["code"].splitlines(keepends=True))
            kind = "file" if "file=" in match["more"] else match["language"]
            found.append(Piece(kind, code, line + 1))
    return found


def console_commands(piece: Piece) -> Iterator[tuple[int, str]]:
    """The commands of a console block: those after a `$`, with the lines they go on in."""
    rows = piece.content.splitlines()
    for number, row in enumerate(rows):
        if not row.startswith("$ "):
            continue
        command, at = row[2:], number
        while command.endswith("\\") and at + 1 < len(rows):
            at += 1
            command = command[:-1] + " " + rows[at].strip()
        yield piece.line + number, command


def inline_commands(page: Path) -> Iterator[tuple[int, str]]:
    """The commands that stand in a sentence: `diptych …`."""
    text = page.read_text(encoding="utf-8")
    prose = re.sub(r"^ *```.*?^ *```", lambda block: "\n" * block[0].count("\n"), text, flags=re.MULTILINE | re.DOTALL)
    for match in re.finditer(r"`(diptych [^`]+)`", prose):
        yield prose.count("\n", 0, match.start()) + 1, " ".join(match[1].split())


def diptych_arguments(command: str) -> list[list[str]]:
    """The arguments of every call of diptych in a shell command; comments and other programs are left out."""
    tokens = shlex.split(command, comments=True)
    calls: list[list[str]] = []
    open_call = False
    for token in tokens:
        if token in ("|", "&&", ";", "&", ">", ">>", "<"):
            open_call = False
        elif token == "diptych" and not open_call:
            calls.append([])
            open_call = True
        elif open_call:
            calls[-1].append(token)
    return calls
