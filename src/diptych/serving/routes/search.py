"""Search by text, images, sounds and items."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from diptych.search import Query as SearchQuery
from diptych.search import QueryPart
from diptych.serving.app import ItemId, PlainRoute, body_of, errors, service_of, settings_of
from diptych.serving.errors import not_found
from diptych.serving.requests import answer_response, facets_query, item_out, json_body, query_in, query_of
from diptych.serving.schemas import (
    LONGEST_PREFIX,
    LONGEST_TEXT,
    MOST_SUGGESTIONS,
    FacetsRequest,
    ItemOut,
    K,
    Offset,
    Options,
    SearchAnswer,
    SearchForm,
    SearchRequest,
    Strict,
    Suggestions,
    Where,
)
from diptych.serving.security import MAY_READ, NEEDS_KEY, check_reader

router = APIRouter(prefix="/v1", tags=["search"])
plain_router = APIRouter(prefix="/v1", tags=["search"], route_class=PlainRoute)


class WordsQuery(Options):
    """A search by words alone, in the address."""

    q: Annotated[str, Query(min_length=1, max_length=LONGEST_TEXT, description="Words.")]


class BrowseQuery(Strict):
    """Which items to show."""

    where: Where = None
    sort: Annotated[Literal["name", "date"], Query(description="By name, or by date, newest first.")] = "name"
    k: K = 50
    offset: Offset = 0


class SuggestQuery(Strict):
    """What was typed so far."""

    q: Annotated[str, Query(min_length=1, max_length=LONGEST_PREFIX, description="The words typed so far.")]
    limit: Annotated[int, Query(ge=1, le=MOST_SUGGESTIONS, description="Suggestions at most.")] = 8


class FacetCount(BaseModel):
    """How many items have a value."""

    value: str
    count: int


class Facets(BaseModel):
    """Values among the results, the most frequent first."""

    facets: dict[str, list[FacetCount]]
    of: Annotated[int, Field(description="How many items were counted: the best 1,000 results of a query at most.")]


class Browsed(BaseModel):
    """Some items of all there are, each once."""

    hits: list[ItemOut]
    total: int


@router.get("/search", responses=errors(), dependencies=[MAY_READ], response_model=SearchAnswer)
async def search_words(request: Request, query: Annotated[WordsQuery, Query()]) -> Response:
    """Search by words."""
    asked = query_of((QueryPart("text", query.q),), query, settings_of(request))
    return await _answered(request, asked, query)


@plain_router.post(
    "/search",
    responses=errors(body=True),
    openapi_extra=body_of(SearchRequest, SearchForm) | NEEDS_KEY,
    response_model=SearchAnswer,
)
async def search(request: Request) -> Response:
    """Search by text, images, sounds and items together, each with a weight."""
    check_reader(request)
    asked, options = await query_in(request, settings_of(request))
    return await _answered(request, asked, options)


@router.post("/facets", responses=errors(body=True), openapi_extra=body_of(FacetsRequest) | NEEDS_KEY)
async def facets(request: Request) -> Facets:
    """How many of the best results have each class, or of all items where nothing is asked."""
    check_reader(request)
    body = await json_body(request, FacetsRequest)
    asked = facets_query(body, settings_of(request))
    counts, of = await service_of(request).facets(asked, body.keys)
    listed = {key: [FacetCount(value=name, count=n) for name, n in some.items()] for key, some in counts.items()}
    return Facets(facets=listed, of=of)


@router.get("/browse", responses=errors(), dependencies=[MAY_READ])
async def browse(request: Request, query: Annotated[BrowseQuery, Query()]) -> Browsed:
    """Items without a query, each once."""
    asked = query.model_dump()
    hits, total = await service_of(request).read(lambda searcher: searcher.browse(**asked), slow=True)
    return Browsed(hits=[item_out(hit) for hit in hits], total=total)


async def _answered(request: Request, asked: SearchQuery, options: Options) -> Response:
    service = service_of(request)
    answer = await service.search(asked)
    if not options.signatures:
        return answer_response(answer)
    ids = [hit.id for hit in answer.hits]
    return answer_response(answer, await service.read(lambda searcher: searcher.signatures(ids)))


@router.get("/similar/{id:path}", responses=errors(404), dependencies=[MAY_READ], response_model=SearchAnswer)
async def similar(id: ItemId, request: Request, query: Annotated[Options, Query()]) -> Response:
    """More like an item, the item itself left out."""
    service = service_of(request)
    if await service.read(lambda searcher: searcher.get(id)) is None:
        raise not_found(id)
    asked = query_of((QueryPart("item", id),), query, settings_of(request))
    return await _answered(request, asked, query)


@router.get("/suggest", responses=errors(), dependencies=[MAY_READ])
async def suggest(request: Request, query: Annotated[SuggestQuery, Query()]) -> Suggestions:
    """Complete the word that is being typed by words of the index, the most frequent first."""
    return Suggestions(suggestions=await service_of(request).suggest(query.q, query.limit))
