"""Several spaces in one model, and the purpose that selects one of them.

A model may hold a *class* space, where things of one kind are near each other, and a *partner* space, where an item is
near the very item it belongs to. Its embeddings are both side by side; a purpose picks the columns.
"""

from collections.abc import Mapping
from typing import Literal

from diptych._core.errors import ConfigError

Purpose = Literal["auto", "class", "partner", "both"]
PURPOSES: tuple[Purpose, ...] = ("auto", "class", "partner", "both")
SPACES: tuple[Purpose, ...] = ("class", "partner")


def purposes_of(spaces: Mapping[str, int]) -> tuple[Purpose, ...]:
    """What can be asked of a model with these spaces: each of them, and "both" where there are two.

    >>> purposes_of({"class": 512, "partner": 256})
    ('class', 'partner', 'both')
    """
    named: tuple[Purpose, ...] = tuple(space for space in SPACES if space in spaces)
    return (*named, "both") if len(named) > 1 else named


def columns_of(spaces: Mapping[str, int], purpose: str | None) -> slice:
    """The columns of an embedding that serve a purpose; all of them for "both" and None.

    >>> columns_of({"class": 512, "partner": 256}, "partner")
    slice(512, 768, None)
    """
    start = 0
    for space, width in spaces.items():
        if space == purpose:
            return slice(start, start + width)
        start += width
    return slice(None)


def settled_purpose(
    spaces: Mapping[str, int],
    purpose: str,
    *,
    auto: Purpose,
    model: str,
    remedy: str = "use a method with a class and a partner space",
) -> Purpose | None:
    """The purpose that is meant where a model or an index has these spaces; None where it has one without a name.

    Args:
        spaces: the columns of each space.
        purpose: what was asked for.
        auto: what "auto" stands for, where that can be served; otherwise it stands for the only space.
        model: what to call the model or the index in an error.
        remedy: how to get one that can, for the error.

    Raises:
        ConfigError: for a purpose nobody knows, or one that cannot be served.
    """
    if purpose not in PURPOSES:
        raise ConfigError(f"the purpose is {purpose!r}; choose one of {', '.join(PURPOSES)}.")
    possible = purposes_of(spaces)
    if purpose == "auto":
        return auto if auto in possible else next(iter(possible), None)
    if not possible:
        raise ConfigError(
            f"{model} has a single space and cannot serve the purpose '{purpose}'; leave the purpose out, or {remedy}."
        )
    for known in possible:
        if known == purpose:
            return known
    raise ConfigError(
        f"{model} has no {' and no '.join(space for space in SPACES if space not in spaces)} space, which the purpose "
        f"'{purpose}' needs; choose {' or '.join(possible)}, or {remedy}."
    )
