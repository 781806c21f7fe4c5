"""Compile a condition to SQL, for SQLite and for PostgreSQL.

Every key, value and pattern is a parameter, so that nothing can be injected. A list of values is one parameter, too:
the text of a statement does not grow with it, and a database looks each value up in a table made from it once.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, assert_never

from diptych.index.filters import (
    And,
    Comparison,
    Condition,
    In,
    Key,
    Like,
    Missing,
    Not,
    Or,
    Value,
    kind_of,
    regex_of,
)

Parameter = str | int | float

_SQLITE_TYPES = {"text": "'text'", "number": "'integer', 'real'", "boolean": "'true', 'false'"}
"""What SQLite's JSON functions call the kinds of our literals."""
_JSONB_TYPES = {"text": "string", "number": "number", "boolean": "boolean"}
"""What jsonb_typeof calls them."""
_JSONB_READ = {
    "text": "({} #>> '{{}}') COLLATE \"C\"",
    "number": "({} #>> '{{}}')::numeric",
    "boolean": "({})::boolean",
}
"""How a jsonb value of each kind is read."""
_MOST_CONTAINED = 16
"""So many values are looked for one by one, which a GIN index answers; more are looked up in a hash table."""


def _combined(part: And | Or | Not, compiled: Callable[[Condition], str]) -> str:
    """Join the expressions of the inner conditions, which `compiled` gives."""
    if isinstance(part, Not):
        return f"(NOT {compiled(part.part)})"
    return "(" + (" AND " if isinstance(part, And) else " OR ").join(map(compiled, part.parts)) + ")"


def to_sqlite(condition: Condition) -> tuple[str, list[Parameter]]:
    """Return an expression over a table with columns `id`, `modality`, `metadata` (JSON), and its parameters."""
    parameters: list[Parameter] = []

    def bind(value: Parameter) -> str:
        parameters.append(value)
        return f"?{len(parameters)}"

    def compiled(part: Condition) -> str:
        match part:
            case And() | Or() | Not():
                return _combined(part, compiled)
            case Missing(key):
                if key.column:
                    return "(0)"
                return f"(COALESCE(json_type(metadata, {bind(_sqlite_path(key))}), 'null') = 'null')"
            case Comparison(key, sign, value):
                return test(key, kind_of(value), f"{sign} {{}}", _sqlite_value(value))
            case In(key, values):
                return within(key, values)
            case Like(key, pattern):
                return test(key, "text", "LIKE {}", pattern)
            case _:
                assert_never(part)

    def within(key: Key, values: tuple[Value, ...]) -> str:
        tests = []
        for kind, alike in _by_kind(values).items():
            listed = json.dumps([_sqlite_value(value) for value in alike], ensure_ascii=False)
            tests.append(test(key, kind, "IN (SELECT value FROM json_each({}))", listed))
        return "(" + " OR ".join(tests) + ")"

    def test(key: Key, kind: str, template: str, value: Parameter) -> str:
        if key.column and kind != "text":
            return "(0)"
        comparison = template.format(bind(value))
        if key.column:
            return f"({key.column} {comparison})"
        types, path = _SQLITE_TYPES[kind], bind(_sqlite_path(key))
        return (
            f"(CASE WHEN json_type(metadata, {path}) IN ({types}) THEN json_extract(metadata, {path}) {comparison}"
            f" WHEN json_type(metadata, {path}) = 'array' THEN EXISTS(SELECT 1 FROM json_each(metadata, {path}) AS e"
            f" WHERE e.type IN ({types}) AND e.value {comparison}) ELSE 0 END)"
        )

    return compiled(condition), parameters


