"""Conditions on items, such as `split = 'train' and label in ('river', 'pond')`: one language for every engine."""

from diptych.index.filters.evaluate import matches
from diptych.index.filters.parser import parse
from diptych.index.filters.sqlite import to_sqlite
from diptych.index.filters.syntax import And, Comparison, Condition, In, Key, Like, Missing, Not, Or, Value

__all__ = [
    "And",
    "Comparison",
    "Condition",
    "In",
    "Key",
    "Like",
    "Missing",
    "Not",
    "Or",
    "Value",
    "matches",
    "parse",
    "to_sqlite",
]
