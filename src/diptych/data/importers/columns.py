"""Choose columns of a table by name or pattern."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from diptych._core.errors import DataError
from diptych.data.importers.references import Reference

_SHOWN = 12


def choose_columns(reference: Reference, header: Sequence[str] | None) -> list[int]:
    """The columns a part such as `image_*` or `width,height` names, in the file's order."""
    if header is None:
        raise DataError(f"{reference.path} has no header line, so ':{reference.part}' names no column; add one.")
    patterns = [pattern.strip() for pattern in (reference.part or "*").split(",")]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in header):
            raise DataError(f"{reference.path} has no column '{pattern}'; it has {_listing(header)}.")
    return [i for i, name in enumerate(header) if any(fnmatchcase(name, pattern) for pattern in patterns)]


def choose_column(reference: Reference, header: Sequence[str] | None, width: int) -> int:
    """The single column a part names; a table of one column needs no name."""
    if reference.part is None and width == 1:
        return 0
    if reference.part is None:
        names = "" if header is None else f" ({_listing(header)})"
        raise DataError(f"{reference.path} has {width} columns{names}; name one, as in {reference.path.name}:label.")
    exact = [i for i, name in enumerate(header or ()) if name == reference.part]
    positions = exact or choose_columns(reference, header)
    if len(positions) != 1:
        raise DataError(f"{reference} fits {len(positions)} columns; name exactly one.")
    return positions[0]


def _listing(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown or "none"
