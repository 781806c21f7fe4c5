"""Search by words, pictures and items."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from diptych.search import QueryPart
from diptych.serving.keys import may_read
from diptych.serving.openapi import body_of
from diptych.serving.problems import not_found
from diptych.serving.reading import asked_in, query_of
from diptych.serving.routes.answers import ItemId, TheEngine, TheSettings, errors
from diptych.serving.schemas import LONGEST_TEXT, Options, SearchAnswer, SearchForm, SearchRequest
from diptych.serving.showing import shown_answer

router = APIRouter(prefix="/v1", tags=["search"], dependencies=[Depends(may_read)])


class WordsQuery(Options):
    """A search by words alone, in the address."""

    q: Annotated[str, Query(min_length=1, max_length=LONGEST_TEXT, description="Words.")]


@router.get("/search", responses=errors(), response_model=SearchAnswer)
async def search_words(query: Annotated[WordsQuery, Query()], engine: TheEngine, settings: TheSettings) -> SearchAnswer:
    """Search by words."""
    parts = (QueryPart("text", query.q),)
    return shown_answer(await engine.search(query_of(parts, query, settings)))


@router.post(
    "/search",
    responses=errors(body=True),
    openapi_extra=body_of(SearchRequest, SearchForm),
    response_model=SearchAnswer,
)
async def search(request: Request, engine: TheEngine, settings: TheSettings) -> SearchAnswer:
    """Search by words, pictures and items together, each with a weight."""
    return shown_answer(await engine.search(await asked_in(request, settings)))


@router.get("/similar/{id:path}", responses=errors(404), response_model=SearchAnswer)
async def similar(
    id: ItemId, query: Annotated[Options, Query()], engine: TheEngine, settings: TheSettings
) -> SearchAnswer:
    """More like an item, the item itself left out."""
    if await engine.read(lambda searcher: searcher.get(id)) is None:
        raise not_found(id)
    parts = (QueryPart("item", id),)
    return shown_answer(await engine.search(query_of(parts, query, settings)))
