"""Drawings that are the same to the byte wherever the same figures are drawn."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from diptych._core.errors import ConfigError
from diptych._core.files import atomic_file

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Told apart by everybody."""

_FORMATS: dict[str, dict[str, Any]] = {
    "svg": {"metadata": {"Date": None, "Creator": None}},
    "png": {"metadata": {"Software": None}, "dpi": 150},
}


def drawing_style() -> AbstractContextManager[None]:
    """Draw and save inside it: ids from a fixed salt, letters as shapes, and no name read as a formula."""
    return rc_context({"svg.hashsalt": "diptych", "svg.fonttype": "path", "text.parse_math": False, "font.size": 9})


def save_drawing(figure: Figure, path: Path) -> None:
    """Write a drawing, whole or not at all, in the format that its name ends with: .svg or .png."""
    kind = path.suffix.removeprefix(".").lower()
    if kind not in _FORMATS:
        raise ConfigError(f"{path.name} ends with '{path.suffix}'; drawings are written as .svg or .png.")
    with atomic_file(path) as temporary:
        figure.savefig(temporary, format=kind, **_FORMATS[kind])
