"""The registry: features by the media type they read and their name, imported only when they are asked for.

See `diptych.features.notation` for how features are written, and `diptych.features.catalogue` for which there are.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diptych._core.errors import ConfigError
from diptych.features.catalogue import BUILT_IN, FeatureEntry, features_of
from diptych.features.notation import converted, read_features

if TYPE_CHECKING:
    from diptych.features.contract import Feature

DEFAULT_FEATURES: dict[str, str] = {"image": "efficientnet-lite0", "audio": "logmel", "text": "minilm"}
"""What each media type is read by where nothing else is said."""


def media_types() -> list[str]:
    """Return the media types that features read: "image", "audio" and "text"."""
    return list(BUILT_IN)


def feature_names(media_type: str) -> dict[str, str]:
    """Return every feature of a media type as it is written, with its summary."""
    return {_as_written(name, entry): entry.summary for name, entry in features_of(media_type).items()}


def describe_features(media_type: str) -> list[dict[str, Any]]:
    """Describe a media type's features, for tables and JSON; none is imported."""
    default = DEFAULT_FEATURES.get(media_type)
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
            "default": name == default,
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
