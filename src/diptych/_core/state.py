"""Turn what a method learned into arrays and JSON, and back, without ever pickling.

State is made of arrays, numbers, strings, booleans, None, lists, tuples, string-keyed dicts, and
dataclasses marked `@stateful`. Arrays go to safetensors under a dotted name; the rest goes to JSON.
"""

import hashlib
import json
import math
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from diptych._core.errors import DataError
from diptych._core.files import atomic_folder, read_json, restore_interrupted, write_json

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


WEIGHTS = "weights.safetensors"
CHECKSUM = "checksum"
MALFORMED = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What code meets that reads a value of the wrong type, or misses one."""


@dataclass(frozen=True)
class FolderFormat:
    """One kind of folder.

    Attributes:
        document: the name of its JSON file.
        name: what the document says it is.
        version: of the format.
        noun: what a person calls it.
        made_by: how a person gets one, for errors.
    """

    document: str
    name: str
    version: int
    noun: str
    made_by: str

    def write(self, folder: str | Path, body: dict[str, Any], weights: bytes, *, overwrite: bool = False) -> None:
        """Write the folder, whole or not at all."""
        content = {"format": self.name, "format_version": self.version} | body
        content |= {CHECKSUM: _checksum(content, weights)}
        with atomic_folder(Path(folder), overwrite=overwrite) as temporary:
            (temporary / WEIGHTS).write_bytes(weights)
            write_json(temporary / self.document, content)

    def read(self, folder: str | Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Read the document and the arrays; nothing in them is executed or unpickled.

        Raises:
            DataError: when they are not there, cannot be read, or are not what was written. Folders of versions that
                wrote no checksum are taken as they are.
        """
        path = Path(folder)
        restore_interrupted(path)
        if not (path / self.document).exists():
            raise DataError(f"{path} holds no {self.document}, so it is not a {self.noun}; {self.made_by}.")
        body = self._read_document(path)
        try:
            expected = body.pop(CHECKSUM, None)
            if expected is not None and expected != _checksum(body, (path / WEIGHTS).read_bytes()):
                raise DataError(
                    f"{path} is damaged: {self.document} and {WEIGHTS} are not what was written; restore the folder "
                    f"or make the {self.noun} again."
                )
            return body, load_file(path / WEIGHTS)
        except (OSError, SafetensorError, *MALFORMED) as error:
            raise DataError(f"{path / WEIGHTS} cannot be read ({error}); make the {self.noun} again.") from None

    def _read_document(self, path: Path) -> dict[str, Any]:
        body = read_json(path / self.document)
        known = (body.get("format"), body.get("format_version")) if isinstance(body, dict) else (None, None)
        if known != (self.name, self.version):
            raise DataError(
                f"{path / self.document} says format {known[0]!r:.60} version {known[1]!r:.60}; "
                f"this diptych reads {self.name!r} version {self.version}."
            )
        return dict(body)

    @contextmanager
    def reading(self, folder: str | Path) -> Iterator[None]:
        """Say in one sentence that a folder does not hold what it should, whatever the block trips over."""
        try:
            yield
        except MALFORMED as error:
            what = f"{type(error).__name__}: {error}".partition("\n")[0]
            raise DataError(
                f"{folder} is no {self.noun} that can be read ({what:.200}); restore it or make the {self.noun} again."
            ) from error


def _checksum(document: dict[str, Any], weights: bytes) -> str:
    """A hash of all that is written: of the document as it will be read again, and of the arrays."""
    return hash_state(json.loads(json.dumps(document)), weights)


def to_weights(arrays: dict[str, np.ndarray]) -> bytes:
    """Arrays as they are stored: the same arrays give the same bytes."""
    content: bytes = save(arrays)
    return content


def hash_state(document: Any, weights: bytes) -> str:  # noqa: ANN401 - whatever JSON can hold
    """One hash of a JSON value and of stored arrays."""
    digest = hashlib.blake2b(json.dumps(document, sort_keys=True).encode(), digest_size=16)
    digest.update(weights)
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """What the state was learned with, for the record."""
    return {"python": platform.python_version()} | {name: version(name) for name in ("diptych", "numpy", "scipy")}
