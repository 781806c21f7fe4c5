"""Read from an ONNX graph how pictures enter it and what comes out."""

from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from diptych._core.arrays import Singles
from diptych._core.errors import ConfigError
from diptych._core.state import stateful

Layout = Literal["channels first", "channels last"]
_CHANNELS = 3
_USUAL_SIDE = 224
_TYPES = {"tensor(float)": "float32", "tensor(float16)": "float16"}


@stateful
@dataclass(frozen=True)
class PictureInput:
    """The input of a graph that takes pictures.

    Attributes:
        name: what the graph calls it.
        layout: whether colours are the second axis or the last.
        height: of the pictures it takes.
        width: of the pictures it takes.
        batch: how many it takes at once, 0 for any number.
        dtype: "float32" or "float16".
    """

    name: str
    layout: Layout
    height: int
    width: int
    batch: int
    dtype: str

    def arrange(self, pictures: Singles) -> NDArray[Any]:
        """Bring pictures × height × width × colours to the graph's layout, type and number, filling up with zeros."""
        missing = max(self.batch - len(pictures), 0)
        filled = np.pad(pictures, ((0, missing), (0, 0), (0, 0), (0, 0))) if missing else pictures
        ordered = filled.transpose(0, 3, 1, 2) if self.layout == "channels first" else filled
        return np.ascontiguousarray(ordered, dtype=self.dtype)


def picture_input(session: Any, side: int | None) -> PictureInput:  # noqa: ANN401
    """Find the one input, its layout and its size; `side` fills in what the graph leaves open (224 if not given).

    Raises:
        ConfigError: when the graph takes something else than pictures, or pictures of another size.
    """
    inputs = session.get_inputs()
    if len(inputs) != 1:
        raise ConfigError(
            f"the encoder has the inputs {[i.name for i in inputs]}; give a file with a single one, pictures."
        )
    (entrance,) = inputs
    shape = tuple(entrance.shape)
    if entrance.type not in _TYPES:
        raise ConfigError(f"the encoder's input is {entrance.type}; it must be one of {', '.join(_TYPES)}.")
    if len(shape) != 4 or _CHANNELS not in (shape[1], shape[3]):
        raise ConfigError(
            f"the encoder's input has shape {shape}; it must have 4 axes with 3 colours as second or last."
        )
    layout: Layout = "channels first" if shape[1] == _CHANNELS else "channels last"
    height, width = (_length(axis, side) for axis in (shape[2:] if layout == "channels first" else shape[1:3]))
    batch = shape[0] if isinstance(shape[0], int) else 0
    return PictureInput(entrance.name, layout, height, width, batch, _TYPES[entrance.type])


def _length(axis: object, side: int | None) -> int:
    if not isinstance(axis, int):
        return side or _USUAL_SIDE
    if side is not None and side != axis:
        raise ConfigError(f"side is {side}, but the encoder takes pictures of {axis} pixels; leave side out.")
    return axis


def output_name(session: Any, wanted: str | None) -> str:  # noqa: ANN401
    """The output to read: the wanted one, or the first.

    Raises:
        ConfigError: when the graph has no output of that name.
    """
    names = [output.name for output in session.get_outputs()]
    if wanted is not None and wanted not in names:
        raise ConfigError(f"the encoder has no output '{wanted}'; it has {', '.join(names)}.")
    return wanted or names[0]


def as_rows(output: NDArray[Any], layout: Layout) -> Singles:
    """One row a picture: as it is, or the mean over the picture of maps (four axes in the layout of the input).

    Raises:
        ConfigError: for any other number of axes.
    """
    if output.ndim == 4:
        output = output.mean(axis=(2, 3) if layout == "channels first" else (1, 2), dtype=np.float32)
    if output.ndim != 2:
        raise ConfigError(f"the encoder's output has {output.ndim} axes; name an output with 2 (rows) or 4 (maps).")
    return cast(Singles, output.astype(np.float32))
