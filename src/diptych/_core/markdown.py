"""Markdown: tables, and foreign text that must not be read as markup."""

from collections.abc import Iterable, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[str] | None = None) -> list[str]:
    """Return the lines of a table.

    Args:
        heads: the column names.
        rows: the cells, already escaped.
        numbers: the columns that are aligned right; all but the first if not given.

    >>> table(["method", "MAP"], [["cca", "0.243"]])
    ['| method | MAP |', '| --- | ---: |', '| cca | 0.243 |']
    """
    right = set(heads[1:] if numbers is None else numbers)
    rule = ["---:" if head in right else "---" for head in heads]
    return ["| " + " | ".join(cells) + " |" for cells in (heads, rule, *rows)]


def escape(text: object) -> str:
    """Replace what would be read as markup or break a table by spaces.

    >>> escape("a|b <i>c</i>")
    'a b i c /i'
    """
    return " ".join("".join(" " if character in "|`<>" else character for character in str(text)).split())
