"""What a model says of the machine it was made on, which is nobody's business where it goes."""

from pathlib import Path
from typing import Any

from diptych.methods import Method

OF_THE_MACHINE = ("cache", "device")
"""Parameters that say where a model was fitted, not what was."""


def without_folders(features: str) -> str:
    """Features as a user wrote them; of an encoder's file the name alone.

    >>> without_folders("onnx:/home/me/encoder.onnx+gist")
    'onnx:encoder.onnx+gist'
    """
    parts = [part.partition(":") for part in features.split("+")]
    return "+".join(f"{name}{colon}{Path(argument).name}" for name, colon, argument in parts)


def params_anywhere(model: Method) -> dict[str, Any]:
    """A model's parameters; those that say where it was fitted have their defaults."""
    usual = model.parameter_defaults()
    return {name: usual[name] if name in OF_THE_MACHINE else value for name, value in model.get_params().items()}
