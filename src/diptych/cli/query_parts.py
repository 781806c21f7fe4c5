"""The parts of a query as a user writes them, such as `snow^2` or `beach.jpg^-0.5`."""

import math
import re
from collections.abc import Sequence
from pathlib import Path

from diptych._core.errors import ConfigError
from diptych.search import QueryPart

_NO_WEIGHT = re.compile(r"(?s).*\^(?P<after>[^\s^]*)")
_WEIGHTED = re.compile(r"(?s)(?P<value>.*)\^(?P<weight>[+-]?(?:\d+\.?\d*|\.\d+))")


def query_parts(texts: Sequence[str], images: Sequence[str], likes: Sequence[str], words: str = "") -> list[QueryPart]:
    """The parts of a query, with a weight after the last `^` of each that has one; plain words have none."""
    parts = [QueryPart("text", words)] if words.strip() else []
    parts += [QueryPart("text", value, weight) for value, weight in map(split_weight, texts)]
    parts += [QueryPart("image", Path(value), weight) for value, weight in map(split_weight, images)]
    parts += [QueryPart("item", value, weight) for value, weight in map(split_weight, likes)]
    if not parts:
        raise ConfigError("there is nothing to search for; give words, --text, --image or --like.")
    return parts


def split_weight(written: str) -> tuple[str, float]:
    """A value and its weight, 1 where none is written.

    >>> split_weight("snow^-0.5")
    ('snow', -0.5)
    >>> split_weight("x^2^1")
    ('x^2', 1.0)

    Raises:
        ConfigError: when what stands after the last `^` is no number.
    """
    found = _WEIGHTED.fullmatch(written)
    if found is None:
        wrong = _NO_WEIGHT.fullmatch(written)
        if wrong is not None:
            raise ConfigError(
                f"the weight in {written!r:.80} is {wrong['after']!r:.40}; after ^ comes a number, such as mug^2 or "
                f"mug^-0.5. To search for the sign itself, add a weight: {written + '^1'!r:.80}."
            )
        return written, 1.0
    weight = float(found["weight"])
    if not math.isfinite(weight):
        raise ConfigError(f"the weight in {written!r} is too large; write a number such as 2 or -0.5.")
    return found["value"], weight
