"""Compile a condition to SQLite: every key, value and pattern is a parameter, so that nothing can be injected."""

from collections.abc import Sequence
from typing import assert_never

from diptych.index.filters.syntax import And, Comparison, Condition, In, Key, Like, Missing, Not, Or, Value, kind_of

Parameter = str | int | float

_TYPES = {"text": ("text",), "number": ("integer", "real"), "boolean": ("true", "false")}
"""What SQLite's JSON functions call the kinds of our literals."""


def to_sqlite(condition: Condition) -> tuple[str, list[Parameter]]:
    """An expression over a table with columns `id`, `modality` and `metadata` (JSON), and its parameters in order."""
    parameters: list[Parameter] = []

    def bind(value: Parameter) -> str:
        parameters.append(value)
        return f"?{len(parameters)}"

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
                    return "(0)"
                return f"(COALESCE(json_type(metadata, {bind(_json_path(key))}), 'null') = 'null')"
            case Comparison(key, sign, value):
                return test(key, kind_of(value), f"{sign} {{}}", [value])
            case In(key, values):
                return within(key, values)
            case Like(key, pattern):
                return test(key, "text", "LIKE {}", [pattern])
            case _:
                assert_never(part)

    def within(key: Key, values: tuple[Value, ...]) -> str:
        kinds = {kind_of(value): [other for other in values if kind_of(other) == kind_of(value)] for value in values}
        tests = (test(key, kind, f"IN ({', '.join(['{}'] * len(alike))})", alike) for kind, alike in kinds.items())
        return "(" + " OR ".join(tests) + ")"

    def test(key: Key, kind: str, template: str, values: Sequence[Value]) -> str:
        if key.column and kind != "text":
            return "(0)"
        comparison = template.format(*(bind(_plain(value)) for value in values))
        if key.column:
            return f"({key.column} {comparison})"
        types, path = ", ".join(f"'{name}'" for name in _TYPES[kind]), bind(_json_path(key))
        return (
            f"(CASE WHEN json_type(metadata, {path}) IN ({types}) THEN json_extract(metadata, {path}) {comparison}"
            f" WHEN json_type(metadata, {path}) = 'array' THEN EXISTS(SELECT 1 FROM json_each(metadata, {path}) AS e"
            f" WHERE e.type IN ({types}) AND e.value {comparison}) ELSE 0 END)"
        )

    return compiled(condition), parameters


def _json_path(key: Key) -> str:
    """Names go between double quotes, which no name contains."""
    return "$" + "".join(f'."{name}"' for name in key.path)


def _plain(value: Value) -> Parameter:
    """JSON's true and false are 1 and 0 in SQLite."""
    return int(value) if isinstance(value, bool) else value
