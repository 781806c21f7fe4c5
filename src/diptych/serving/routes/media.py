"""The pictures of indexed items, and of nothing else."""

import hashlib
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from diptych.media import media_type
from diptych.serving.keys import MAY_READ
from diptych.serving.problems import not_found
from diptych.serving.routes.answers import ItemId, engine_of, errors

router = APIRouter(prefix="/v1", tags=["media"], dependencies=[MAY_READ])

SHOWN = frozenset({"image/avif", "image/bmp", "image/gif", "image/jpeg", "image/png", "image/webp"})
"""What a browser may show. All else, drawings that can carry programs included, is only handed over as a file."""

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cache-Control": "private, max-age=300",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_BINARY = {"schema": {"type": "string", "format": "binary"}}


@router.get(
    "/media/{id:path}",
    responses=errors(404)
    | {
        200: {"content": dict.fromkeys([*sorted(SHOWN), "application/octet-stream"], _BINARY)},
        304: {"description": "As it was."},
    },
    response_class=Response,
)
async def media(
    id: ItemId,
    request: Request,
    size: Annotated[Literal["thumbnail", "original"], Query()] = "thumbnail",
) -> Response:
    """An item's picture, small or as it came."""
    engine = engine_of(request)
    if size == "original":
        found = await engine.read(lambda searcher: searcher.original(id))
    else:
        small = await engine.read(lambda searcher: searcher.thumbnail(id))
        found = None if small is None else (small, media_type(small))
    if found is None:
        raise not_found(id)
    return _as_media(*found, request.headers.get("if-none-match"))


def _as_media(data: bytes, kind: str, known: str | None) -> Response:
    mark = f'"{hashlib.blake2b(data, digest_size=12).hexdigest()}"'
    headers = _HEADERS | {"ETag": mark}
    if known == mark:
        return Response(status_code=304, headers=headers)
    if kind not in SHOWN:
        kind = "application/octet-stream"
        headers |= {"Content-Disposition": "attachment"}
    return Response(data, media_type=kind, headers=headers)
