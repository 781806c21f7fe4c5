"""The parts of a query as a user writes them, such as `snow^2` or `beach.jpg^-0.5`."""

import math
import re
from collections.abc import Sequence
from pathlib import Path

from diptych.errors import ConfigError
from diptych.search import QueryPart

_WEIGHTED = re.compile(r"(?s)(?P<value>.*)\^(?P<weight>[+-]?(?:\d+\.?\d*|\.\d+))")


def query_parts(texts: Sequence[str], images: Sequence[str], likes: Sequence[str]) -> list[QueryPart]:
    """The parts of a query, with a weight after the last `^` of each that has one."""
    parts = [QueryPart("text", value, weight) for value, weight in map(split_weight, texts)]
    parts += [QueryPart("image", Path(value), weight) for value, weight in map(split_weight, images)]
    parts += [QueryPart("item", value, weight) for value, weight in map(split_weight, likes)]
    if not parts:
        raise ConfigError("there is nothing to search for; give --text, --image or --like.")
    return parts


def split_weight(written: str) -> tuple[str, float]:
    """A value and its weight, 1 where none is written.

    >>> split_weight("snow^-0.5")
    ('snow', -0.5)
    >>> split_weight("x^2^1")
    ('x^2', 1.0)
    """
    found = _WEIGHTED.fullmatch(written)
    if found is None:
        return written, 1.0
    weight = float(found["weight"])
    if not math.isfinite(weight):
        raise ConfigError(f"the weight in {written!r} is too large; write a number such as 2 or -0.5.")
    return found["value"], weight
