"""Conditions on items, such as `split = 'train' and label in ('river', 'pond')`: one language for every engine."""

from diptych.index.filters.conditions import (
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
    matches,
    predicate,
)
from diptych.index.filters.parser import parse
from diptych.index.filters.sql import to_sqlite

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
    "predicate",
    "to_sqlite",
]
