"""Pixels of images: an opened file of any mode or an SVG becomes sRGB bytes, a large one at a fraction of its size.

A file of a few kilobytes may hold fifty million pixels. They are read in Pillow's own compact form; all that follows
(palettes, transparency, sixteen bits) is done strip by strip, each strip reduced before the next is looked at.

The renderer of SVG follows references to files on disk and spends minutes on a few hundred bytes of nested masks or
filters, so a file is checked, and stripped of filters, before the renderer sees it: nothing outside the file is read,
and what would take too long is refused.
"""

import binascii
import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from io import BytesIO
from math import ceil, sqrt
from typing import Any, cast
from xml.etree import ElementTree

import numpy as np
from PIL import Image

from diptych._core.arrays import ImageArray
from diptych._core.errors import DataError

SHORTER_SIDE = 512
"""Both sides keep so many pixels where an image is decoded at a fraction of its size; features look at fewer."""
MOST_PIXELS = 1_500_000
"""Of a decoded image, however long one of its sides is."""

_STRIP_PIXELS = 1_000_000
_SIXTEEN_BITS = ("I;16", "I;16L", "I;16B", "I;16N")
_ORIENTATION = 0x0112
_TURNS: dict[int, Callable[[np.ndarray], np.ndarray]] = {
    2: lambda pixels: pixels[:, ::-1],
    3: lambda pixels: pixels[::-1, ::-1],
    4: lambda pixels: pixels[::-1],
    5: lambda pixels: pixels.swapaxes(0, 1),
    6: lambda pixels: pixels.swapaxes(0, 1)[:, ::-1],
    7: lambda pixels: pixels[::-1, ::-1].swapaxes(0, 1),
    8: lambda pixels: pixels.swapaxes(0, 1)[::-1],
}


def reduction(width: int, height: int) -> int:
    """Return by which whole number the sides of an image are divided when it is decoded.

    >>> reduction(1000, 900), reduction(4400, 2200), reduction(30_000, 1_000)
    (1, 4, 5)
    """
    by_side = min(width, height) // SHORTER_SIDE
    by_area = ceil(sqrt(width * height / MOST_PIXELS))
    return max(1, by_side, by_area)


def to_array(image: Image.Image) -> ImageArray:
    """Convert an opened image to height × width × 3 bytes: upright, on white, reduced if it is large."""
    factor = reduction(*image.size)
    if image.mode in ("I", "F"):  # their range is that of the whole image
        pixels = _grey(_to_byte_range(np.asarray(image.reduce(factor)).astype(np.float32)))
    elif factor == 1:
        pixels = _plain(image)
    else:
        pixels = np.concatenate(_reduced_strips(image, factor))
    turn = _TURNS.get(_orientation(image))
    return np.ascontiguousarray(pixels if turn is None else turn(pixels))


def _reduced_strips(image: Image.Image, factor: int) -> list[ImageArray]:
    """Reduce the image strip by strip, from top to bottom; a pixel is the mean of those it replaces."""
    width, height = image.size
    rows = max(1, _STRIP_PIXELS // (width * factor)) * factor
    strips = []
    for top in range(0, height, rows):
        strip = image.crop((0, top, width, min(height, top + rows)))
        strips.append(np.asarray(Image.fromarray(_plain(strip)).reduce(factor), dtype=np.uint8))
    return strips


def _plain(image: Image.Image) -> ImageArray:
    if image.mode in _SIXTEEN_BITS:
        return _grey(np.asarray(image).astype(np.float32) / 257)
    if image.has_transparency_data:
        rgba = image.convert("RGBA")
        white = Image.new("RGBA", rgba.size, "white")
        image = Image.alpha_composite(white, rgba)
    return np.asarray(image.convert("RGB"), dtype=np.uint8)


def _orientation(image: Image.Image) -> int:
    """Read the EXIF orientation; 1 (upright) where that cannot be read."""
    try:
        found = image.getexif().get(_ORIENTATION)
        return int(found) if found is not None else 1
    except Exception:  # damaged metadata is no reason to lose the image
        return 1


def _to_byte_range(values: np.ndarray) -> np.ndarray:
    """Scale numbers without a stated range to 0…255 by the smallest usual range that holds them."""
    values = np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0).clip(min=0.0)
    top = float(values.max(initial=0.0))
    fractions = top <= 1.0 and bool((values != np.floor(values)).any())
    if fractions:
        return values * 255
    if top <= 255:
        return values
    return values / 257 if top <= 65535 else values * (255 / top)


def _grey(values: np.ndarray) -> ImageArray:
    return np.repeat(np.rint(values).clip(0, 255).astype(np.uint8)[:, :, None], 3, axis=2)


