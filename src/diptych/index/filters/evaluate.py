"""Does an item meet a condition? Plain Python: the meaning of the language, which every engine must agree with."""

import operator
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, assert_never

from diptych.index.filters.patterns import regex_of
from diptych.index.filters.syntax import And, Comparison, Condition, In, Key, Like, Missing, Not, Or, Value, kind_of

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def matches(condition: Condition, id: str, modality: str, metadata: Mapping[str, Any]) -> bool:
    """Whether an item with this id, modality and metadata meets the condition."""
    item = {**metadata, "id": id, "modality": modality}

    def holds(part: Condition) -> bool:
        match part:
            case And(parts):
                return all(holds(inner) for inner in parts)
            case Or(parts):
                return any(holds(inner) for inner in parts)
            case Not(inner):
                return not holds(inner)
            case Missing(key):
                return _look_up(item, key) is None
            case Comparison(key, sign, value):
                compare = _OPERATORS[sign]
                return any(_alike(found, value) and compare(found, value) for found in _elements(item, key))
            case In(key, values):
                return any(
                    _alike(found, value) and found == value for found in _elements(item, key) for value in values
                )
            case Like(key, pattern):
                regex = _regex(pattern)
                return any(isinstance(found, str) and bool(regex.fullmatch(found)) for found in _elements(item, key))
            case _:
                assert_never(part)

    return holds(condition)


def _look_up(item: Mapping[str, Any], key: Key) -> Any:  # noqa: ANN401 - whatever JSON can hold
    found: Any = item
    for name in key.path:
        if not isinstance(found, Mapping):
            return None
        found = found.get(name)
    return found


def _elements(item: Mapping[str, Any], key: Key) -> list[Any]:
    found = _look_up(item, key)
    return found if isinstance(found, list) else [found]


def _alike(found: Any, value: Value) -> bool:  # noqa: ANN401 - whatever JSON can hold
    return isinstance(found, str | int | float) and kind_of(found) == kind_of(value)


@lru_cache(maxsize=64)
def _regex(pattern: str) -> re.Pattern[str]:
    return re.compile(regex_of(pattern), re.DOTALL)
