"""Words of the command line as values: lists, numbers and `--set name=value`."""

import json
import re
import tomllib
from collections.abc import Iterable
from typing import Any

from diptych._core.errors import ConfigError

_WORD = re.compile(r"[A-Za-z_][\w.-]*")
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}


def split_names(text: str) -> tuple[str, ...]:
    """Read names separated by commas.

    >>> split_names("cca, jrl")
    ('cca', 'jrl')
    """
    return tuple(part.strip() for part in text.split(",") if part.strip())


def split_seeds(text: str) -> tuple[int, ...]:
    """Read whole numbers separated by commas."""
    try:
        return tuple(int(part) for part in split_names(text))
    except ValueError:
        raise ConfigError(f"the seeds are '{text}'; write whole numbers with commas, such as 0,1,2.") from None


def split_settings(settings: Iterable[str]) -> dict[str, Any]:
    """Read `name=value` for each setting, the value as a TOML or JSON literal or a plain word."""
    found: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"the setting '{setting}' has no value; write --set name=value.")
        found[name.strip()] = parse_literal(name.strip(), text.strip())
    return found


def split_method_settings(settings: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Read `method.name=value` for each setting."""
    found: dict[str, dict[str, Any]] = {}
    for full, value in split_settings(settings).items():
        method, dot, name = full.partition(".")
        if not dot or not method or not name:
            raise ConfigError(f"the setting '{full}' names no method; write --set method.name=value.")
        found.setdefault(method, {})[name] = value
    return found


def parse_literal(name: str, text: str) -> Any:  # noqa: ANN401 - whatever a literal can be
    """Read one value.

    >>> parse_literal("x", "1e-3"), parse_literal("x", "[1, 2]"), parse_literal("x", "rbf"), parse_literal("x", "null")
    (0.001, [1, 2], 'rbf', None)
    """
    if text in _PYTHON_WORDS:
        raise ConfigError(f"the value of '{name}' is {text}; write {_PYTHON_WORDS[text]}.")
    try:
        return json.loads(text, parse_constant=_refuse)
    except ValueError:
        pass
    try:
        content = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        content = {}
    if list(content) == ["value"]:
        return content["value"]
    if _WORD.fullmatch(text):
        return text
    raise ConfigError(f"the value of '{name}' is '{text}', which is no number, word, list or quoted text.")


def _refuse(word: str) -> None:
    raise ValueError(word)
