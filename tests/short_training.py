"""Let deep methods train for a moment where a test asks for nothing else."""

import inspect

from diptych.methods import CDMLMR, Auto

_QUICK = {"profile": "fast", "cache": None}


def shorten(monkeypatch) -> None:
    """Give the constructors the profile "fast" and no cache as defaults."""
    for method in (CDMLMR, Auto):
        known = inspect.signature(method).parameters
        defaults = tuple(_QUICK.get(name, each.default) for name, each in known.items())
        monkeypatch.setattr(method.__init__, "__defaults__", defaults)
