"""What a condition is once it is parsed.

Conditions are true or false, never unknown. A comparison holds if the key is there and its value, or one element of it
where the value is a list, has the kind of the literal (text, number or boolean) and compares so. `!=` and `not in` are
the negations of `=` and `in`: an item without the key passes them.
"""

from dataclasses import dataclass
from typing import Literal

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
