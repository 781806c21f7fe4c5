"""Turn what a method learned into arrays and JSON, and back, without ever pickling.

State is made of arrays, numbers, strings, booleans, None, lists, tuples, string-keyed dicts, and
dataclasses marked `@stateful`. Arrays go to safetensors under a dotted name; the rest goes to JSON.
"""

import math
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from diptych._core.errors import DataError

T = TypeVar("T")
_STATEFUL: dict[str, type] = {}
_STORED: dict[type, str] = {}
_JSON_LEAVES = (str, bool, int, float, type(None))


def stateful(cls: type[T]) -> type[T]:
    """Allow instances of this dataclass inside a saved model, under the class's name."""
    return stateful_as(cls.__name__)(cls)


def stateful_as(stored: str) -> Callable[[type[T]], type[T]]:
    """Like `stateful`, under the name that a renamed class had when models were first saved."""

    def register(cls: type[T]) -> type[T]:
        if not is_dataclass(cls):
            raise TypeError(f"{cls.__name__} must be a dataclass to be stateful.")
        if _STATEFUL.setdefault(stored, cls) is not cls:
            raise TypeError(f"two stateful classes are called {stored}.")
        _STORED[cls] = stored
        return cls

    return register


def stored_names(cls: type) -> dict[str, str]:
    """The fields of a stateful class by the names they are stored under.

    A field that was renamed keeps its former name in files by `field(metadata={"stored": NAME})`.
    """
    return {field.metadata.get("stored", field.name): field.name for field in fields(cls)}


def pack(value: Any, name: str = "") -> tuple[Any, dict[str, np.ndarray]]:  # noqa: ANN401
    """Split a value into its JSON part and its arrays by dotted name."""
    arrays: dict[str, np.ndarray] = {}
    return _pack(value, name, arrays), arrays


def _pack(value: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:  # noqa: ANN401
    def inside(key: str, child: Any) -> Any:  # noqa: ANN401
        return _pack(child, f"{name}.{key}" if name else key, arrays)

    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": str(value)}  # JSON has no word for these
    if isinstance(value, _JSON_LEAVES):
        return value
    if isinstance(value, np.ndarray):
        return {"$array": _store(value, name, arrays)}
    if isinstance(value, sp.csr_array):
        parts = {"data": value.data, "indices": value.indices, "indptr": value.indptr}
        return {"$csr": {key: inside(key, part) for key, part in parts.items()}, "shape": list(value.shape)}
    if is_dataclass(value) and type(value) in _STORED:
        names = stored_names(type(value))
        content = {stored: inside(stored, getattr(value, name)) for stored, name in names.items()}
        return {"$type": _STORED[type(value)], "fields": content}
    if isinstance(value, dict):
        if any(not isinstance(key, str) or key.startswith("$") for key in value):
            raise TypeError(f"{name}: the keys of a saved dict must be strings that do not start with '$'.")
        return {key: inside(key, child) for key, child in value.items()}
    if isinstance(value, tuple):
        return {"$tuple": [inside(str(position), child) for position, child in enumerate(value)]}
    if isinstance(value, list):
        return [inside(str(position), child) for position, child in enumerate(value)]
    raise TypeError(f"{name}: a {type(value).__name__} cannot be saved; mark its dataclass @stateful.")


def _store(value: np.ndarray, name: str, arrays: dict[str, np.ndarray]) -> str:
    """Keep an array under a name nothing else has: `{"a.b": x}` and `{"a": {"b": y}}` ask for the same one."""
    if value.dtype.kind not in "buif":
        raise TypeError(f"{name}: an array of {value.dtype} cannot be saved; keep text as a list of strings.")
    while name in arrays:
        name += "'"
    arrays[name] = np.asarray(value, order="C")
    return name


def unpack(value: Any, arrays: dict[str, np.ndarray]) -> Any:  # noqa: ANN401
    """Rebuild a value from its JSON part and its arrays."""
    if isinstance(value, list):
        return [unpack(child, arrays) for child in value]
    if not isinstance(value, dict):
        return value
    if "$float" in value:
        return float(value["$float"])
    if "$array" in value:
        try:
            return arrays[value["$array"]]
        except KeyError:
            raise DataError(f"the model's weights lack the array '{value['$array']}'.") from None
    if "$csr" in value:
        parts = {key: unpack(part, arrays) for key, part in value["$csr"].items()}
        return sp.csr_array((parts["data"], parts["indices"], parts["indptr"]), shape=tuple(value["shape"]))
    if "$tuple" in value:
        return tuple(unpack(child, arrays) for child in value["$tuple"])
    if "$type" in value:
        if value["$type"] not in _STATEFUL:
            raise DataError(f"the model holds a '{value['$type']}', which this version of diptych does not know.")
        cls = _STATEFUL[value["$type"]]
        names = stored_names(cls)
        content = {names.get(key, key): unpack(child, arrays) for key, child in value["fields"].items()}
        try:
            return cls(**content)
        except TypeError as error:
            raise DataError(f"the model's '{value['$type']}' does not fit this version of diptych ({error}).") from None
    return {key: unpack(child, arrays) for key, child in value.items()}
