"""Requests nobody should send, drawn at random."""

import base64
import json
import struct
import zlib
from typing import Any

from hypothesis import strategies as st

from serving.coloured_shapes import Shape, image

ADDRESSES = [
    "/v1/search",
    "/v1/suggest",
    "/v1/items",
    "/v1/items/{}",
    "/v1/items/delete",
    "/v1/similar/{}",
    "/v1/media/{}",
    "/v1/projection",
    "/v1/info",
    "/page/{}",
    "/{}",
]
METHODS = ["GET", "POST", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS", "BREW"]
IDS = st.one_of(
    st.sampled_from(
        [
            "image:red-circle-train",
            "../../../../etc/passwd",
            "..%2f..%2fetc%2fpasswd",
            "%2e%2e/%2e%2e/index.sqlite",
            "%00",
            "image:red-circle-train%00.png",
            "' or 1=1 --",
            "%ff%fe",
            "%F0%9F%90%B4",
            "a" * 3000,
            "\u202egnp",
        ]
    ),
    st.text(max_size=40),
)
WHOLE = image(Shape("red", "circle", "train"), side=24)


def png(width: int, height: int, body: bytes) -> bytes:
    """A PNG with this header and these packed rows, whether they fit or not."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    packed = zlib.compress(body)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


@st.composite
def damaged(draw) -> bytes:
    """A real image with some bytes changed, or cut off."""
    data = bytearray(WHOLE)
    for _ in range(draw(st.integers(0, 6))):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data[: draw(st.integers(0, len(data)))])


IMAGES = st.one_of(
    st.just(WHOLE),
    damaged(),
    st.binary(max_size=60),
    st.builds(png, st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1), st.just(bytes(100))),
    st.builds(lambda side: png(side, side, bytes(side * (3 * side + 1))), st.sampled_from([1, 500, 1500])),
    st.sampled_from(
        [b"GIF89a" + bytes(30), b"RIFF\xff\xff\xff\xffWEBPVP8 ", b"II*\0\x08\0\0\0\xff\xff", b"BM" + b"\xff" * 60]
    ),
)
NUMBERS = st.one_of(st.integers(), st.floats(), st.sampled_from([10**400, -1, 0, 2**63, 1e308]))
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=20)),
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(st.text(max_size=8), inner, max_size=5)),
    max_leaves=12,
)
WORDS = st.one_of(st.sampled_from(["red", "a blue square", "zebra", "\0", "𝔘𝔫𝔦", "ﷺ" * 500]), st.text(max_size=30))
PARTS = st.one_of(
    st.fixed_dictionaries({"kind": st.just("text"), "text": WORDS}, optional={"weight": NUMBERS}),
    st.fixed_dictionaries({"kind": st.just("item"), "id": IDS}, optional={"weight": NUMBERS}),
    st.fixed_dictionaries({"kind": st.just("image"), "data": IMAGES.map(lambda data: base64.b64encode(data).decode())}),
    JSON,
)
CONDITIONS = st.one_of(
    st.sampled_from(
        ["label = 'red'", "label in ('red'", "(" * 3000, "not " * 100, "a.b.c is null", "1 = 1", "x like '%%%%_'"]
    ),
    st.text(max_size=30),
)
QUERIES = st.fixed_dictionaries(
    {"parts": st.one_of(st.lists(PARTS, max_size=4), JSON)},
    optional={
        "k": NUMBERS,
        "offset": NUMBERS,
        "into": st.one_of(st.sampled_from(["image", "text"]), st.text(max_size=8), JSON),
        "where": st.one_of(CONDITIONS, JSON),
        "mode": st.one_of(st.sampled_from(["hybrid", "vector", "lexical"]), JSON),
        "min_probability": NUMBERS,
        "vector": st.lists(st.floats(), max_size=50),
    },
)
ITEMS = st.fixed_dictionaries(
    {
        "items": st.lists(
            st.fixed_dictionaries({"id": IDS}, optional={"text": WORDS, "metadata": JSON, "data": WORDS}), max_size=3
        )
    },
    optional={"replace": st.booleans()},
)
DELETIONS = st.fixed_dictionaries(
    {"ids": st.one_of(st.lists(IDS, max_size=3), JSON)}, optional={"whole": st.booleans(), "missing_ok": JSON}
)
SEVERAL = [
    b"{",
    b"[" * 100_000,
    b'{"parts": [{"kind": "text", "text": "\\ud800"}]}',
    b"\xff\xfe{}",
    b'{"parts": ' + b"9" * 5000 + b"}",
    b'{"parts": [' + b'{"kind":"text","text":"red"},' * 2000 + b"{}]}",
    b'{"vector": [' + b"1e308," * 20_000 + b"1]}",
]


@st.composite
def requests(draw) -> tuple[str, str, dict[str, Any]]:
    """A method, an address, and the rest of a request."""
    address = draw(st.sampled_from(ADDRESSES)).replace("{}", draw(IDS).replace("?", "%3F").replace("#", "%23"))
    method = draw(st.sampled_from(METHODS))
    options: dict[str, Any] = {}
    if draw(st.booleans()):
        options["params"] = draw(
            st.dictionaries(st.sampled_from(["q", "k", "where", "size", "limit", "after", "x"]), WORDS)
        )
    kind = draw(st.sampled_from(["none", "query", "item", "deletion", "form", "bytes", "json"]))
    if kind in ("query", "item", "deletion", "json"):
        body = draw({"query": QUERIES, "item": ITEMS, "deletion": DELETIONS, "json": JSON}[kind])
        options["content"] = json.dumps(body).encode("utf-8", "surrogatepass")
        options["headers"] = {"content-type": "application/json"}
    elif kind == "form":
        options["files"] = {draw(st.sampled_from(["image", "query", "other"])): ("x.png", draw(IMAGES))}
        options["data"] = {
            draw(st.sampled_from(["query", "item", "weights"])): json.dumps(draw(st.one_of(QUERIES, JSON)))
        }
    elif kind == "bytes":
        options["content"] = draw(st.one_of(st.binary(max_size=50), st.sampled_from(SEVERAL)))
        kinds = ["application/json", "multipart/form-data", "multipart/form-data; boundary=x", "text/plain", ""]
        options["headers"] = {"content-type": draw(st.sampled_from(kinds))}
    return method, clean(address), options


def clean(address: str) -> str:
    """What a client can put on the wire at all; with the host, which a path of two slashes would be taken for."""
    return "http://localhost" + "".join(
        sign for sign in address if sign.isprintable() and not "\ud800" <= sign <= "\udfff"
    )
