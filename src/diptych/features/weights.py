"""Weights trained elsewhere: they stay in the package or file they came in, and are known by their hash."""

import hashlib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from diptych._core.errors import ConfigError, DataError


def required(module: str, installation: str) -> Any:  # noqa: ANN401
    """Import an optional package when it is needed.

    Raises:
        ConfigError: when it is not installed; the message says what to type.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise ConfigError(f"this encoder needs the package '{module}'; install it with {installation}.") from None


def packaged_file(package: str, name: str, installation: str) -> Path:
    """Where a file of an installed package lies; the package is not imported.

    Raises:
        ConfigError: when the package, or the file in it, is missing.
    """
    spec = find_spec(package)
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    if not folders:
        raise ConfigError(f"this encoder needs the package '{package}'; install it with {installation}.")
    path = Path(folders[0]) / name
    if not path.is_file():
        raise ConfigError(f"the package '{package}' lacks its file {path}; install it again with {installation}.")
    return path


def file_hash(path: Path) -> str:
    """The SHA-256 of a file, as hexadecimal digits.

    Raises:
        DataError: when there is no such file.
    """
    if not path.is_file():
        raise DataError(f"there is no file {path}; give the path of the encoder's weights.")
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_hash(path: Path, expected: str, package: str | None = None) -> None:
    """Refuse weights other than those that made the features before.

    Args:
        path: the file.
        expected: what it must hash to.
        package: the package and version to install, where the file comes in one.

    Raises:
        DataError: when the file is absent or its hash differs.
    """
    found = file_hash(path)
    if found != expected:
        remedy = f"run: pip install '{package}'" if package else "put the former file back"
        raise DataError(
            f"{path} has the hash {found[:12]}…, but these features were made with {expected[:12]}…; "
            f"{remedy}, or extract features and fit again."
        )
