"""snowballstemmer and rapidfuzz, imported when they are first needed."""

from functools import cache
from importlib import import_module
from typing import Any

from diptych._core.errors import ConfigError


@cache
def snowball() -> Any:  # noqa: ANN401 - it has no types
    """The stemmers, or an error that names the extra."""
    return _imported("snowballstemmer", "snowballstemmer")


@cache
def rapidfuzz_distance() -> Any:  # noqa: ANN401 - the type checker must do without the extra
    """The distances of spellings, or an error that names the extra."""
    return _imported("rapidfuzz.distance", "rapidfuzz")


def _imported(module: str, package: str) -> Any:  # noqa: ANN401 - see above
    try:
        return import_module(module)
    except ImportError:
        raise ConfigError(
            f"an index with words needs {package}; install it with `pip install 'diptych[search]'`."
        ) from None
