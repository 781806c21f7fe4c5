"""The array types that cross packages, and checks of single values against the types they are annotated with."""

import numbers
from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from diptych._core.errors import ConfigError

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]
Strings = NDArray[np.str_]

ImageArray = NDArray[np.uint8]
"""A decoded image: height × width × 3, sRGB."""

Sparse = sp.csr_array
"""Counts: one row an item."""

Features = NDArray[Any] | Sparse
"""One modality's rows, dense or sparse; what importers write and methods read."""

_KINDS: dict[Any, tuple[tuple[type, ...], str]] = {
    int: ((numbers.Integral,), "a whole number"),
    float: ((numbers.Real,), "a number"),
    str: ((str,), "a text"),
    bool: ((bool, np.bool_), "True or False"),
    NoneType: ((NoneType,), "None"),
    Mapping: ((Mapping,), "a mapping"),
    dict: ((Mapping,), "a mapping"),
    Literal: ((str,), "a text"),
}
"""Annotations of parameters: the types a value may have, and what such a value is called."""


def check_types(owner: str, annotated: Callable[..., Any], values: Mapping[str, Any]) -> None:
    """Refuse a value of another type than its annotation says; ranges and choices are for the owner to check.

    Args:
        owner: whose values they are, for errors.
        annotated: the function or class whose annotations count; other types than texts, numbers, truth values and
            mappings are not checked.
        values: the values by name.

    Raises:
        ConfigError: naming the first such value and what it may be.
    """
    try:
        types = get_type_hints(annotated)
    except NameError:  # what was defined inside a function may use names that cannot be found again
        return
    for name, value in values.items():
        kind = types.get(name)
        members = [get_origin(each) or each for each in _members(kind)]
        truth = isinstance(value, bool | np.bool_)  # to Python a truth value is a whole number too
        if all(
            each in _KINDS and (not isinstance(value, _KINDS[each][0]) or truth > (each is bool)) for each in members
        ):
            wanted = " or ".join(dict.fromkeys(_KINDS[each][1] for each in members))
            raise ConfigError(f"{owner}: {name} is {value!r:.60}; it must be {wanted}.")


def _members(kind: Any) -> tuple[Any, ...]:  # noqa: ANN401 - a type
    """The types that a type unites; itself where it unites none."""
    return (kind,) if (get_origin(kind) or kind) in _KINDS else get_args(kind) or (kind,)


def plain(value: Any) -> Any:  # noqa: ANN401 - whatever a parameter is
    """A value as JSON takes it: without NumPy's numbers, as a grid made with NumPy leaves them in parameters."""
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(plain(each) for each in value)
    return value.item() if isinstance(value, np.generic) else value
