"""Find the nearest of many vectors, keep what is known about them, and lose nothing: one contract, several engines."""

from diptych.index.contract import Index
from diptych.index.filters import Condition, parse
from diptych.index.identity import Identity, Maker
from diptych.index.items import Found, Item
from diptych.index.registry import create_index, engines, engines_with_words, open_index

__all__ = [
    "Condition",
    "Found",
    "Identity",
    "Index",
    "Item",
    "Maker",
    "create_index",
    "engines",
    "engines_with_words",
    "open_index",
    "parse",
]
