"""Many parameters in one query."""

from collections.abc import Iterator, Sequence

_AT_ONCE = 10_000
"""Parameters in one query; SQLite takes some 32,000."""


def chunks(values: Sequence[str] | Sequence[int]) -> Iterator[tuple[str, Sequence[str] | Sequence[int]]]:
    """Parts small enough for one `IN`, each with its question marks."""
    for start in range(0, len(values), _AT_ONCE):
        part = values[start : start + _AT_ONCE]
        yield ", ".join("?" * len(part)), part
