"""What Milvus cannot find out about metadata itself, kept in a second field of the same shape.

Where the metadata has a list, it has the least and the most of the list's numbers and texts; where null, or an empty
list or object, it says so.
"""

from collections.abc import Mapping
from typing import Any

from diptych._core.errors import DataError

LEAST = {"number": "least_number", "text": "least_text"}
MOST = {"number": "most_number", "text": "most_text"}
NULL, EMPTY = "null", "empty"
_WIDEST_INTEGER = 2**63


def spans_of(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The spans of one item.

    >>> spans_of({"tags": ["b", "a"], "year": 2000, "deep": {"x": None}})
    {'tags': {'least_text': 'a', 'most_text': 'b'}, 'deep': {'x': {'null': True}}}
    """
    return {key: found for key, value in metadata.items() if (found := _span(value))}


def _span(value: object) -> dict[str, Any]:
    match value:
        case None:
            return {NULL: True}
        case Mapping():
            return spans_of(value) if value else {EMPTY: True}
        case list() | tuple():
            return _ends(value) if value else {EMPTY: True}
        case bool() | str() | float():
            return {}
        case int():
            _check_integer(value)
            return {}
    return {}


def _ends(values: list[Any] | tuple[Any, ...]) -> dict[str, Any]:
    ends: dict[str, Any] = {}
    for inner in values:
        if isinstance(inner, int | Mapping | list | tuple):
            _span(inner)  # for its check of integers
    kinds: dict[str, list[Any]] = {
        "number": [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)],
        "text": [value for value in values if isinstance(value, str)],
    }
    for kind, alike in kinds.items():
        if alike:
            ends |= {LEAST[kind]: min(alike), MOST[kind]: max(alike)}
    return ends


def _check_integer(value: int) -> None:
    if not -_WIDEST_INTEGER <= value < _WIDEST_INTEGER:
        raise DataError(f"the metadata holds the whole number {value}, too large for Milvus; write it as a text.")
