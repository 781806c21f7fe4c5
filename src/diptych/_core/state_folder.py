"""Learned state as a folder: a JSON document that a person can read, and one file of arrays beside it."""

import hashlib
import json
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from diptych._core.errors import DataError
from diptych._core.files import atomic_folder, read_json, restore_interrupted, write_json

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
