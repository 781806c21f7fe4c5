"""What a user holds in hand, a path, bytes, a picture, a sentence, as the items a feature reads."""

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from diptych._core.errors import ConfigError, DataError


def read_items(medium: str, raw: Any) -> list[Any]:  # noqa: ANN401 - whatever stands for an item
    """Items of a medium, from one raw item or several.

    Args:
        medium: "image" takes paths, the bytes of a file, Pillow images and height × width × 3 arrays of bytes; "text"
            takes strings.
        raw: one of these, or a sequence of them.

    Raises:
        DataError: when a file is missing or no picture; the message names it.
    """
    if medium not in _READERS:
        raise ConfigError(f"raw items of '{medium}' cannot be read; there are {' and '.join(_READERS)}.")
    several = isinstance(raw, Sequence) and not isinstance(raw, str | bytes)
    return [_READERS[medium](item) for item in (raw if several else [raw])]


def _read_text(item: Any) -> str:  # noqa: ANN401
    if not isinstance(item, str):
        raise DataError(f"a text is a {type(item).__name__}; give a string.")
    return item


def _read_picture(item: Any) -> Any:  # noqa: ANN401
    if isinstance(item, np.ndarray):
        return item
    try:
        from PIL.Image import Image

        from diptych.media import decoding
        from diptych.media.pixels import to_array
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"pictures need the optional package '{error.name}'; install it with: pip install 'diptych[images]'"
        ) from None
    if isinstance(item, Image):
        return to_array(item)
    try:
        if isinstance(item, bytes):
            return decoding.decode_image(item)
        if isinstance(item, str | PathLike):
            return decoding.decode_image(_content(Path(item), decoding.Limits().max_bytes))
    except decoding.ImageError as error:
        name = "the given bytes" if isinstance(item, bytes) else item
        raise DataError(f"{name}: {error}; give an image.") from None
    raise DataError(f"a picture is a {type(item).__name__}; give a path, bytes, a Pillow image or an array of bytes.")


def _content(path: Path, most: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(most + 1)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); give the path of a picture.") from None


_READERS: dict[str, Callable[[Any], Any]] = {"image": _read_picture, "text": _read_text}
