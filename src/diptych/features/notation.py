"""How features are written: `name`, `name:argument`, `name:argument,setting=value`, and several joined by "+"."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from diptych._core.errors import ConfigError
from diptych.features.catalogue import BUILT_IN, Argument, FeatureEntry, features_of

_TRUTH = {"true": True, "yes": True, "false": False, "no": False}


@dataclass(frozen=True)
class WrittenFeature:
    """One feature as a user wrote it.

    Attributes:
        name: which.
        entry: how it is made.
        values: the constructor's argument after the colon, if there is one.
        settings: further parameters and their values as written.
    """

    name: str
    entry: FeatureEntry
    values: Mapping[str, Any]
    settings: Mapping[str, str]


def read_features(media_type: str, written: str) -> list[WrittenFeature]:
    """Take apart what a user wrote.

    Raises:
        ConfigError: when a feature is unknown or its argument makes no sense.
    """
    known = features_of(media_type)
    parts: list[str] = []
    for part in written.split("+"):
        if parts and _takes_text(parts[-1], known) and _name(part) not in known:
            parts[-1] += f"+{part}"  # a path may hold a plus
        else:
            parts.append(part)
    return [_read_one(media_type, part.strip(), known) for part in parts]


def converted(make: Callable[..., Any], feature: WrittenFeature) -> dict[str, Any]:
    """The settings of a feature as its constructor takes them.

    Raises:
        ConfigError: when there is no such setting or the value is of another type.
    """
    if not feature.settings:
        return {}
    types = get_type_hints(make.__init__ if inspect.isclass(make) else make)
    kinds = {name: types[name] for name in inspect.signature(make).parameters if _settable(types.get(name))}
    taken = [feature.entry.argument.parameter] if feature.entry.argument else []
    free = [name for name in kinds if name not in taken]
    values = {}
    for name, text in feature.settings.items():
        if name not in free:
            have = f"there are {', '.join(free)}" if free else "it has none"
            raise ConfigError(f"'{feature.name}' has no setting '{name}'; {have}.")
        try:
            values[name] = _value_of(text, kinds[name])
        except ValueError:
            raise ConfigError(f"'{feature.name}': {name} is '{text}'; it must be {_described(kinds[name])}.") from None
    return values


def _takes_text(written: str, known: Mapping[str, FeatureEntry]) -> bool:
    entry = known.get(_name(written))
    return entry is not None and entry.argument is not None and not entry.argument.whole


def _name(written: str) -> str:
    return written.strip().partition(":")[0].partition(",")[0].strip()


def _read_one(media_type: str, written: str, known: Mapping[str, FeatureEntry]) -> WrittenFeature:
    name = _name(written)
    if name not in known:
        elsewhere = [other for other in BUILT_IN if name in features_of(other)]
        close = get_close_matches(name, known, n=1)
        hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(known)}."
        hint = f"that is a feature of {elsewhere[0]}; {hint}" if elsewhere else hint
        raise ConfigError(f"there is no {media_type} feature '{name}'; {hint}")
    entry, rest = known[name], written[len(name) :].strip()
    text, settings = _settings(rest, name, entry.argument)
    if entry.argument is None and text is not None:
        raise ConfigError(f"'{written}': '{name}' takes no argument; write '{name}' alone.")
    if entry.argument is None or (text is None and not entry.argument.required):
        return WrittenFeature(name, entry, {}, settings)
    return WrittenFeature(
        name, entry, {entry.argument.parameter: _argument(name, text or "", entry.argument)}, settings
    )


def _settings(rest: str, name: str, argument: Argument | None) -> tuple[str | None, dict[str, str]]:
    """What stands after the colon, None without one, and the settings that follow."""
    pieces = rest.split(",")
    settings: dict[str, str] = {}
    while len(pieces) > 1:
        key, equals, value = (part.strip() for part in pieces[-1].partition("="))
        if not equals or not key.isidentifier():
            if argument is not None and not argument.whole:
                break  # a path may hold a comma
            raise ConfigError(f"'{name}{rest}': '{pieces[-1].strip()}' is no setting; write it as name=value.")
        if key in settings:
            raise ConfigError(f"'{name}{rest}': {key} is given twice.")
        settings[key] = value
        pieces.pop()
    head = ",".join(pieces)
    return (head[1:].strip() if head.startswith(":") else None), dict(reversed(settings.items()))


def _argument(name: str, text: str, argument: Argument) -> str | int:
    if not argument.whole and text:
        return text
    if argument.whole and text.isdecimal() and int(text) > 0:
        return int(text)
    example = f"{name}:{100 if argument.whole else argument.parameter.upper()}"
    kind = ", a whole number of 1 or more" if argument.whole else ""
    raise ConfigError(f"'{name}:{text}': after the colon comes {argument.meaning}{kind}, such as '{example}'.")


def _settable(kind: Any) -> bool:  # noqa: ANN401 - a type
    return kind in (int, float, bool, str) or bool(_choices(kind)) or bool(_alternatives(kind)) or _numbers(kind) > 0


def _choices(kind: Any) -> tuple[str, ...]:  # noqa: ANN401
    return get_args(kind) if get_origin(kind) is Literal else ()


def _alternatives(kind: Any) -> tuple[Any, ...]:  # noqa: ANN401
    """The types of a union with None, None left out; none where one of them cannot be written."""
    if get_origin(kind) not in (Union, UnionType):
        return ()
    others = tuple(each for each in get_args(kind) if each is not NoneType)
    return others if all(_settable(each) for each in others) else ()


def _numbers(kind: Any) -> int:  # noqa: ANN401
    """How many numbers a tuple holds; 0 for other types."""
    parts = get_args(kind) if get_origin(kind) is tuple else ()
    return len(parts) if parts and all(part is float for part in parts) else 0


def _value_of(text: str, kind: Any) -> Any:  # noqa: ANN401
    """A value as written, in a type.

    Raises:
        ValueError: when it is none of it.
    """
    if kind is bool:
        if text.lower() not in _TRUTH:
            raise ValueError(text)
        return _TRUTH[text.lower()]
    if kind in (int, float):
        return kind(text)
    if kind is str and text:
        return text
    if text in _choices(kind):
        return text
    if _numbers(kind) and text.count("/") == _numbers(kind) - 1:
        return tuple(float(number) for number in text.split("/"))
    for each in _alternatives(kind):
        try:
            return _value_of(text, each)
        except ValueError:
            continue
    raise ValueError(text)


def _described(kind: Any) -> str:  # noqa: ANN401
    """A type in words, for errors."""
    if _choices(kind):
        return " or ".join(_choices(kind))
    if _numbers(kind):
        return f"{_numbers(kind)} numbers such as {'/'.join(['0.5'] * _numbers(kind))}"
    if _alternatives(kind):
        return " or ".join(_described(each) for each in _alternatives(kind))
    return {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}[kind]
