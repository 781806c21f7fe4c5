"""Tables in Markdown, and drawings that are the same to the byte wherever the same figures are drawn."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diptych._core.errors import ConfigError, optional_package

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Distinguishable to colour-blind readers, too."""

_FORMATS: dict[str, dict[str, Any]] = {
    "svg": {"metadata": {"Date": None, "Creator": None}},
    "png": {"metadata": {"Software": None}, "dpi": 150},
}


def new_figure(**options: Any) -> "Figure":  # noqa: ANN401 - as Matplotlib has them
    """Make an empty figure.

    Raises:
        ConfigError: when Matplotlib is not installed; the message names the extra.
    """
    figure: Figure = optional_package("matplotlib.figure", "drawing", "plots").Figure(**options)
    return figure


def drawing_style() -> AbstractContextManager[None]:
    """Draw and save inside it: ids from a fixed salt, letters as shapes, and no name read as a formula.

    Raises:
        ConfigError: when Matplotlib is not installed; the message names the extra.
    """
    style: AbstractContextManager[None] = optional_package("matplotlib", "drawing", "plots").rc_context(
        {"svg.hashsalt": "diptych", "svg.fonttype": "path", "text.parse_math": False, "font.size": 9}
    )
    return style


def save_drawing(figure: "Figure", path: Path) -> None:
    """Write a drawing, whole or not at all, in the format that its name ends with: .svg or .png."""
    from diptych._core.files import atomic_file  # it imports NumPy, which tables do not need

    kind = path.suffix.removeprefix(".").lower()
    if kind not in _FORMATS:
        raise ConfigError(f"{path.name} ends with '{path.suffix}'; drawings are written as .svg or .png.")
    with atomic_file(path) as temporary:
        figure.savefig(temporary, format=kind, **_FORMATS[kind])


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


def with_interval(value: float, interval: Sequence[float]) -> str:
    """Write a score and its interval.

    >>> with_interval(0.25, (0.2, 0.3))
    '0.250 (0.200–0.300)'
    """
    return f"{value:.3f} ({interval[0]:.3f}–{interval[1]:.3f})"


def escape(text: object) -> str:
    """Replace what would be read as markup or break a table by spaces.

    >>> escape("a|b <i>c</i>")
    'a b i c /i'
    """
    return " ".join("".join(" " if character in "|`<>" else character for character in str(text)).split())
