"""Every Python block of the documentation runs, and prints what the block after it says.

With DIPTYCH_WRITE_OUTPUTS=1 the blocks of output are written anew instead.
"""

import ast
import contextlib
import io
import math
import os
import re

import pytest

from docs.pages import PAGES, Piece, name_of, pieces

WITH_PYTHON = [page for page in PAGES if any(piece.kind == "python" for piece in pieces(page))]
_NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")
_TOLERANCE = 0.05


@pytest.mark.parametrize("page", WITH_PYTHON, ids=name_of)
def test_a_page_runs_from_top_to_bottom(page, reader, bring) -> None:
    names: dict = {"__name__": "__docs__"}
    printed, after_python, skip, outputs = "", False, False, []
    for piece in pieces(page):
        if piece.kind == "needs":
            bring([name.strip() for name in piece.content.split(",")])
        elif piece.kind == "skip":
            assert piece.content, f"{name_of(page)}:{piece.line} skips a block without saying why"
            skip = True
        elif piece.kind == "python" and skip:
            ast.parse(piece.content)
            skip, after_python = False, False
        elif piece.kind in ("python", "setup"):
            printed, after_python = run(piece, page, names), piece.kind == "python"
        else:
            if piece.kind == "text" and after_python and os.environ.get("DIPTYCH_WRITE_OUTPUTS"):
                outputs.append((piece, printed))
            elif piece.kind == "text" and after_python:
                assert_alike(printed, piece.content, f"{name_of(page)}:{piece.line}")
            after_python = False
    write(page, outputs)


def write(page, outputs: list[tuple[Piece, str]]) -> None:
    """Put what was printed into a page, from its end to its beginning."""
    lines = page.read_text(encoding="utf-8").splitlines(keepends=True)
    for piece, printed in reversed(outputs):
        first = piece.line - 1
        lines[first : first + piece.content.count("\n")] = printed.splitlines(keepends=True)
    if outputs:
        page.write_text("".join(lines), encoding="utf-8")


def run(piece: Piece, page, names: dict) -> str:
    """Run a block; what it printed."""
    padded = "\n" * (piece.line - 1) + piece.content
    code = compile(padded, str(page), "exec")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, names)
    return printed.getvalue()


def assert_alike(found: str, said: str, where: str) -> None:
    """Compare what was printed with what the page says: words exactly, numbers with a fraction nearly."""
    found, said = (" ".join(text.split()) for text in (found, said))
    assert _NUMBER.sub("#", found) == _NUMBER.sub("#", said), f"{where} says something else than is printed"
    for mine, theirs in zip(_NUMBER.findall(found), _NUMBER.findall(said), strict=True):
        near = math.isclose(float(mine), float(theirs), rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
        assert near, f"{where} says {theirs}, and {mine} is printed"


def test_outputs_are_compared() -> None:
    assert_alike("a 0.51\nb 3", "a 0.53  b 3", "here")
    for found, said in [("a 0.51", "a 0.61"), ("a 0.51", "b 0.51"), ("b 3", "b 4"), ("", "a")]:
        with pytest.raises(AssertionError, match="here says"):
            assert_alike(found, said, "here")
