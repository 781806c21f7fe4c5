"""Preprocessing of images for pretrained encoders, and how they enter an encoder's graph."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from diptych._core.arrays import ImageArray, Singles
from diptych._core.errors import ConfigError
from diptych._core.state import stateful
from diptych.features.encoder_files import FLOATS, EncoderFolder
from diptych.features.image import check_image

_RESAMPLING = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}
"""Pillow's numbers, which the files hold."""

CLIP_MEAN = (0.48145466, 0.4578275, 0.40821073)
CLIP_STD = (0.26862954, 0.26130258, 0.27577711)

Layout = Literal["channels first", "channels last"]
_CHANNELS = 3
_USUAL_SIDE = 224


def batches(items: Sequence[ImageArray], size: int, height: int, width: int) -> Iterator[Singles]:
    """Resize images to one size without keeping proportions, in batches of at most `size`.

    A batch is images × height × width × 3, 0 to 255; bicubic, widened where images shrink so that every pixel counts.
    """
    for start in range(0, len(items), size):
        yield np.stack([_resized(check_image(item), height, width) for item in items[start : start + size]])


def _resized(image: ImageArray, height: int, width: int) -> Singles:
    resized = Image.fromarray(image).resize((width, height), Image.Resampling.BICUBIC)
    return np.asarray(resized, dtype=np.float32)


