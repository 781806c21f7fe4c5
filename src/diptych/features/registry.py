"""Features by media type and name: how they are written, such as `bow:3000,max_df=0.5+minilm`, and how they are made.

They are imported only when they are asked for; `diptych.features.catalogue` says which there are.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

from diptych._core.errors import ConfigError
from diptych.features.catalogue import BUILT_IN, DEFAULT_FEATURES, Argument, FeatureEntry, features_of

if TYPE_CHECKING:
    from diptych.features.contract import Feature

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
    """A value as written, in a type; a `ValueError` where it is none of it."""
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


def media_types() -> list[str]:
    """Return the media types that features read: "image", "audio" and "text"."""
    return list(BUILT_IN)


def describe_features(media_type: str) -> list[dict[str, Any]]:
    """Describe a media type's features, for tables and JSON; none is imported."""
    default = DEFAULT_FEATURES.get(media_type, "").split("+")
    return [
        {
            "media_type": media_type,
            "name": name,
            "written": _as_written(name, entry),
            "summary": entry.summary,
            "dimension": entry.dimension,
            "kind": entry.kind,
            "needs": None if entry.extra is None else entry.remedy,
            "missing": missing_modules(entry),
            "installed": not missing_modules(entry),
            "default": name in default,
        }
        for name, entry in features_of(media_type).items()
    ]


def _as_written(name: str, entry: FeatureEntry) -> str:
    shape = f":{entry.argument.parameter.upper()}" if entry.argument else ""
    return f"{name}[{shape}]" if entry.argument is not None and not entry.argument.required else f"{name}{shape}"


def make_feature(media_type: str, written: str) -> "Feature[Any]":
    """Make a feature from what a user wrote, such as "bow:1000", "bow:3000,max_df=0.5" or "bow:3000+minilm"."""
    made = []
    for feature in read_features(media_type, written):
        make = _constructor(feature.name, feature.entry)
        made.append(make(**feature.values, **converted(make, feature)))
    return made[0] if len(made) == 1 else _composed(made)


def import_features(media_type: str, written: str) -> None:
    """Import the classes of features, so that saved ones can be read."""
    for feature in read_features(media_type, written):
        _constructor(feature.name, feature.entry)


def check_available(media_type: str, written: str) -> None:
    """Refuse features that cannot be made here, before any work is done; cheap.

    Raises:
        ConfigError: when a feature is unknown or written wrongly, or an optional package it needs is missing; the
            message says what to type.
    """
    features = read_features(media_type, written)
    for feature in features:
        missing = missing_modules(feature.entry)
        if missing:
            raise ConfigError(
                f"'{feature.name}' needs the optional package '{missing[0]}', which is not installed; "
                f"run: {feature.entry.remedy}"
            )
        path = feature.values.get("path")
        if path is not None and not Path(path).exists():
            raise ConfigError(f"'{feature.name}:{path}': there is no such file or folder.")
    if any(feature.settings or feature.entry.package for feature in features):
        make_feature(media_type, written)


def missing_modules(entry: FeatureEntry) -> list[str]:
    """Return the optional packages a feature needs that are not installed; none is imported."""
    return [module for module in entry.modules if find_spec(module) is None]


def _constructor(name: str, entry: FeatureEntry) -> "Callable[..., Feature[Any]]":
    """What makes a feature, its module imported."""
    makers = [_load(name, target, entry) for target in entry.target.split("+")]
    return makers[0] if len(makers) == 1 else lambda: _composed([make() for make in makers])


def _load(name: str, target: str, entry: FeatureEntry) -> "Callable[..., Feature[Any]]":
    module, _, attribute = target.partition(":")
    try:
        loaded: Callable[..., Feature[Any]] = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        if entry.package is not None:
            raise ConfigError(
                f"the feature '{name}' of the package {entry.package} cannot be imported ({error}); mend or remove it."
            ) from None
        if not isinstance(error, ModuleNotFoundError) or entry.extra is None or str(error.name).startswith("diptych"):
            raise
        raise ConfigError(f"'{name}' needs the optional package '{error.name}'; run: {entry.remedy}") from None
    return loaded


def _composed(features: "list[Feature[Any]]") -> "Feature[Any]":
    from diptych.features.contract import Composition  # so that listing the features imports no numbers

    return Composition(tuple(features))
