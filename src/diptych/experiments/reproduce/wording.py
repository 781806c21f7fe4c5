"""Numbers, names and tables as Markdown."""

from collections.abc import Iterable, Mapping, Sequence


def show_p(p: float) -> str:
    """A p-value in words.

    >>> show_p(0.0002), show_p(0.0412)
    ('p < 0.001', 'p = 0.041')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def plain(text: object) -> str:
    """Keep a foreign text from being read as markup or from breaking a table."""
    return " ".join("".join(" " if character in "|`<>" else character for character in str(text)).split())


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[str] = ()) -> list[str]:
    """The lines of a table; the columns named in `numbers` stand to the right."""
    rule = ["---:" if head in numbers else "---" for head in heads]
    return ["| " + " | ".join(cells) + " |" for cells in (heads, rule, *rows)]


def without_paths(text: str, places: Mapping[str, str]) -> str:
    """Put a word in the place of every folder of this machine, the longest first.

    >>> without_paths("/home/me/out/dataset is empty", {"/home/me/out": "REPORT"})
    'REPORT/dataset is empty'
    """
    for path in sorted((path for path in places if path not in ("", ".", "/")), key=len, reverse=True):
        text = text.replace(path, places[path])
    return text
