"""What encoders trained elsewhere have in common: optional packages, files known by their hash, pictures as batches."""

import hashlib
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from diptych.arrays import Singles
from diptych.errors import ConfigError, DataError
from diptych.features.contract import Picture
from diptych.features.image.descriptor import check_picture


def required(module: str, installation: str) -> Any:  # noqa: ANN401
    """Import an optional package when it is needed.

    Raises:
        ConfigError: when it is not installed; the message says what to type.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise ConfigError(f"this encoder needs the package '{module}'; install it with {installation}.") from None


def file_hash(path: Path) -> str:
    """The SHA-256 of a file, as hexadecimal digits.

    Raises:
        DataError: when there is no such file.
    """
    if not path.is_file():
        raise DataError(f"there is no file {path}; give the path of the encoder's weights.")
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_hash(path: Path, expected: str) -> None:
    """Refuse weights other than those that made the features before.

    Raises:
        DataError: when the file is absent or its hash differs.
    """
    found = file_hash(path)
    if found != expected:
        raise DataError(
            f"{path} has the hash {found[:12]}…, but these features were made with {expected[:12]}…; "
            "put the former file back, or extract features and fit again."
        )


def batches(items: Sequence[Picture], size: int, height: int, width: int) -> Iterator[Singles]:
    """Pictures resized to one size without keeping proportions: at most `size` × height × width × 3, 0 to 255.

    Bicubic, widened where the picture shrinks so that every pixel counts.
    """
    for start in range(0, len(items), size):
        yield np.stack([_resized(check_picture(item), height, width) for item in items[start : start + size]])


def _resized(picture: Picture, height: int, width: int) -> Singles:
    image = Image.fromarray(picture).resize((width, height), Image.Resampling.BICUBIC)
    return np.asarray(image, dtype=np.float32)
