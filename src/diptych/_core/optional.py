"""Packages that only some commands need, imported at first use."""

from functools import cache
from importlib import import_module
from typing import Any

from diptych._core.errors import ConfigError


@cache
def optional_package(module: str, purpose: str, extra: str) -> Any:  # noqa: ANN401 - whatever the package holds
    """Import a module of an optional package.

    Args:
        module: its name.
        purpose: what needs it, as the subject of a sentence: "the engine milvus".
        extra: the extra of diptych that installs it.

    Raises:
        ConfigError: when it is not installed; the message says what to type.
    """
    try:
        return import_module(module)
    except ImportError:
        package = module.split(".")[0]
        raise ConfigError(f"{purpose} needs {package}; install it with `pip install 'diptych[{extra}]'`.") from None


def faiss() -> Any:  # noqa: ANN401 - the library has no types
    """The library of vector search, which the index and label propagation share."""
    return optional_package("faiss", "searching or propagating labels", "search")
