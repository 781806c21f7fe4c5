"""What a condition is once it is parsed, and what it means.

Conditions are true or false, never unknown. A comparison holds if the key is there and its value, or one element of it
where the value is a list, has the kind of the literal (text, number or boolean) and compares so. `!=` and `not in` are
the negations of `=` and `in`: an item without the key passes them.

`matches` evaluates a condition in plain Python: the meaning of the language, which every engine must agree with.
"""

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, assert_never

Value = str | int | float | bool
Operator = Literal["=", "<", "<=", ">", ">="]

COLUMNS = ("id", "modality")
"""Keys that every item has beside its metadata."""


@dataclass(frozen=True)
class Key:
    """What is looked at: `id`, `modality`, or a metadata key; several names step into nested objects."""

    path: tuple[str, ...]

    @property
    def column(self) -> str | None:
        """The name of the item's own field, None for a metadata key."""
        return self.path[0] if len(self.path) == 1 and self.path[0] in COLUMNS else None


@dataclass(frozen=True)
class Comparison:
    """`key < value` and the like."""

    key: Key
    operator: Operator
    value: Value


@dataclass(frozen=True)
class In:
    """`key in (value, value)`."""

    key: Key
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Like:
    """`key like 'pattern'`: % stands for any characters, _ for one; the letters A to Z match in either case."""

    key: Key
    pattern: str


@dataclass(frozen=True)
class Missing:
    """`key is null`: the key is absent, or its value is null."""

    key: Key


@dataclass(frozen=True)
class Not:
    """`not part`."""

    part: "Condition"


@dataclass(frozen=True)
class And:
    """All parts hold."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True)
class Or:
    """Some part holds."""

    parts: tuple["Condition", ...]


Condition = Comparison | In | Like | Missing | Not | And | Or


def kind_of(value: Value) -> Literal["text", "number", "boolean"]:
    """The kind a literal has; values of other kinds never match it."""
    if isinstance(value, bool):
        return "boolean"
    return "text" if isinstance(value, str) else "number"


_SIGNS = {"%": ".*", "_": "."}


def regex_of(pattern: str) -> str:
    """The body of an expression that has to match a whole text."""
    return "".join(_SIGNS.get(sign) or _either_case(sign) for sign in pattern)


def _either_case(sign: str) -> str:
    if sign.isascii() and sign.isalpha():
        return f"[{sign.lower()}{sign.upper()}]"
    return re.escape(sign)


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
