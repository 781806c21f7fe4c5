"""The page: a handful of files, read once and served from memory."""

import gzip
import hashlib
from dataclasses import dataclass
from importlib.resources import files

from fastapi import FastAPI, Request
from starlette.responses import Response

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
