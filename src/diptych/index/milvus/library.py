"""pymilvus, imported when it is first needed."""

from functools import cache
from importlib import import_module
from typing import Any

from diptych._core.errors import ConfigError


@cache
def pymilvus() -> Any:  # noqa: ANN401 - the type checker must do without the extra
    """The client library, or an error that names the extra."""
    try:
        return import_module("pymilvus")
    except ImportError:
        raise ConfigError(
            "the engine milvus needs pymilvus; install it with `pip install 'diptych[milvus]'`."
        ) from None
