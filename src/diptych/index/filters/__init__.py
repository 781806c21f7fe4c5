"""Conditions on items, such as `split = 'train' and label in ('river', 'pond')`: one language for every engine.

Conditions are true or false, never unknown. A comparison holds if the key is there and its value, or one element of it
where the value is a list, has the kind of the literal (text, number or boolean) and compares so. `!=` and `not in` are
the negations of `=` and `in`: an item without the key passes them.

`matches` evaluates a condition in plain Python: the meaning of the language, which every engine must agree with.
"""

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
_A_TO_Z = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


def regex_of(pattern: str) -> str:
    """Return a pattern of `like` as the body of a regular expression, for an engine that matches in linear time."""
    return "".join(_SIGNS.get(sign) or _either_case(sign) for sign in pattern)


def _either_case(sign: str) -> str:
    if sign.isascii() and sign.isalpha():
        return f"[{sign.lower()}{sign.upper()}]"
    return re.escape(sign)


class LikeMatcher:
    """Matches texts with a pattern of `like` without backtracking.

    The parts between the % signs are looked for one after another, each at the first place it fits: no later place
    could help the parts that follow. The work is at most the length of the text times that of the pattern.
    """

    def __init__(self, pattern: str) -> None:
        parts = pattern.translate(_A_TO_Z).split("%")
        self._shortest = sum(map(len, parts))
        self._parts = [
            re.compile("".join("." if sign == "_" else re.escape(sign) for sign in part), re.DOTALL) for part in parts
        ]
        self._last = len(parts[-1])

    def matches(self, text: str) -> bool:
        """Whether a whole text fits the pattern; the letters A to Z fit in either case."""
        if len(text) < self._shortest:
            return False
        text = text.translate(_A_TO_Z)
        if len(self._parts) == 1:
            return len(text) == self._last and self._parts[0].match(text) is not None
        first = self._parts[0].match(text)
        end = len(text) - self._last
        if first is None or self._parts[-1].match(text, end) is None:
            return False
        place = first.end()
        for part in self._parts[1:-1]:
            found = part.search(text, place, end)
            if found is None:
                return False
            place = found.end()
        return True


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_Item = Mapping[str, Any]
"""Metadata with id and modality."""


def predicate(condition: Condition) -> Callable[[str, str, Mapping[str, Any]], bool]:
    """Compile a condition to a function of an item's id, modality and metadata, for many items."""
    holds = _compiled(condition)
    return lambda id, modality, metadata: holds({**metadata, "id": id, "modality": modality})


def matches(condition: Condition, id: str, modality: str, metadata: Mapping[str, Any]) -> bool:
    """Whether an item with this id, modality and metadata meets the condition."""
    return predicate(condition)(id, modality, metadata)


def _compiled(part: Condition) -> Callable[[_Item], bool]:
    match part:
        case And(parts):
            inner = [_compiled(each) for each in parts]
            return lambda item: all(holds(item) for holds in inner)
        case Or(parts):
            inner = [_compiled(each) for each in parts]
            return lambda item: any(holds(item) for holds in inner)
        case Not(negated):
            holds = _compiled(negated)
            return lambda item: not holds(item)
        case Missing(key):
            return lambda item: _look_up(item, key) is None
        case Comparison(key, sign, value):
            compare, kind = _OPERATORS[sign], kind_of(value)
            return lambda item: any(_is_a(kind, found) and compare(found, value) for found in _elements(item, key))
        case In(key, values):
            listed = {(kind_of(value), value) for value in values}
            return lambda item: any(
                isinstance(found, str | int | float) and (kind_of(found), found) in listed
                for found in _elements(item, key)
            )
        case Like(key, pattern):
            fits = LikeMatcher(pattern).matches
            return lambda item: any(isinstance(found, str) and fits(found) for found in _elements(item, key))
        case _:
            assert_never(part)


def _look_up(item: _Item, key: Key) -> Any:  # noqa: ANN401 - whatever JSON can hold
    found: Any = item
    for name in key.path:
        if not isinstance(found, Mapping):
            return None
        found = found.get(name)
    return found


def _elements(item: _Item, key: Key) -> list[Any]:
    found = _look_up(item, key)
    return found if isinstance(found, list) else [found]


def _is_a(kind: str, found: Any) -> bool:  # noqa: ANN401 - whatever JSON can hold
    return isinstance(found, str | int | float) and kind_of(found) == kind
