"""Find the nearest of many vectors and store what is known about them: one contract, several engines."""

from diptych.index.contract import Index
from diptych.index.filters import Condition
from diptych.index.filters.parser import parse
from diptych.index.identity import EmbedderId, Identity
from diptych.index.items import Hits, Item, ItemLimits
from diptych.index.registry import create_index, engines, engines_with_words, open_index, restore_index

__all__ = [
    "Condition",
    "EmbedderId",
    "Hits",
    "Identity",
    "Index",
    "Item",
    "ItemLimits",
    "create_index",
    "engines",
    "engines_with_words",
    "open_index",
    "parse",
    "restore_index",
]
