"""The items of the index: list, get, add, replace, delete; and their images and sounds."""

import hashlib
import re
from collections.abc import Mapping
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from pydantic import Field
from starlette.responses import Response

from diptych._core.errors import DataError
from diptych.media import KINDS, content_type
from diptych.serving.app import ItemId, body_of, errors, service_of, settings_of
from diptych.serving.errors import Problem, not_found
from diptych.serving.requests import check_metadata, item_in, item_list, item_out, items_in, json_body
from diptych.serving.schemas import (
    LONGEST_ID,
    MOST_IDS,
    AddRequest,
    Changed,
    Id,
    Into,
    ItemBody,
    ItemChange,
    ItemForm,
    ItemList,
    ItemOut,
    Strict,
    Where,
)
from diptych.serving.security import MAY_READ, MAY_WRITE, audit_of
from diptych.serving.service import SearchBackend

router = APIRouter(prefix="/v1/items", tags=["items"])
_reads, _writes = [MAY_READ], [MAY_WRITE]


class ListQuery(Strict):
    """Which items to list."""

    where: Where = None
    modality: Into = None
    after: Annotated[str, Query(max_length=LONGEST_ID, description="The last id of the page before.")] = ""
    limit: Annotated[int, Query(ge=1, le=1000)] = 100


class DeleteRequest(Strict):
    """Entries to delete, all or none."""

    ids: Annotated[list[Id], Field(min_length=1, max_length=MOST_IDS)]
    whole: Annotated[bool, Field(description="Delete the other entries of their items as well.")] = False
    missing_ok: Annotated[bool, Field(description="Pass over ids that are not there.")] = False


@router.get("", responses=errors(), dependencies=_reads)
async def list_items(request: Request, query: Annotated[ListQuery, Query()]) -> ItemList:
    """Items in the order of their ids, a page at a time."""
    asked = query.model_dump()
    found = await service_of(request).read(lambda searcher: searcher.list(**asked), slow=query.where is not None)
    return item_list(found, query.limit)


@router.post(
    "",
    status_code=201,
    responses=errors(403, 409, body=True),
    dependencies=_writes,
    openapi_extra=body_of(AddRequest, ItemForm),
)
async def add_items(request: Request) -> Changed:
    """Add items, all or none."""
    service = service_of(request)
    items, replace = await items_in(request, settings_of(request))
    try:
        async with audit_of(request).noting(request, "replace" if replace else "add", [item.id for item in items]):
            return Changed(count=await service.add(items, replace=replace))
    except DataError as error:
        for item in items if not replace else ():
            if await service.read(lambda searcher, id=item.id: searcher.get(id)) is not None:  # type: ignore[misc]
                raise Problem(409, "exists", f"there is an item {item.id[:200]!r} already; replace it.") from None
        raise error


@router.get("/{id:path}", responses=errors(404), dependencies=_reads)
async def get_item(id: ItemId, request: Request) -> ItemOut:
    """One item."""
    found = await service_of(request).read(lambda searcher: searcher.get(id))
    if found is None:
        raise not_found(id)
    return item_out(found)


@router.put(
    "/{id:path}",
    responses=errors(403, body=True),
    dependencies=_writes,
    openapi_extra=body_of(ItemBody, ItemForm),
)
async def put_item(id: ItemId, request: Request) -> Changed:
    """Give an item this content, whether it is there already or not."""
    item = await item_in(request, id, settings_of(request))
    async with audit_of(request).noting(request, "replace", [id]):
        return Changed(count=await service_of(request).add([item], replace=True))


@router.patch(
    "/{id:path}", responses=errors(403, 404, body=True), dependencies=_writes, openapi_extra=body_of(ItemChange)
)
async def change_item(id: ItemId, request: Request) -> Changed:
    """Change an item's text and what is known of it, in all its entries."""
    body = await json_body(request, ItemChange)
    check_metadata(id, body.metadata, settings_of(request))
    async with audit_of(request).noting(request, "change", [id]):
        count = await service_of(request).edit(id, body.text, body.metadata)
    if not count:
        raise not_found(id)
    return Changed(count=count)


