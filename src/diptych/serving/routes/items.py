"""The items of the index: list, get, add, replace, delete."""

from typing import Annotated

from fastapi import APIRouter, Query, Request

from diptych._core.errors import DataError
from diptych.serving.keys import MAY_READ, MAY_WRITE
from diptych.serving.openapi import body_of
from diptych.serving.problems import Problem, not_found
from diptych.serving.reading import item_in, items_in
from diptych.serving.routes.answers import ItemId, engine_of, errors, settings_of
from diptych.serving.schemas import (
    LONGEST_ID,
    AddRequest,
    Changed,
    Into,
    ItemBody,
    ItemForm,
    ItemList,
    ItemOut,
    Strict,
    Where,
)
from diptych.serving.showing import shown_item, shown_list

router = APIRouter(prefix="/v1/items", tags=["items"])
_reads, _writes = [MAY_READ], [MAY_WRITE]


class ListQuery(Strict):
    """Which items to list."""

    where: Where = None
    modality: Into = None
    after: Annotated[str, Query(max_length=LONGEST_ID, description="The last id of the page before.")] = ""
    limit: Annotated[int, Query(ge=1, le=1000)] = 100


@router.get("", responses=errors(), dependencies=_reads)
async def list_items(request: Request, query: Annotated[ListQuery, Query()]) -> ItemList:
    """Items in the order of their ids, a page at a time."""
    found = await engine_of(request).read(
        lambda searcher: searcher.list(where=query.where, modality=query.modality, after=query.after, limit=query.limit)
    )
    return shown_list(found, query.limit)


@router.post(
    "",
    status_code=201,
    responses=errors(403, 409, body=True),
    dependencies=_writes,
    openapi_extra=body_of(AddRequest, ItemForm),
)
async def add_items(request: Request) -> Changed:
    """Add items, all or none."""
    engine = engine_of(request)
    items, replace = await items_in(request, settings_of(request))
    try:
        return Changed(count=await engine.add(items, replace=replace))
    except DataError as error:
        for item in items if not replace else ():
            if await engine.read(lambda searcher, id=item.id: searcher.get(id)) is not None:  # type: ignore[misc]
                raise Problem(409, "exists", f"there is an item {item.id[:200]!r} already; replace it.") from None
        raise error


@router.get("/{id:path}", responses=errors(404), dependencies=_reads)
async def get_item(id: ItemId, request: Request) -> ItemOut:
    """One item."""
    found = await engine_of(request).read(lambda searcher: searcher.get(id))
    if found is None:
        raise not_found(id)
    return shown_item(found)


@router.put(
    "/{id:path}",
    responses=errors(403, body=True),
    dependencies=_writes,
    openapi_extra=body_of(ItemBody, ItemForm),
)
async def put_item(id: ItemId, request: Request) -> Changed:
    """Give an item this content, whether it is there already or not."""
    item = await item_in(request, id, settings_of(request))
    return Changed(count=await engine_of(request).add([item], replace=True))


@router.delete("/{id:path}", responses=errors(403, 404), dependencies=_writes)
async def delete_item(id: ItemId, request: Request) -> Changed:
    """Delete an item."""
    count = await engine_of(request).remove([id])
    if not count:
        raise not_found(id)
    return Changed(count=count)
