"""Compile a condition to PostgreSQL: every key, value and pattern is a parameter, so that nothing can be injected."""

import json
from collections.abc import Sequence
from typing import Any, assert_never

from diptych.index.filters.patterns import regex_of
from diptych.index.filters.syntax import And, Comparison, Condition, In, Key, Like, Missing, Not, Or, Value, kind_of

_TYPES = {"text": "string", "number": "number", "boolean": "boolean"}
"""What jsonb_typeof calls the kinds of our literals."""
_READ = {"text": "({} #>> '{{}}') COLLATE \"C\"", "number": "({} #>> '{{}}')::numeric", "boolean": "({})::boolean"}
"""How a jsonb value of each kind is read."""


def to_postgresql(condition: Condition) -> tuple[str, list[Any]]:
    """An expression over columns `id`, `modality` and `metadata` (jsonb), and its parameters in order."""
    parameters: list[Any] = []

    def bind(value: object, type: str) -> str:
        parameters.append(value)
        return f"%s::{type}"

    def compiled(part: Condition) -> str:
        match part:
            case And(parts):
                return "(" + " AND ".join(compiled(inner) for inner in parts) + ")"
            case Or(parts):
                return "(" + " OR ".join(compiled(inner) for inner in parts) + ")"
            case Not(inner):
                return f"(NOT {compiled(inner)})"
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
        return f"jsonb_path_query_first(metadata, {bind(_json_path(key), 'jsonpath')}, '{{}}', true)"

    def within(key: Key, values: Sequence[Value]) -> str:
        if key.column:
            texts = [value for value in values if isinstance(value, str)]
            return f"({key.column} = ANY({bind(texts, 'text[]')}))"
        # Containment is what a GIN index answers; a value is looked for by itself and as an element of a list.
        shapes = [json.dumps(_nested(key.path, shape)) for value in values for shape in (value, [value])]
        return "(" + " OR ".join(f"metadata @> {bind(shape, 'jsonb')}" for shape in shapes) + ")"

    def test(key: Key, kind: str, sign: str, value: Value) -> str:
        if key.column:
            return f"({key.column} {sign} {bind(value, 'text')})" if kind == "text" else "(false)"
        type, read = _TYPES[kind], _READ[kind]
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


def _json_path(key: Key) -> str:
    return "strict $" + "".join("." + json.dumps(name) for name in key.path)


def _nested(path: tuple[str, ...], value: object) -> object:
    for name in reversed(path):
        value = {name: value}
    return value
