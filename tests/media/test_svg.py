"""SVG files become pixels, and hostile ones a reason."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from diptych.media import content_problem
from diptych.media.decoding import ImageError, decode_image
from diptych.media.pixels import SIDE
from ingest.images import png

NAMESPACES = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'


def svg(inside="", size='width="200" height="100"', before="") -> bytes:
    return f"{before}<svg {NAMESPACES} {size}>{inside}</svg>".encode()


def bitmap(side: int) -> str:
    """A PNG of a few kilobytes with many pixels, in base64."""
    buffer = io.BytesIO()
    Image.new("1", (side, side)).save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()


RED = '<rect width="100" height="100" fill="#ff0000"/>'


@pytest.mark.parametrize(
    "content",
    [
        svg(RED),
        svg(RED, before='<?xml version="1.0"?>\n<!-- made by hand -->\n<!DOCTYPE svg>\n'),
        b"\xef\xbb\xbf" + svg(RED),
        svg(RED, size='viewBox="0 0 200 100"'),
        svg(RED, size='width="100%" viewBox="0,0,200,100"'),
        svg(RED, size='width="20mm" height="10mm" viewBox="0 0 200 100"'),
        svg(f'<defs><g id="a">{RED}</g></defs><use xlink:href="#a"/>'),
        svg(f'<filter id="f"><feFlood/></filter><g filter="url(#f)" style="filter:blur(3px)">{RED}</g>'),
    ],
)
def test_the_left_half_is_red_and_the_rest_white(content) -> None:
    image = decode_image(content)
    assert image.shape[1] == SIDE and abs(image.shape[0] - SIDE // 2) <= 1
    image = image[: SIDE // 2 - 1]
    assert (image[:, : SIDE // 2 - 1] == (255, 0, 0)).all()
    assert (image[:, SIDE // 2 + 1 :] == 255).all()


def test_an_image_inside_is_drawn() -> None:
    data = base64.b64encode(png("inside")).decode()
    image = decode_image(svg(f'<image href="data:image/png;base64,{data}" width="200" height="100"/>'))
    assert np.ptp(image) > 100


def nested(count: int, tag: str, link: str) -> bytes:
    """A few bytes that stand for two to the power of `count` drawings."""
    levels = "".join(
        f'<{tag} id="n{n}"><rect width="9" height="9" {link.format(n + 1)}/><rect width="5" height="5" '
        f"{link.format(n + 1)}/></{tag}>"
        for n in range(count)
    )
    return svg(f'<defs>{levels}<{tag} id="n{count}">{RED}</{tag}></defs><rect width="9" height="9" {link.format(0)}/>')


USES = "".join(f'<g id="u{n}">{f"""<use href="#u{n + 1}"/>""" * 10}</g>' for n in range(6)) + f'<g id="u6">{RED}</g>'
LARGE = bitmap(4_000)
HUGE = base64.b64encode(
    b"\x89PNG\r\n\x1a\n" + bytes.fromhex("0000000d49484452000061a8000061a80100000000") + b"\0\0\0\0"
).decode()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (
            svg('<image href="/etc/secret.png" width="9" height="9"/>'),
            r"outside it \('/etc/secret.png'\), which is not followed",
        ),
        (svg('<image xlink:href="http://x.org/a.png" width="9" height="9"/>'), "refers to something outside"),
        (svg('<use href="other.svg#a"/>'), "refers to something outside"),
        (svg('<image href="data:image/svg+xml;base64,AAAA" width="9" height="9"/>'), "refers to something outside"),
        (svg(f'<image href="data:image/png;base64,{HUGE}" width="9" height="9"/>'), "an image inside the SVG"),
        (svg("&a;", before='<!DOCTYPE svg [<!ENTITY a "aaaa">]>'), "defines entities"),
        (svg(RED, size='width="9000000" height="1"'), "too narrow"),
        (svg(RED, size=""), "states no size"),
        (svg(RED, size='width="0" height="0"'), "states no size"),
        (svg(RED, size='width="1e400" height="1e400"'), "states no size"),
        (svg("<g>" * 200 + "</g>" * 200), "nested more than 64 levels"),
        (svg(f"<defs>{USES}</defs><use href='#u0'/>"), "too intricate"),
        (nested(14, "mask", 'mask="url(#n{})"'), "too intricate"),
        (nested(14, "pattern", 'fill="url(#n{})"'), "too intricate"),
        (svg('<g opacity="0.9"/>' * 2000), "too intricate"),
        (
            svg(f'<image id="a" href="data:image/png;base64,{LARGE}"/>' + '<use href="#a"/>' * 50),
            "too intricate",
        ),
        (svg(f"<style>rect{{mask:url(#m)}}</style><mask id='m'>{RED}</mask>" + RED * 300), "too intricate"),
        (svg("<style>.a,g{opacity:.5}</style>" + "<g/>" * 300), "too intricate"),
        (svg(f'<path stroke="red" d="M0 0{"L9 9L0 0" * 60_000}"/>'), "too intricate"),
        (svg("<g>")[:-6], "not a valid SVG"),
        (b"<html><body><svg></svg></body></html>", "not a valid SVG .its first element is not 'svg'"),
    ],
)
def test_hostile_drawings_get_their_reason(content, reason) -> None:
    with pytest.raises(ImageError, match=reason):
        decode_image(content)


ZIGZAG = "M0 50" + "".join(f"L{number % 200} {number * 37 % 100}" for number in range(2_000))
DASHES = f"M0 0{'L200 100L0 0' * 20}"


@pytest.mark.parametrize(
    ("plain", "laborious"),
    [
        (
            f'<path d="{ZIGZAG}" stroke="red"/>',
            f'<marker id="m" markerWidth="9" markerHeight="9">{RED * 50}</marker>'
            f'<path d="{ZIGZAG}" stroke="red" marker-mid="url(#m)"/>',
        ),
        (
            f'<path d="{DASHES}" stroke="red"/>',
            f'<path d="{DASHES}" stroke="red" stroke-dasharray="20"/>',
        ),
        (
            f'<path d="{DASHES}" stroke="red"/>',
            f'<style>path{{stroke-/**/dasharray:9;STROKE-DASHARRAY/* */:20}}</style><path d="{DASHES}" stroke="red"/>',
        ),
    ],
    ids=["markers", "dashes", "styled"],
)
def test_what_a_few_bytes_repeat_without_end_is_left_out(plain, laborious) -> None:
    assert (decode_image(svg(laborious)) == decode_image(svg(plain))).all()


def test_circles_of_references_end() -> None:
    loop = svg('<g id="a"><use href="#b"/></g><g id="b"><use href="#a"/></g>' + RED)
    try:
        decode_image(loop)
    except ImageError as error:
        assert "cannot be drawn" in str(error)


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        (b"\0\0\0\x18ftypheic\0\0\0\0", "is HEIC, which is not decoded; convert it to JPEG or PNG"),
        (b"\0\0\0\x18ftypmp42\0\0\0\0", "is a video"),
        (b"%PDF-1.7\n", "is PDF"),
        (b"", "is empty"),
        (b"hello there", "it holds text"),
    ],
)
def test_files_that_are_no_images_say_so_by_their_first_bytes(start, reason) -> None:
    assert reason in content_problem(start)
    with pytest.raises(ImageError, match=r"is not decoded|is empty|holds text"):
        decode_image(start)


def test_images_pass_by_their_first_bytes() -> None:
    assert content_problem(png("x")[:64]) is None
    assert content_problem(svg(RED)[:64]) is None
    assert content_problem(b"\0\0\x02\0\0\0\0\0") is None