@stateful
@dataclass(frozen=True)
class Preprocessing:
    """Resize, crop, rescale and normalise, in this order.

    Attributes:
        resize: height and width that images are resized to; a single number is the shorter side, proportions kept.
        height: of the middle that is cut out then.
        width: of it.
        resample: how Pillow resizes.
        factor: what bytes are multiplied by.
        mean: what is then subtracted from each colour.
        std: what each colour is then divided by.
    """

    resize: tuple[int, ...]
    height: int
    width: int
    resample: str
    factor: float
    mean: tuple[float, float, float]
    std: tuple[float, float, float]

    def __call__(self, image: ImageArray) -> Singles:
        """Convert an image to the encoder's input: height × width × 3."""
        whole = Image.fromarray(check_image(image))
        resampling = Image.Resampling[self.resample.upper()]
        if len(self.resize) == 2:
            height, width = self.resize
        else:
            (shortest,) = self.resize
            scale = shortest / min(whole.size)
            width, height = (shortest if side == min(whole.size) else int(side * scale) for side in whole.size)
        pixels = self._cropped(np.asarray(whole.resize((width, height), resampling), dtype=np.float32))
        values = (pixels * self.factor - np.array(self.mean)) / np.array(self.std)
        return np.asarray(values, dtype=np.float32)

    def _cropped(self, pixels: Singles) -> Singles:
        """Cut out the middle of an image, padded with black where it is smaller."""
        missing = [max(0, wanted - have) for wanted, have in zip((self.height, self.width), pixels.shape, strict=False)]
        padded = np.pad(pixels, [*((gap // 2, gap - gap // 2) for gap in missing), (0, 0)])
        top, left = (padded.shape[0] - self.height) // 2, (padded.shape[1] - self.width) // 2
        return padded[top : top + self.height, left : left + self.width]


def read_preprocessing(folder: EncoderFolder) -> Preprocessing:
    """Read the preprocessing from an encoder's folder.

    Raises:
        ConfigError: when no file says so, or says something that is not known here.
    """
    processor = folder.json("preprocessor_config.json")
    if processor is None:
        processor = (folder.json("processor_config.json") or {}).get("image_processor")
    if processor is not None:
        return _of_transformers(processor, folder)
    clip = folder.json("open_clip_config.json")
    if clip is not None:
        return _of_open_clip(clip, folder)
    raise ConfigError(
        f"{folder.path} says nowhere how images are prepared: it has neither preprocessor_config.json nor "
        f"open_clip_config.json; {folder.found()}."
    )


def _of_transformers(config: Mapping[str, Any], folder: EncoderFolder) -> Preprocessing:
    where = f"{folder.path / 'preprocessor_config.json'}"
    resize = _size(config.get("size", 224), f"{where}: size")
    if not config.get("do_resize", True):
        raise ConfigError(f"{where}: images are not resized (do_resize is false), and an encoder takes one size.")
    if config.get("do_center_crop", False):
        crop = _size(config.get("crop_size", config.get("size", 224)), f"{where}: crop_size")
        final = crop[0], crop[-1]
    elif config.get("crop_pct") and len(resize) == 1:
        final, resize = (resize[0], resize[0]), (int(resize[0] / float(config["crop_pct"])),)
    else:
        final = resize[0], resize[-1]
        if isinstance(config.get("size", 224), int):
            resize = final  # a bare number without a crop means a square
    return Preprocessing(
        resize,
        *final,
        _resampling(config.get("resample", 3), where),
        float(config.get("rescale_factor", 1 / 255)) if config.get("do_rescale", True) else 1.0,
        *_colours(config if config.get("do_normalize", True) else {}, "image_mean", "image_std", where),
    )


def _of_open_clip(config: Mapping[str, Any], folder: EncoderFolder) -> Preprocessing:
    where = f"{folder.path / 'open_clip_config.json'}"
    steps, vision = config.get("preprocess_cfg", {}), config.get("model_cfg", {}).get("vision_cfg", {})
    size = _size(steps.get("size") or vision.get("image_size", 224), f"{where}: size")
    height, width = size[0], size[-1]
    mode = steps.get("resize_mode", "shortest")
    if mode not in ("shortest", "squash"):
        raise ConfigError(f"{where}: resize_mode is {mode!r}; 'shortest' and 'squash' are known here.")
    named = {"image_mean": steps.get("mean", CLIP_MEAN), "image_std": steps.get("std", CLIP_STD)}
    return Preprocessing(
        (min(height, width),) if mode == "shortest" else (height, width),
        height,
        width,
        _resampling(steps.get("interpolation", "bicubic"), where),
        1 / 255,
        *_colours(named, "image_mean", "image_std", where),
    )


def _size(size: Any, where: str) -> tuple[int, ...]:  # noqa: ANN401 - as the file has it
    """The shorter side, or height and width."""
    match size:
        case int():
            return (size,)
        case {"shortest_edge": int(side)}:
            return (side,)
        case [int(height), int(width)] | {"height": int(height), "width": int(width)}:
            return height, width
    raise ConfigError(f"{where} is {size!r}; a number, shortest_edge, or height and width are known here.")


def _resampling(value: Any, where: str) -> str:  # noqa: ANN401
    name = _RESAMPLING.get(value, "") if isinstance(value, int) else str(value).lower()
    if name == "random":
        name = "bicubic"  # a choice for training
    if name not in _RESAMPLING.values():
        raise ConfigError(f"{where}: images are resized by {value!r}; {', '.join(_RESAMPLING.values())} are known.")
    return name


def _colours(
    config: Mapping[str, Any], mean: str, std: str, where: str
) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Mean and standard deviation of each colour; 0 and 1 where they are not said."""
    found = []
    for name, usual in ((mean, 0.0), (std, 1.0)):
        values = config.get(name, usual)
        values = [values] * 3 if isinstance(values, int | float) else list(values)
        if len(values) != 3 or (name == std and min(values) <= 0):
            raise ConfigError(f"{where}: {name} is {values}; three numbers are needed, those of std above 0.")
        found.append((float(values[0]), float(values[1]), float(values[2])))
    return found[0], found[1]


@stateful
@dataclass(frozen=True)
class PictureInput:
    """The input of a graph that takes images; saved pipelines hold this class by its name.

    Attributes:
        name: what the graph calls it.
        layout: whether colours are the second axis or the last.
        height: of the images it takes.
        width: of the images it takes.
        batch: how many it takes at once, 0 for any number.
        dtype: "float32" or "float16".
    """

    name: str
    layout: Layout
    height: int
    width: int
    batch: int
    dtype: str

    def arrange(self, images: Singles) -> NDArray[Any]:
        """Convert images × height × width × colours to the graph's layout, type and batch, padded with zeros."""
        missing = max(self.batch - len(images), 0)
        filled = np.pad(images, ((0, missing), (0, 0), (0, 0), (0, 0))) if missing else images
        ordered = filled.transpose(0, 3, 1, 2) if self.layout == "channels first" else filled
        return np.ascontiguousarray(ordered, dtype=self.dtype)


def read_image_input(session: Any, side: int | None) -> PictureInput:  # noqa: ANN401
    """Find the one input, its layout and its size; `side` fills in what the graph leaves open (224 if not given).

    Raises:
        ConfigError: when the graph takes something else than images, or images of another size.
    """
    inputs = session.get_inputs()
    if len(inputs) != 1:
        raise ConfigError(
            f"the encoder has the inputs {[i.name for i in inputs]}; give a file with a single one, images."
        )
    (image_input,) = inputs
    shape = tuple(image_input.shape)
    if image_input.type not in FLOATS:
        raise ConfigError(f"the encoder's input is {image_input.type}; it must be one of {', '.join(FLOATS)}.")
    if len(shape) != 4 or _CHANNELS not in (shape[1], shape[3]):
        raise ConfigError(
            f"the encoder's input has shape {shape}; it must have 4 axes with 3 colours as second or last."
        )
    layout: Layout = "channels first" if shape[1] == _CHANNELS else "channels last"
    height, width = (_length(axis, side) for axis in (shape[2:] if layout == "channels first" else shape[1:3]))
    batch = shape[0] if isinstance(shape[0], int) else 0
    return PictureInput(image_input.name, layout, height, width, batch, FLOATS[image_input.type])


def _length(axis: object, side: int | None) -> int:
    if not isinstance(axis, int):
        return side or _USUAL_SIDE
    if side is not None and side != axis:
        raise ConfigError(f"side is {side}, but the encoder takes images of {axis} pixels; leave side out.")
    return axis
