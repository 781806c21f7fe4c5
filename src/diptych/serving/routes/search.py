"""Search by text, images and items."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from diptych.search import QueryPart
from diptych.serving.errors import not_found
from diptych.serving.openapi import ItemId, body_of, errors, service_of, settings_of
from diptych.serving.requests import answer_response, query_in, query_of
from diptych.serving.schemas import (
    LONGEST_PREFIX,
    LONGEST_TEXT,
    MOST_SUGGESTIONS,
    Options,
    SearchAnswer,
    SearchForm,
    SearchRequest,
    Strict,
    Suggestions,
)
from diptych.serving.security import MAY_READ, NEEDS_KEY, check_reader

router = APIRouter(prefix="/v1", tags=["search"])


class WordsQuery(Options):
    """A search by words alone, in the address."""

    q: Annotated[str, Query(min_length=1, max_length=LONGEST_TEXT, description="Words.")]


class SuggestQuery(Strict):
    """What was typed so far."""

    q: Annotated[str, Query(min_length=1, max_length=LONGEST_PREFIX, description="The words typed so far.")]
    limit: Annotated[int, Query(ge=1, le=MOST_SUGGESTIONS, description="Suggestions at most.")] = 8


@router.get("/search", responses=errors(), dependencies=[MAY_READ], response_model=SearchAnswer)
async def search_words(request: Request, query: Annotated[WordsQuery, Query()]) -> Response:
    """Search by words."""
    asked = query_of((QueryPart("text", query.q),), query, settings_of(request))
    return answer_response(await service_of(request).search(asked))


@router.post(
    "/search",
    responses=errors(body=True),
    openapi_extra=body_of(SearchRequest, SearchForm) | NEEDS_KEY,
    response_model=SearchAnswer,
)
async def search(request: Request) -> Response:
    """Search by text, images and items together, each with a weight."""
    check_reader(request)
    return answer_response(await service_of(request).search(await query_in(request, settings_of(request))))


@router.get("/similar/{id:path}", responses=errors(404), dependencies=[MAY_READ], response_model=SearchAnswer)
async def similar(id: ItemId, request: Request, query: Annotated[Options, Query()]) -> Response:
    """More like an item, the item itself left out."""
    service = service_of(request)
    if await service.read(lambda searcher: searcher.get(id)) is None:
        raise not_found(id)
    asked = query_of((QueryPart("item", id),), query, settings_of(request))
    return answer_response(await service.search(asked))


@router.get("/suggest", responses=errors(), dependencies=[MAY_READ])
async def suggest(request: Request, query: Annotated[SuggestQuery, Query()]) -> Suggestions:
    """Complete the word that is being typed by words of the index, the most frequent first."""
    return Suggestions(suggestions=await service_of(request).suggest(query.q, query.limit))
