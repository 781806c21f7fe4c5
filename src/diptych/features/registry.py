"""The registry: every feature by the medium it reads and its name, imported only when it is asked for.

A feature is written as `name` or `name:argument`, such as "bow:1000"; "gist+phow" puts dense features side by side.
"""

from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from diptych.errors import ConfigError
from diptych.features.catalogue import FEATURES, Argument, FeatureEntry
from diptych.features.contract import Feature


def media() -> list[str]:
    """What features can be made of: "image" and "text"."""
    return list(FEATURES)


def feature_names(medium: str) -> dict[str, str]:
    """Every feature of a medium as it is written, with its summary."""
    written = {}
    for name, entry in _of_medium(medium).items():
        shape = f":{entry.argument.parameter.upper()}" if entry.argument else ""
        optional = entry.argument is not None and not entry.argument.required
        written[f"{name}[{shape}]" if optional else f"{name}{shape}"] = entry.summary
    return written


def make_feature(medium: str, written: str) -> Feature[Any]:
    """Make a feature from what a user wrote, such as "bow:1000" or "gist+colour-moments"."""
    parts = [_parse(medium, part) for part in written.split("+")]
    counting = [name for name, entry, _ in parts if entry.kind != "dense"]
    if len(parts) > 1 and counting:
        raise ConfigError(f"'{written}' cannot be joined: '{counting[0]}' gives counts; join dense features only.")
    made = tuple(_constructor(name, entry)(**values) for name, entry, values in parts)
    return made[0] if len(made) == 1 else _composition()(made)


def import_features(medium: str, written: str) -> None:
    """Make the classes of features known to `diptych.state`, so that what was saved of them can be read."""
    parts = [_parse(medium, part) for part in written.split("+")]
    for name, entry, _ in parts:
        _constructor(name, entry)
    if len(parts) > 1:
        _composition()


def _composition() -> Callable[..., Feature[Any]]:
    return _load("+", "composition:Composition", None)


def _of_medium(medium: str) -> dict[str, FeatureEntry]:
    if medium not in FEATURES:
        raise ConfigError(f"there are no features of '{medium}'; there are some of {' and '.join(FEATURES)}.")
    return FEATURES[medium]


def _parse(medium: str, written: str) -> tuple[str, FeatureEntry, dict[str, Any]]:
    """The name, the entry and the constructor's arguments of one feature."""
    known = _of_medium(medium)
    name, colon, argument = written.strip().partition(":")
    if name not in known:
        elsewhere = [other for other in FEATURES if name in FEATURES[other]]
        close = get_close_matches(name, known, n=1)
        hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(known)}."
        hint = f"that is a feature of {elsewhere[0]}; {hint}" if elsewhere else hint
        raise ConfigError(f"there is no {medium} feature '{name}'; {hint}")
    entry = known[name]
    if entry.argument is None and colon:
        raise ConfigError(f"'{written}': '{name}' takes no argument; write '{name}' alone.")
    if entry.argument is None or (not colon and not entry.argument.required):
        return name, entry, {}
    return name, entry, {entry.argument.parameter: _value(name, argument, entry.argument)}


def _value(name: str, text: str, argument: Argument) -> str | int:
    if not argument.whole and text:
        return text
    if argument.whole and text.isdecimal() and int(text) > 0:
        return int(text)
    example = f"{name}:{100 if argument.whole else argument.parameter.upper()}"
    kind = ", a whole number of 1 or more" if argument.whole else ""
    raise ConfigError(f"'{name}:{text}': after the colon comes {argument.meaning}{kind}, such as '{example}'.")


def _constructor(name: str, entry: FeatureEntry) -> Callable[..., Feature[Any]]:
    """What makes a feature, its module imported."""
    makers = [_load(name, target, entry.extra) for target in entry.target.split("+")]
    if len(makers) == 1:
        return makers[0]
    join = _composition()
    return lambda: join(tuple(make() for make in makers))


def _load(name: str, target: str, extra: str | None) -> Callable[..., Feature[Any]]:
    module, _, attribute = target.partition(":")
    try:
        loaded: Callable[..., Feature[Any]] = getattr(import_module(f"diptych.features.{module}"), attribute)
    except ModuleNotFoundError as error:
        if extra is None or (error.name or "").startswith("diptych"):
            raise
        raise ConfigError(
            f"'{name}' needs the optional package '{error.name}'; install it with: pip install 'diptych[{extra}]'"
        ) from None
    return loaded
