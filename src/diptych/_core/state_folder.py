"""Learned state as a folder: a JSON document that a person can read, and one file of arrays beside it."""

import hashlib
import json
import platform
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
        head = {"format": self.name, "format_version": self.version}
        with atomic_folder(Path(folder), overwrite=overwrite) as temporary:
            (temporary / WEIGHTS).write_bytes(weights)
            write_json(temporary / self.document, head | body)

    def read(self, folder: str | Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Read the document and the arrays; nothing in them is executed or unpickled."""
        path = Path(folder)
        restore_interrupted(path)
        document = path / self.document
        if not document.exists():
            raise DataError(f"{path} holds no {self.document}, so it is not a {self.noun}; {self.made_by}.")
        body: dict[str, Any] = read_json(document)
        if body.get("format") != self.name or body.get("format_version") != self.version:
            raise DataError(
                f"{document} says format {body.get('format')!r} version {body.get('format_version')!r}; "
                f"this diptych reads {self.name!r} version {self.version}."
            )
        try:
            return body, load_file(path / WEIGHTS)
        except (OSError, SafetensorError) as error:
            raise DataError(f"{path / WEIGHTS} cannot be read ({error}); fit the {self.noun} again.") from None


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
