"""Draw SVG files as pixels: nothing outside the file is read, and what would take too long is refused.

The renderer follows references to files on disk and spends minutes on a few hundred bytes of nested masks or filters,
so a file is checked, and stripped of filters, before the renderer sees it.
"""

import binascii
import re
from base64 import b64decode
from collections.abc import Iterator
from io import BytesIO
from typing import Any, cast
from xml.etree import ElementTree

import numpy as np
from PIL import Image

from diptych._core.arrays import ImageArray
from diptych._core.errors import DataError

SIDE = 320
"""Pixels of the longer side; features look at less."""

_MOST_BYTES = 20 * 2**20
_MOST_COST = 50_000
_LAYER_COST = 200
_MOST_DEPTH = 64
_MOST_RATIO = 50.0
_MOST_EMBEDDED_PIXELS = 16_000_000
_EMBEDDED_PIXELS_PER_COST = 1_600
"""An embedded image is decoded each time that it is drawn."""
_LAYERED = re.compile(r"opacity|mask|clip-path|mix-blend|pattern")
_REFERENCE = re.compile(r"url\(\s*['\"]?#([^'\")\s]+)")
_FILTER_RULE = re.compile(r"(?<![\w-])filter\s*:[^;}]*;?")
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
    _remove_filters(root)
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


def _remove_filters(root: ElementTree.Element) -> None:
    """Draw everything without filters: shadows and blurs say little, and the renderer may spend minutes on one."""
    for parent in root.iter():
        for child in list(parent):
            if _local(child.tag) == "filter":
                parent.remove(child)
        parent.attrib.pop("filter", None)
        if "style" in parent.attrib:
            parent.attrib["style"] = _FILTER_RULE.sub("", parent.attrib["style"])
        if _local(parent.tag) == "style" and parent.text:
            parent.text = _FILTER_RULE.sub("", parent.text)


class _Cost:
    """How much there is to draw once every reference is followed; layers and embedded images cost more than shapes."""

    def __init__(self, root: ElementTree.Element, embedded: dict[ElementTree.Element, int]) -> None:
        self._embedded = embedded
        self._by_id = {element.get("id"): element for element in root.iter() if element.get("id")}
        sheets = " ".join(element.text or "" for element in root.iter() if _local(element.tag) == "style")
        self._sheet_targets = set(_REFERENCE.findall(sheets))
        self._sheet_layers = bool(_LAYERED.search(sheets))
        self._known: dict[ElementTree.Element, float] = {}

    def of(self, element: ElementTree.Element) -> float:
        """The cost of an element with all below it; a reference that leads back to itself is not drawn."""
        if element in self._known:
            return self._known[element]
        self._known[element] = 0.0
        written = " ".join(f"{_local(name)} {value}" for name, value in element.attrib.items() if _local(name) != "d")
        targets = _REFERENCE.findall(written)
        targets += [value.strip()[1:] for name, value in element.attrib.items() if _local(name) == "href"]
        styled = self._sheet_layers and element.get("class") is not None
        if element.get("class") is not None:
            targets += [target for target in self._sheet_targets if self._draws(target)]
        layered = styled or _LAYERED.search(written) or _local(element.tag) in ("pattern", "mask")
        cost = float(_LAYER_COST if layered else 1) + self._embedded.get(element, 0) / _EMBEDDED_PIXELS_PER_COST
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