SIDE = 320
"""Pixels of the longer side; features look at less."""

_MOST_BYTES = 20 * 2**20
_MOST_COST = 50_000
_LAYER_COST = 200
_MOST_DEPTH = 64
_MOST_RATIO = 50.0
_MOST_EMBEDDED_PIXELS = 16_000_000
_EMBEDDED_PIXELS_PER_COST, _OUTLINE_PER_COST, _LONG_OUTLINE = 1_600, 100, 2_000
"""An embedded image is decoded each time that it is drawn."""
_LAYERED = re.compile(r"opacity|mask|clip-path|mix-blend|pattern")
_REFERENCE = re.compile(r"url\(\s*['\"]?#([^'\")\s]+)")
_EFFECT_RULE = re.compile(r"(?<![\w-])(?:filter|stroke-dasharray)\s*:[^;}]*;?", re.IGNORECASE)
_COMMENT, _RULE = re.compile(r"/\*.*?(?:\*/|$)", re.DOTALL), re.compile(r"([^{}]*)\{([^{}]*)\}")
_EMBEDDED_FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
_EMBEDDED = re.compile(r"data:image/(png|jpe?g|gif|webp)\s*;\s*base64\s*,", re.IGNORECASE)
_LENGTH = re.compile(r"\s*\+?(\d*\.?\d+(?:[eE][-+]?\d+)?)\s*(px|pt|pc|mm|cm|in|em|ex)?\s*$")
_PIXELS = {"px": 1.0, "pt": 4 / 3, "pc": 16.0, "mm": 96 / 25.4, "cm": 96 / 2.54, "in": 96.0, "em": 16.0, "ex": 8.0}


class SvgError(DataError):
    """An SVG file that is not drawn, with the reason."""


def draw_svg(data: bytes) -> ImageArray:
    """Draw an SVG on white, its longer side `SIDE` pixels; texts are left out, as they depend on the machine's fonts.

    Raises:
        SvgError: when it is no valid SVG, refers to other files, or would take too long to draw.
    """
    try:
        import resvg_py
    except ModuleNotFoundError:
        raise SvgError("is an SVG, which needs the package 'resvg-py'; run: pip install 'diptych[images]'") from None
    root = _parse(data)
    width, height = _size(root)
    if max(width, height) > _MOST_RATIO * min(width, height):
        raise SvgError(f"the SVG claims a size of {width:g} × {height:g}; it is too narrow to be drawn")
    embedded = _check_references(root)
    _remove_effects(root)
    if _Cost(root, embedded).of(root) > _MOST_COST:
        raise SvgError("the SVG is too intricate to be drawn")
    try:
        drawn = resvg_py.svg_to_bytes(
            svg_string=ElementTree.tostring(root, encoding="unicode"),
            background="white",
            skip_system_fonts=True,
            dpi=96.0,
            width=SIDE if width >= height else None,
            height=None if width >= height else SIDE,
        )
    except ValueError as error:
        raise SvgError(f"the SVG cannot be drawn ({error})") from None
    with Image.open(BytesIO(drawn), formats=["PNG"]) as image:
        return np.ascontiguousarray(np.asarray(image.convert("RGB"), dtype=np.uint8))


def _parse(data: bytes) -> ElementTree.Element:
    """The document's tree, refused as soon as it is nested too deeply."""
    if len(data) > _MOST_BYTES:
        raise SvgError(f"the SVG has {len(data):,} bytes; at most {_MOST_BYTES:,} are drawn")
    if b"<!ENTITY" in data.replace(b"\0", b""):
        raise SvgError("the SVG defines entities, which are not expanded")
    parser: ElementTree.XMLPullParser[Any] = ElementTree.XMLPullParser(("start", "end"))
    root: ElementTree.Element | None = None
    depth = 0
    try:
        for start in range(0, len(data), 2**16):
            parser.feed(data[start : start + 2**16])
            for event, element in cast(Iterator[tuple[str, ElementTree.Element]], parser.read_events()):
                depth += 1 if event == "start" else -1
                root = element if root is None else root
                if depth > _MOST_DEPTH:
                    raise SvgError(f"the SVG is nested more than {_MOST_DEPTH} levels deep")
        parser.close()
    except (ElementTree.ParseError, ValueError) as error:
        raise SvgError(f"not a valid SVG ({error})") from None
    if root is None or _local(root.tag) != "svg":
        raise SvgError("not a valid SVG (its first element is not 'svg')")
    return root