def to_postgresql(condition: Condition) -> tuple[str, list[Any]]:
    """Return an expression over columns `id`, `modality`, `metadata` (jsonb), and its parameters in order."""
    parameters: list[Any] = []

    def bind(value: object, type: str) -> str:
        parameters.append(value)
        return f"%s::{type}"

    def compiled(part: Condition) -> str:
        match part:
            case And() | Or() | Not():
                return _combined(part, compiled)
            case Missing(key):
                if key.column:
                    return "(false)"
                return f"(COALESCE(jsonb_typeof({bound_path(key)}), 'null') = 'null')"
            case Comparison(key, "=", value):
                return within(key, (value,))
            case Comparison(key, sign, value):
                return test(key, kind_of(value), sign, value)
            case In(key, values):
                return within(key, values)
            case Like(key, pattern):  # its own LIKE knows the backslash, and no way to match only A to Z in either case
                return test(key, "text", "~", f"^{regex_of(pattern)}$")
            case _:
                assert_never(part)

    def bound_path(key: Key) -> str:
        # Strict: a name never looks into the elements of a list, and silent: what is not there is null.
        return f"jsonb_path_query_first(metadata, {bind(_postgresql_path(key), 'jsonpath')}, '{{}}', true)"

    def within(key: Key, values: Sequence[Value]) -> str:
        if key.column:
            texts = [value for value in values if isinstance(value, str)]
            return f"({key.column} = ANY({bind(texts, 'text[]')}))"
        if len(values) > _MOST_CONTAINED:
            return among(key, json.dumps(list(values)))
        # Containment is what a GIN index answers; a value is looked for by itself and as an element of a list.
        shapes = [json.dumps(_nested(key.path, shape)) for value in values for shape in (value, [value])]
        return "(" + " OR ".join(f"metadata @> {bind(shape, 'jsonb')}" for shape in shapes) + ")"

    def among(key: Key, listed: str) -> str:
        def found(value: str) -> str:
            return f"{value} IN (SELECT jsonb_array_elements({bind(listed, 'jsonb')}))"

        return (
            "(SELECT COALESCE(CASE WHEN jsonb_typeof(v) = 'array' THEN EXISTS(SELECT 1 FROM jsonb_array_elements(v)"
            " AS e WHERE {many}) ELSE {one} END, false) FROM (SELECT {path} AS v OFFSET 0) AS found)"
        ).format(many=found("e"), one=found("v"), path=bound_path(key))

    def test(key: Key, kind: str, sign: str, value: Value) -> str:
        if key.column:
            return f"({key.column} {sign} {bind(value, 'text')})" if kind == "text" else "(false)"
        type, read = _JSONB_TYPES[kind], _JSONB_READ[kind]
        literal_type = {"text": "text", "number": "numeric", "boolean": "boolean"}[kind]

        def compared(found: str) -> str:
            literal = bind(repr(value) if kind == "number" else value, literal_type)
            return f"{read.format(found)} {sign} {literal}"

        # CASE, not AND: it alone promises that nothing is read as what it is not.
        return (
            f"(SELECT CASE jsonb_typeof(v) WHEN '{type}' THEN {{one}} WHEN 'array' THEN EXISTS(SELECT 1"
            f" FROM jsonb_array_elements(v) AS e WHERE CASE WHEN jsonb_typeof(e) = '{type}' THEN {{many}} ELSE false"
            f" END) ELSE false END FROM (SELECT {{path}} AS v OFFSET 0) AS found)"
        ).format(one=compared("v"), many=compared("e"), path=bound_path(key))

    return compiled(condition), parameters


def _by_kind(values: Sequence[Value]) -> dict[str, list[Value]]:
    kinds: dict[str, list[Value]] = {}
    for value in values:
        kinds.setdefault(kind_of(value), []).append(value)
    return kinds


def _sqlite_path(key: Key) -> str:
    """Names go between double quotes, which no name contains."""
    return "$" + "".join(f'."{name}"' for name in key.path)


def _sqlite_value(value: Value) -> Parameter:
    """JSON's true and false are 1 and 0 in SQLite."""
    return int(value) if isinstance(value, bool) else value


def _postgresql_path(key: Key) -> str:
    return "strict $" + "".join("." + json.dumps(name) for name in key.path)


def _nested(path: tuple[str, ...], value: object) -> object:
    for name in reversed(path):
        value = {name: value}
    return value
