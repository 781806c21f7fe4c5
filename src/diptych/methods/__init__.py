"""The methods, one contract for all: make one by name with `create`, keep it with `save_model` and `load_model`.

The classes of the built-in methods are attributes too, and are imported when they are first asked for.
"""

from importlib import import_module
from typing import Any

from diptych.methods.base import Method
from diptych.methods.model_folder import load_model, model_fingerprint, save_model
from diptych.methods.registry import Entry, create, entry, method_class, names
from diptych.methods.selection import Search, Validation

__all__ = [
    "Entry",
    "Method",
    "Search",
    "Validation",
    "create",
    "entry",
    "load_model",
    "method_class",
    "model_fingerprint",
    "names",
    "save_model",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a class of methods, or whatever an attribute may be
    """Import a method's class by its name: `diptych.methods.JRL`."""
    for target in (entry(known).target for known in names()):
        module, _, attribute = target.partition(":")
        if attribute == name:
            return getattr(import_module(module), attribute)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*__all__, *(entry(name).target.partition(":")[2] for name in names())})