def _size(root: ElementTree.Element) -> tuple[float, float]:
    """Width and height as stated; the view box where they are relative or missing."""
    lengths = [_LENGTH.match(root.get(name, "")) for name in ("width", "height")]
    stated = [float(found[1]) * _PIXELS[found[2] or "px"] for found in lengths if found]
    if len(stated) < 2:
        try:
            box = [float(part) for part in re.split(r"[\s,]+", root.get("viewBox", "").strip())]
        except ValueError:
            box = []
        stated = box[2:4]
    if len(stated) < 2 or not (0 < stated[0] < float("inf") and 0 < stated[1] < float("inf")):
        raise SvgError("the SVG states no size; give it a width and a height, or a viewBox")
    return stated[0], stated[1]


def _check_references(root: ElementTree.Element) -> dict[ElementTree.Element, int]:
    """Refuse references that lead out of the file; returns the pixels of each embedded image."""
    pixels = {}
    for element in root.iter():
        if _local(element.tag) not in ("image", "feImage", "use"):
            continue
        for name, value in element.attrib.items():
            if _local(name) != "href" or value.lstrip().startswith("#"):
                continue
            found = _EMBEDDED.match(value.strip())
            if found is None:
                raise SvgError(
                    f"the SVG refers to something outside it ('{value.strip()[:60]}'), which is not followed"
                )
            pixels[element] = _embedded_pixels(value.strip()[found.end() :])
    return pixels


def _embedded_pixels(encoded: str) -> int:
    try:
        with Image.open(BytesIO(b64decode(encoded)), formats=_EMBEDDED_FORMATS) as image:
            pixels = image.width * image.height
    except (binascii.Error, OSError, ValueError, Image.DecompressionBombError):
        raise SvgError("an image inside the SVG cannot be decoded") from None
    if pixels > _MOST_EMBEDDED_PIXELS:
        raise SvgError(f"an image inside the SVG claims {pixels:,} pixels")
    return pixels


def _remove_effects(root: ElementTree.Element) -> None:
    """Draw everything without filters, markers and dashes: they say little, and one may take the renderer minutes."""
    for parent in root.iter():
        for child in list(parent):
            if _local(child.tag) in ("filter", "marker"):
                parent.remove(child)
        for name in ("filter", "stroke-dasharray"):
            parent.attrib.pop(name, None)
        if "style" in parent.attrib:
            parent.attrib["style"] = _EFFECT_RULE.sub("", _COMMENT.sub("", parent.attrib["style"]))
        if _local(parent.tag) == "style" and parent.text:
            parent.text = _EFFECT_RULE.sub("", _COMMENT.sub("", parent.text))


class _Cost:
    """How much there is to draw once every reference is followed; layers and embedded images cost more than shapes."""

    def __init__(self, root: ElementTree.Element, embedded: dict[ElementTree.Element, int]) -> None:
        self._embedded = embedded
        self._by_id = {element.get("id"): element for element in root.iter() if element.get("id")}
        sheets = " ".join(element.text or "" for element in root.iter() if _local(element.tag) == "style")
        rules = _RULE.findall(sheets)
        general = " ".join(body for names, body in rules if not all("." in name for name in names.split(",")))
        self._styles = [(_REFERENCE.findall(text), bool(_LAYERED.search(text))) for text in (general, sheets)]
        self._known: dict[ElementTree.Element, float] = {}

    def of(self, element: ElementTree.Element) -> float:
        """The cost of an element with all below it; a reference that leads back to itself is not drawn."""
        if element in self._known:
            return self._known[element]
        self._known[element] = 0.0
        outline = sum(len(element.get(name, "")) for name in ("d", "points"))
        written = " ".join(f"{_local(name)} {value}" for name, value in element.attrib.items() if _local(name) != "d")
        targets = _REFERENCE.findall(written)
        targets += [value.strip()[1:] for name, value in element.attrib.items() if _local(name) == "href"]
        style_targets, styled = self._styles[element.get("class") is not None]
        targets += [target for target in set(style_targets) if self._draws(target)]
        layered = styled or _LAYERED.search(written) or _local(element.tag) in ("pattern", "mask")
        cost = float(_LAYER_COST if layered else 1) + self._embedded.get(element, 0) / _EMBEDDED_PIXELS_PER_COST
        cost += outline / _OUTLINE_PER_COST + (outline / _LONG_OUTLINE) ** 2  # a stroke may cross all others
        for target in targets:
            if target in self._by_id:
                cost += self.of(self._by_id[target])
        cost += sum(self.of(child) for child in element)
        self._known[element] = min(cost, 10.0 * _MOST_COST)
        return self._known[element]

    def _draws(self, target: str) -> bool:
        return target in self._by_id and not _local(self._by_id[target].tag).endswith("Gradient")


def _local(name: Any) -> str:  # noqa: ANN401 - comments and processing instructions have functions for tags
    """A name without its namespace."""
    return name.rpartition("}")[2] if isinstance(name, str) else ""
