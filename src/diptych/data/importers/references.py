"""References to a part of a file, such as `features.mat:I_tr` or `table.csv:image_*`."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diptych._core.errors import DataError


@dataclass(frozen=True)
class Reference:
    """A file and, where the format has parts, the variable, key or columns meant.

    Attributes:
        path: the file.
        part: what follows the colon; None means the whole file.
    """

    path: Path
    part: str | None = None

    def __str__(self) -> str:
        return str(self.path) if self.part is None else f"{self.path}:{self.part}"

    @property
    def format(self) -> str:
        """The file's ending in lower case, without the dot."""
        return self.path.suffix.lower().lstrip(".")

    def refuse_part(self) -> None:
        """Say that this format has no parts to choose from."""
        if self.part is not None:
            raise DataError(f"{self.path} holds a single array, so ':{self.part}' cannot be chosen; leave it out.")


def parse_reference(text: str | Path) -> Reference:
    """Split `file:part`; a file whose own name has a colon is found as it is.

    Raises:
        DataError: when the file does not exist or is empty.
    """
    path, part = Path(text), None
    if not path.exists() and ":" in str(text):
        head, part = str(text).rsplit(":", 1)
        path = Path(head)
        if not part:
            raise DataError(f"{text} ends in a colon; name the variable or column after it.")
    require_file(path)
    return Reference(path, part)


def require_file(path: Path) -> None:
    """Refuse a path that is no file, or a file without content."""
    if path.is_dir():
        raise DataError(f"{path} is a folder; give the file inside it.")
    if not path.exists():
        raise DataError(f"{path} does not exist; check the path.")
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty; write it again.")


def describe_file(path: Path) -> dict[str, Any]:
    """Name, size and hash of a source file, for the record in `dataset.json`."""
    with path.open("rb") as handle:
        digest = hashlib.file_digest(handle, lambda: hashlib.blake2b(digest_size=16))
    return {"file": path.name, "bytes": path.stat().st_size, "blake2b": digest.hexdigest()}


def describe_files(paths: list[Path]) -> list[dict[str, Any]]:
    """Describe each distinct file once, in the order given."""
    return [describe_file(path) for path in dict.fromkeys(paths)]
