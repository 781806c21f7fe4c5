"""faiss, imported when it is first needed."""

from functools import cache
from typing import Any

from diptych.errors import ConfigError


@cache
def faiss() -> Any:  # noqa: ANN401 - the library has no types
    """The library, or an error that names the extra."""
    try:
        import faiss as library
    except ImportError:
        raise ConfigError(
            "searching and propagating labels need faiss; install it with `pip install 'diptych[search]'`."
        ) from None
    return library
