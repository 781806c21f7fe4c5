"""The page, a handful of files that are read once and served from memory, and what it shows of the whole index."""

import asyncio
import gzip
import hashlib
from collections import Counter
from dataclasses import dataclass
from importlib.resources import files
from typing import Annotated, Literal

import numpy as np
from fastapi import APIRouter, FastAPI, Request
from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

from diptych.serving.app import errors, service_of, settings_of
from diptych.serving.errors import Problem
from diptych.serving.security import MAY_READ, key_in, keys_of
from diptych.serving.service import SearchBackend

router = APIRouter(prefix="/v1", tags=["explore"], dependencies=[MAY_READ])
_MOST_POINTS = 20_000
_BYTES = "application/octet-stream"
_NO_LABEL = 65_535


class Projection(BaseModel):
    """The space in two dimensions, column by column."""

    ids: list[str]
    modalities: list[str]
    labels: list[str | None]
    x: list[float]
    y: list[float]
    total: Annotated[int, Field(description="Items placed; fewer are sent where there are very many.")]


class Limits(BaseModel):
    """What this server reads and allows."""

    writes: bool
    key_needed: bool
    role: Annotated[
        Literal["none", "read", "write", "admin"], Field(description="What the key that was sent allows.")
    ] = "none"
    max_upload_bytes: int
    max_pixels: int
    max_seconds: float
    max_results: int


class Info(BaseModel):
    """What is served, as far as it is known."""

    model_config = ConfigDict(extra="allow")

    purposes: Annotated[
        list[str], Field(description="What a query may look for; empty where the index has a single space.")
    ] = []
    limits: Limits


@router.get("/info", responses=errors())
async def info(request: Request) -> Info:
    """What is served: dataset, model, counts, examples, and what this server allows."""
    keys, settings = keys_of(request), settings_of(request)
    limits = Limits(
        writes=keys.writes,
        key_needed=keys.needed,
        max_upload_bytes=settings.max_upload_bytes,
        max_pixels=settings.max_pixels,
        max_seconds=settings.max_seconds,
        max_results=settings.max_results,
        role=keys.role(key_in(request)) or "none",
    )
    return Info(**{**await service_of(request).info(), "limits": limits})


@router.get("/projection", responses=errors(404), response_model=Projection)
async def projection(request: Request) -> Response:
    """All items in two dimensions, near those they are like."""
    service = service_of(request)
    kept = request.app.state.projection
    if kept is None or kept[0] != service.version:
        kept = service.version, await service.read(_packed_projection)
        request.app.state.projection = kept
    if kept[1] is None:
        raise Problem(404, "no_projection", "this index was made without a projection.")
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(kept[1], media_type="application/json", headers={"Content-Encoding": "gzip"})
    return Response(await asyncio.to_thread(gzip.decompress, kept[1]), media_type="application/json")


@router.get(
    "/map",
    responses=errors(404) | {200: {"content": {_BYTES: {"schema": {"type": "string", "format": "binary"}}}}},
    response_class=Response,
)
async def item_map(request: Request) -> Response:
    """All items in two dimensions, each once, as columns of bytes.

    Four bytes say how long the JSON after them is, all numbers being little-endian: `count`, the names of the `labels`,
    the `ids`, and `names` for items without a label that lie together: each a zoom level (0 for the whole, each further
    one twice as near), x, y, how many items it is about, and words of their texts. Blanks fill it up to a multiple of
    four bytes. Then follow as many single-precision numbers for x, as many for y, and 16-bit codes of the labels, 65535
    for none.
    """
    service, kept = service_of(request), request.app.state.map
    if kept is None or kept[0] != service.version:
        kept = service.version, await service.read(_packed_map, slow=True)
        request.app.state.map = kept
    if kept[1] is None:
        raise Problem(404, "no_projection", "this index was made without a projection.")
    mark = f'"{hashlib.blake2b(kept[1], digest_size=12).hexdigest()}"'
    headers = {"ETag": mark, "Cache-Control": "private, no-cache"}
    if request.headers.get("if-none-match") == mark:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(kept[1], media_type=_BYTES, headers=headers | {"Content-Encoding": "gzip"})
    return Response(await asyncio.to_thread(gzip.decompress, kept[1]), media_type=_BYTES, headers=headers)


def _packed_map(searcher: SearchBackend) -> bytes | None:
    drawn = searcher.map()
    if drawn is None:
        return None
    shown = [_label(label) for label in drawn.labels]
    counts = Counter(label for label in shown if label is not None)
    names = [name for name, _ in counts.most_common(_NO_LABEL)]
    codes = {name: code for code, name in enumerate(names)}
    words = [(one.level, one.x, one.y, one.count, one.words) for one in drawn.names]
    head = to_json({"count": len(drawn.ids), "labels": names, "ids": list(drawn.ids), "names": words})
    head += b" " * (-len(head) % 4)
    columns = [
        np.asarray(drawn.positions[:, 0], "<f4"),
        np.asarray(drawn.positions[:, 1], "<f4"),
        np.array([_NO_LABEL if label is None else codes.get(label, _NO_LABEL) for label in shown], "<u2"),
    ]
    whole = len(head).to_bytes(4, "little") + head + b"".join(column.tobytes() for column in columns)
    return gzip.compress(whole, 5)


def _packed_projection(searcher: SearchBackend) -> bytes | None:
    points = searcher.projection()
    if points is None:
        return None
    chosen = points[:: max(1, -(-len(points) // _MOST_POINTS))]
    columns = Projection(
        ids=[point["id"] for point in chosen],
        modalities=[point["modality"] for point in chosen],
        labels=[_label(point.get("label")) for point in chosen],
        x=[round(float(point["x"]), 5) for point in chosen],
        y=[round(float(point["y"]), 5) for point in chosen],
        total=len(points),
    )
    return gzip.compress(columns.model_dump_json().encode(), 5)


def _label(label: object) -> str | None:
    """The first of several labels gives a point its colour."""
    if isinstance(label, list | tuple):
        label = label[0] if label else None
    return None if label is None else str(label)


_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "json": "application/json",
}


@dataclass(frozen=True)
class PageFile:
    """One file of the page, as it is and packed."""

    content: bytes
    packed: bytes
    kind: str
    mark: str


def page_files() -> dict[str, PageFile]:
    """Every file of the page by its name."""
    found: dict[str, PageFile] = {}
    for entry in files("diptych.serving").joinpath("page").iterdir():
        kind = _TYPES.get(entry.name.rpartition(".")[2])
        if kind is not None:
            content = entry.read_bytes()
            mark = f'"{hashlib.blake2b(content, digest_size=12).hexdigest()}"'
            found[entry.name] = PageFile(content, gzip.compress(content, 9, mtime=0), kind, mark)
    return found


def add_page(app: FastAPI) -> None:
    """Serve the page at / and its files under /page/.

    A first visit asks for twenty of them at once: their routes are plain ones, and are looked at before all others.
    """
    known = page_files()

    async def start(request: Request) -> Response:
        return _as_response(known["index.html"], request)

    async def serve(request: Request) -> Response:
        file = known.get(request.path_params["name"])
        if file is None:
            raise HTTPException(404)
        return _as_response(file, request)

    app.router.routes[:0] = [Route("/page/{name}", serve), Route("/", start)]


def _as_response(file: PageFile, request: Request) -> Response:
    headers = {"ETag": file.mark, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
    if request.headers.get("if-none-match") == file.mark:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.packed, media_type=file.kind, headers=headers | {"Content-Encoding": "gzip"})
    return Response(file.content, media_type=file.kind, headers=headers)
