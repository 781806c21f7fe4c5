"""The registry: every feature by the medium it reads and its name, imported only when it is asked for.

See `diptych.features.notation` for how features are written.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from diptych._core.errors import ConfigError
from diptych.features.catalogue import FEATURES, FeatureEntry
from diptych.features.contract import Feature
from diptych.features.notation import converted, features_of, read_features

DEFAULT_FEATURES: dict[str, str] = {"image": "efficientnet-lite0", "text": "minilm"}
"""What each medium is read by where nothing else is said."""


def media() -> list[str]:
    """What features can be made of: "image" and "text"."""
    return list(FEATURES)


def feature_names(medium: str) -> dict[str, str]:
    """Every feature of a medium as it is written, with its summary."""
    return {_as_written(name, entry): entry.summary for name, entry in features_of(medium).items()}


def describe_features(medium: str) -> list[dict[str, Any]]:
    """All that is known of a medium's features without importing one: for tables and JSON."""
    default = DEFAULT_FEATURES.get(medium)
    return [
        {
            "medium": medium,
            "name": name,
            "written": _as_written(name, entry),
            "summary": entry.summary,
            "dimension": entry.dimension,
            "kind": entry.kind,
            "needs": None if entry.extra is None else entry.remedy,
            "missing": missing_modules(entry),
            "installed": not missing_modules(entry),
            "default": name == default,
        }
        for name, entry in features_of(medium).items()
    ]


def _as_written(name: str, entry: FeatureEntry) -> str:
    shape = f":{entry.argument.parameter.upper()}" if entry.argument else ""
    return f"{name}[{shape}]" if entry.argument is not None and not entry.argument.required else f"{name}{shape}"


def make_feature(medium: str, written: str) -> Feature[Any]:
    """Make a feature from what a user wrote, such as "bow:1000", "bow:3000,max_df=0.5" or "bow:3000+minilm"."""
    made = []
    for feature in read_features(medium, written):
        make = _constructor(feature.name, feature.entry)
        made.append(make(**feature.values, **converted(make, feature)))
    return made[0] if len(made) == 1 else _composition()(tuple(made))


def import_features(medium: str, written: str) -> None:
    """Make the classes of features known to `diptych._core.state`, so that what was saved of them can be read."""
    features = read_features(medium, written)
    for feature in features:
        _constructor(feature.name, feature.entry)
    if len(features) > 1:
        _composition()


def check_available(medium: str, written: str) -> None:
    """Refuse features that cannot be made here, before any work is done; cheap.

    Raises:
        ConfigError: when a feature is unknown or written wrongly, or an optional package it needs is missing; the
            message says what to type.
    """
    features = read_features(medium, written)
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
    if any(feature.settings for feature in features):
        make_feature(medium, written)


def missing_modules(entry: FeatureEntry) -> list[str]:
    """The optional packages a feature needs that are not installed; none of them is imported."""
    return [module for module in entry.modules if find_spec(module) is None]


def _composition() -> Callable[..., Feature[Any]]:
    return _load("+", "composition:Composition", None)


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
