"""Imports at first use: optional packages, and the names a package exports."""

import sys
from collections.abc import Callable, Iterable, Mapping
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


def lazy_exports(package: str, modules: Mapping[str, Iterable[str]]) -> Callable[[str], Any]:
    """Make a package's `__getattr__`, which imports a module when one of its exported names is first used.

    No exported name may be that of a module of the package: the module would take its place once it is imported.

    Args:
        package: the package's name.
        modules: the names that each of its modules exports, or one elsewhere under its full name.
    """
    root = package.partition(".")[0]
    places = {
        name: module if module.startswith(f"{root}.") else f"{package}.{module}"
        for module, names in modules.items()
        for name in names
    }

    def load(name: str) -> Any:  # noqa: ANN401 - whatever is exported
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(places[name]), name)
        setattr(sys.modules[package], name, value)  # found without this function the next time
        return value

    return load
