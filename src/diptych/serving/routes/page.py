"""The page, a handful of files that are read once and served from memory, and what it shows of the whole index."""

import gzip
import hashlib
from dataclasses import dataclass
from importlib.resources import files

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import Response

from diptych.serving.errors import Problem
from diptych.serving.openapi import errors, service_of, settings_of
from diptych.serving.schemas import Info, Limits, Projection
from diptych.serving.security import MAY_READ, keys_of
from diptych.serving.service import SearchBackend

router = APIRouter(prefix="/v1", tags=["explore"], dependencies=[MAY_READ])
_MOST_POINTS = 20_000


@router.get("/info", responses=errors())
async def info(request: Request) -> Info:
    """What is served: dataset, model, counts, examples, and what this server allows."""
    keys, settings = keys_of(request), settings_of(request)
    limits = Limits(
        writes=keys.writes,
        key_needed=keys.needed,
        max_upload_bytes=settings.max_upload_bytes,
        max_pixels=settings.max_pixels,
        max_results=settings.max_results,
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
    return Response(gzip.decompress(kept[1]), media_type="application/json")


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
    """Serve the page at / and its files under /page/."""
    known = page_files()

    @app.get("/", include_in_schema=False)
    async def start(request: Request) -> Response:
        return _as_response(known["index.html"], request)

    for name, file in known.items():
        _add_file(app, name, file)


def _add_file(app: FastAPI, name: str, file: PageFile) -> None:
    @app.get(f"/page/{name}", include_in_schema=False)
    async def serve(request: Request) -> Response:
        return _as_response(file, request)


def _as_response(file: PageFile, request: Request) -> Response:
    headers = {"ETag": file.mark, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
    if request.headers.get("if-none-match") == file.mark:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.packed, media_type=file.kind, headers=headers | {"Content-Encoding": "gzip"})
    return Response(file.content, media_type=file.kind, headers=headers)
