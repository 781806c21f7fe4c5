"""Compile a condition to the expressions of Milvus, which can say less than our conditions.

What Milvus cannot say is widened: the server then returns some items too many, and `matches` sorts them out. So each
part is compiled either to hold at least where it should (wide) or at most there (narrow), and `not` swaps the two.

What Milvus cannot find out about metadata itself is stored in a second field of the same shape, the spans: where the
metadata has a list, the least and the most of the list's numbers and texts; where null, or an empty list or object,
that it is so.

Nothing from outside reaches an expression but numbers and texts in quotes, whose quotes and backslashes are escaped.
"""

import json
import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from diptych._core.errors import DataError
from diptych.index.filters import And, Comparison, Condition, In, Key, Like, Missing, Not, Or, Value, kind_of

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


ALWAYS, NEVER = 'id != ""', 'id == ""'
"""No id is empty."""
_NO_STEP = re.compile(r"\d+|.*[~/].*", re.DOTALL)
"""Names that Milvus would take for the place in a list, or for a path."""
_COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@dataclass(frozen=True)
class Expression:
    """What the server is asked for; if it is not exact, what it returns must be checked."""

    text: str
    exact: bool = True


def to_milvus(condition: Condition | None) -> Expression:
    """An expression over the fields `id`, `modality`, `metadata` (JSON) and `spans` (JSON, see spans.py)."""
    return Expression("") if condition is None else _compiled(condition, wide=True)


def one_of(column: str, texts: list[str]) -> str:
    """Items whose id, or whose modality, is one of these."""
    return f"{column} in {_list(texts)}" if texts else NEVER


def _compiled(part: Condition, *, wide: bool) -> Expression:
    match part:
        case And(parts):
            return _joined(" and ", parts, wide)
        case Or(parts):
            return _joined(" or ", parts, wide)
        case Not(inner):
            turned = _compiled(inner, wide=not wide)
            return Expression(f"(not {turned.text})", turned.exact)
        case Missing(key):
            return _or_wider(_missing(key), wide)
        case Comparison(key, "=", value):
            return _or_wider(_within(key, (value,)), wide)
        case Comparison(key, sign, bool() as value):  # Milvus does not compare truth values: list those that fit
            fitting = tuple(truth for truth in (False, True) if _COMPARE[sign](truth, value))
            return _or_wider(_within(key, fitting) if fitting else NEVER, wide)
        case Comparison(key, sign, value):
            return _or_wider(_compared(key, sign, value), wide)
        case In(key, values):
            return _or_wider(_within(key, values), wide)
        case Like(key, _):  # its patterns know prefixes only, and tell small letters from capital ones
            return _or_wider(None, wide)
        case _:
            assert_never(part)


def _joined(word: str, parts: tuple[Condition, ...], wide: bool) -> Expression:
    inner = [_compiled(part, wide=wide) for part in parts]
    return Expression("(" + word.join(part.text for part in inner) + ")", all(part.exact for part in inner))


def _or_wider(text: str | None, wide: bool) -> Expression:
    """What cannot be said holds always or never, whichever leaves the answer to the check afterwards."""
    if text is None:
        return Expression(f"({ALWAYS if wide else NEVER})", exact=False)
    return Expression(f"({text})")


def _missing(key: Key) -> str | None:
    if key.column:
        return NEVER
    place, spans = _place("metadata", key), _place("spans", key)
    if place is None or spans is None:
        return None
    # Servers differ on whether null and what is empty exist; `spans` tells them apart.
    return f'((not (exists {place})) and (not ({spans}["{EMPTY}"] == true))) or ({spans}["{NULL}"] == true)'


def _within(key: Key, values: tuple[Value, ...]) -> str | None:
    if key.column:
        return one_of(key.column, [value for value in values if isinstance(value, str)])
    place, tests = _place("metadata", key), []
    if place is None:
        return None
    spelt = [spelling for value in values for spelling in _spellings(value)]
    for kind in dict.fromkeys(map(type, spelt)):  # the server breaks where a list mixes 1 and 0.5
        listed = _list([value for value in spelt if type(value) is kind])
        tests += [f"({place} in {listed})", f"json_contains_any({place}, {listed})"]
    return f"(exists {place}) and ({' or '.join(tests)})"


def _spellings(value: Value) -> list[Value]:
    """In lists, the server distinguishes 1 from 1.0."""
    if isinstance(value, bool | str):
        return [value]
    if isinstance(value, int):
        return [value, float(value)] if float(value) == value else [value]
    return [value, int(value)] if value.is_integer() and abs(value) < 2**63 else [value]


def _compared(key: Key, sign: str, value: Value) -> str | None:
    literal = _literal(value)
    if key.column:
        return f"{key.column} {sign} {literal}" if isinstance(value, str) else NEVER
    place, spans = _place("metadata", key), _place("spans", key)
    if place is None or spans is None:
        return None
    # A list has an element below a value if its least one is.
    end = f'{spans}["{(LEAST if sign[0] == "<" else MOST)[kind_of(value)]}"]'
    return f"((exists {place}) and ({place} {sign} {literal})) or ((exists {end}) and ({end} {sign} {literal}))"


def _place(field: str, key: Key) -> str | None:
    if any(_NO_STEP.fullmatch(name) for name in key.path):
        return None
    return field + "".join(f"[{_literal(name)}]" for name in key.path)


def _list(values: Sequence[Value]) -> str:
    return f"[{', '.join(map(_literal, values))}]"


def _literal(value: Value) -> str:
    return json.dumps(value, ensure_ascii=False)
