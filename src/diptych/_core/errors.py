"""The errors a user can meet, each a sentence that names the offending value and the fix, and imports that may fail so.

Optional packages and the names a package exports are imported when they are first used.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import Any


class DiptychError(Exception):
    """Base of all expected errors; the command line prints them without a traceback."""


class DataError(DiptychError):
    """Something is wrong with a file or a value that came from outside."""


class UnknownItemError(DataError):
    """An item that is not in the index. A server answers 404."""


class ConfigError(DiptychError):
    """An option, parameter or name is unknown or out of range."""


class NotFittedError(DiptychError):
    """A method was asked to embed or to be saved before it was fitted."""


class BackendUnavailableError(DiptychError):
    """A database or another process that is needed does not answer now; the same request may succeed later.

    Its message names no address. A server answers 503 with `Retry-After`.

    Attributes:
        details: the same for the operator, with the address; None where the message says it all.
    """

    def __init__(self, message: str, details: str | None = None) -> None:
        super().__init__(message)
        self.details = details


class TimeLimitError(DiptychError):
    """A query took longer than the operator allows and was cancelled in the engine."""


class FitError(DiptychError):
    """A method cannot be fitted on this data, or its training diverged."""


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
            missing = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(missing, name=name, obj=sys.modules[package])  # Python then proposes a close one
        value = getattr(import_module(places[name]), name)
        setattr(sys.modules[package], name, value)  # found without this function the next time
        return value

    return load