@router.delete("/{id:path}", responses=errors(403, 404), dependencies=_writes)
async def delete_item(
    id: ItemId,
    request: Request,
    whole: Annotated[bool, Query(description="Delete the other entries of its item as well.")] = False,
) -> Changed:
    """Delete an entry, or the whole item that it is of."""
    async with audit_of(request).noting(request, "remove", [id]):
        count = await service_of(request).remove([id], whole=whole)
    if not count:
        raise not_found(id)
    return Changed(count=count)


@router.post(
    "/delete", responses=errors(403, 404, body=True), dependencies=_writes, openapi_extra=body_of(DeleteRequest)
)
async def delete_items(request: Request) -> Changed:
    """Delete many entries, or the whole items that they are of."""
    body = await json_body(request, DeleteRequest)
    async with audit_of(request).noting(request, "remove", body.ids):
        return Changed(count=await service_of(request).remove(**body.model_dump()))


media_router = APIRouter(prefix="/v1", tags=["media"], dependencies=[MAY_READ])

SHOWN = frozenset(content for kind in KINDS.values() for content in kind.served)
"""What a browser may show or play. All else, drawings that can carry programs too, is only handed over as a file."""

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cache-Control": "private, max-age=300",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_RANGE = re.compile(r"bytes\s*=\s*(?P<first>\d{0,18})-(?P<last>\d{0,18})")
_BINARY = {"schema": {"type": "string", "format": "binary"}}


@media_router.get(
    "/media/{id:path}",
    responses=errors(404, 416)
    | {
        200: {"content": dict.fromkeys([*sorted(SHOWN), "application/octet-stream"], _BINARY)},
        206: {"content": dict.fromkeys([*sorted(SHOWN), "application/octet-stream"], _BINARY)},
        304: {"description": "As it was."},
    },
    response_class=Response,
)
async def media(
    id: ItemId,
    request: Request,
    size: Annotated[Literal["thumbnail", "original"], Query()] = "thumbnail",
) -> Response:
    """An item's image or sound: a thumbnail (of a sound its spectrogram), or the file as it came, whole or a range."""
    service = service_of(request)

    def original(searcher: SearchBackend) -> Response | None:
        found = searcher.original(id)
        return None if found is None else _as_media(*found, request.headers)

    def thumbnail(searcher: SearchBackend) -> Response | None:
        found = searcher.thumbnail(id)
        return None if found is None else _as_media(found, content_type(found), request.headers)

    answer = await (service.read_large(original) if size == "original" else service.read(thumbnail))
    if answer is None:
        raise not_found(id)
    return answer


def _as_media(data: bytes, kind: str, asked: Mapping[str, str]) -> Response:
    mark = f'"{hashlib.blake2b(data, digest_size=12).hexdigest()}"'
    headers = _HEADERS | {"ETag": mark, "Accept-Ranges": "bytes"}
    if asked.get("if-none-match") == mark:
        return Response(status_code=304, headers=headers)
    if kind not in SHOWN:
        kind = "application/octet-stream"
        headers |= {"Content-Disposition": "attachment"}
    wanted = _RANGE.fullmatch(asked.get("range", "").strip()) if asked.get("if-range", mark) == mark else None
    if wanted is None:  # several ranges, and units other than bytes, may be answered by the whole
        return Response(data, media_type=kind, headers=headers)
    start, stop = _bounds(wanted["first"], wanted["last"], len(data))
    if start >= stop:
        sentence = f"the file has {len(data):,} bytes, none of them in the range that was asked for."
        raise Problem(416, "range", sentence, {"Content-Range": f"bytes */{len(data)}"})
    headers |= {"Content-Range": f"bytes {start}-{stop - 1}/{len(data)}"}
    return Response(data[start:stop], 206, media_type=kind, headers=headers)


def _bounds(first: str, last: str, size: int) -> tuple[int, int]:
    """The bytes that a range asks for, as a slice; "-500" asks for the last 500."""
    if not first:
        return (size - min(int(last), size), size) if last else (size, size)
    return int(first), min(int(last) + 1, size) if last else size
