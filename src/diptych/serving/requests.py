"""From the body of a request, JSON or a form with files, to what the search service understands."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from urllib.parse import quote

from fastapi import Request
from pydantic import BaseModel
from pydantic_core import to_json
from starlette.datastructures import FormData, UploadFile
from starlette.responses import Response

from diptych.media import KINDS, MediaError, MediaLimits, MediaTooLargeError, kind_of_content, media_kind
from diptych.search import Answer, Hit, NewItem, Query, QueryPart
from diptych.serving import ServingSettings
from diptych.serving.errors import Problem
from diptych.serving.schemas import (
    MOST_PARTS,
    AddRequest,
    AudioPart,
    FacetsRequest,
    ImagePart,
    ItemBody,
    ItemList,
    ItemOut,
    ItemPart,
    NewItemBody,
    Options,
    SearchRequest,
    TextPart,
    UploadRequest,
    printable,
)

Body = TypeVar("Body", bound=BaseModel)
_FIELDS = {kind: (kind, "picture") if kind == "image" else (kind,) for kind in KINDS}
"""The fields of a form that hold files, by kind of media; "picture" is what earlier versions called an image."""
_FORM, _JSON = "multipart/form-data", "application/json"
_SHORT, _SLICE = 2**16, 2**18
_MOST_VALUES = 200_000
"""Of a JSON body: so many are read in a few hundredths of a second."""


async def query_in(request: Request, settings: ServingSettings) -> tuple[Query, Options]:
    """The query that a search request carries, and its options as they were given."""
    if _is_form(request):
        async with _form(request, MOST_PARTS, settings) as form:
            more = await _valid(_field(form, "query").encode(), UploadRequest)
            files = [
                (kind, await _content(file, kind))
                for kind, names in _FIELDS.items()
                for name in names
                for file in form.getlist(name)
            ]
        if not files:
            raise _no_file()
        weights = [*more.weights, *[1.0] * (len(files) - len(more.weights))]
        shown = [QueryPart(kind, data, weight) for (kind, data), weight in zip(files, weights, strict=False)]
        return query_of((*shown, *map(_part, more.parts)), more, settings), more
    query = await json_body(request, SearchRequest)
    return query_of(tuple(map(_part, query.parts)), query, settings), query


def facets_query(body: FacetsRequest, settings: ServingSettings) -> Query:
    """The query whose results are counted."""
    return query_of(tuple(map(_part, body.parts)), body, settings)


async def items_in(request: Request, settings: ServingSettings) -> tuple[list[NewItem], bool]:
    """The items that a request adds, and whether they may replace others."""
    if _is_form(request):
        body, kind, data = await _item_form(request, settings, NewItemBody)
        check_metadata(body.id, body.metadata, settings)
        return [NewItem(body.id, kind, data, body.metadata)], False
    query = await json_body(request, AddRequest)
    for one in query.items:
        check_metadata(one.id, one.metadata, settings)
    return [_item(body.id, body) for body in query.items], query.replace


async def item_in(request: Request, id: str, settings: ServingSettings) -> NewItem:
    """The content that a request gives one item."""
    try:
        printable(id)
    except ValueError as error:
        raise Problem(422, "invalid", f"{error}.") from None
    if _is_form(request):
        body, kind, data = await _item_form(request, settings, ItemBody)
        check_metadata(id, body.metadata, settings)
        return NewItem(id, kind, data, body.metadata)
    content = await json_body(request, ItemBody)
    check_metadata(id, content.metadata, settings)
    return _item(id, content)


async def json_body(request: Request, kind: type[Body]) -> Body:
    """A body of JSON, checked straight from its bytes."""
    given = request.headers.get("content-type", _JSON).partition(";")[0].strip().lower()
    if given != _JSON and not given.endswith("+json"):
        raise Problem(415, "unsupported_media_type", f"send {_JSON} or {_FORM}, not {given[:100]!r}.")
    return await _valid(await request.body(), kind)


async def _valid(written: bytes, kind: type[Body]) -> Body:
    return (
        kind.model_validate_json(written) if len(written) <= _SHORT else await asyncio.to_thread(_parsed, written, kind)
    )


def _parsed(body: bytes, kind: type[Body]) -> Body:
    """A long text of JSON, in a thread; what would hold up every other thread while it is parsed is refused before."""
    values = 0
    for start in range(0, len(body), _SLICE):
        piece = body[start : start + _SLICE]
        values += sum(piece.count(sign) for sign in (b",", b":", b"[", b"{"))
    if values > _MOST_VALUES:
        raise Problem(413, "too_large", f"the request holds more than {_MOST_VALUES:,} values; send fewer at a time.")
    return kind.model_validate_json(body)


def check_metadata(id: str, metadata: Mapping[str, Any], settings: ServingSettings) -> None:
    """Refuse metadata that are too long."""
    size = len(to_json(metadata))
    if size > settings.max_metadata_bytes:
        sentence = f"metadata: that of item {id[:200]!r} has {size:,} bytes as JSON; at most "
        raise Problem(422, "invalid", f"{sentence}{settings.max_metadata_bytes:,} are kept.")


def query_of(parts: tuple[QueryPart, ...], options: Options, settings: ServingSettings) -> Query:
    """A query and the results it asks for, within the limits of this server."""
    if options.k > settings.max_results:
        raise Problem(
            422, "invalid", f"k: {options.k} results are asked for; at most {settings.max_results} are given."
        )
    return Query(
        parts,
        options.into,
        options.k,
        options.offset,
        options.where,
        options.min_probability,
        options.purpose,
        options.mode,
        options.correct,
        options.sort,
    )


def _is_form(request: Request) -> bool:
    return request.headers.get("content-type", "").lower().startswith(_FORM)


@asynccontextmanager
async def _form(request: Request, max_files: int, settings: ServingSettings) -> AsyncIterator[FormData]:
    """The fields and files of a form, which may claim any encoding."""
    try:
        form = await request.form(max_files=max_files, max_fields=4, max_part_size=settings.max_json_bytes)
    except UnicodeError:
        raise Problem(422, "invalid", "the form is not what its charset says; write it in UTF-8.") from None
    try:
        yield form
    finally:
        await form.close()


async def _item_form(request: Request, settings: ServingSettings, body_type: type[Body]) -> tuple[Body, str, bytes]:
    async with _form(request, 1, settings) as form:
        body = await _valid(_field(form, "item").encode(), body_type)
        named = ((kind, form[name]) for kind, names in _FIELDS.items() for name in names if name in form)
        kind, given = next(named, (None, None))
        if kind is None or given is None:
            raise _no_file()
        data = await _content(given, kind)
    if isinstance(body, ItemBody) and (body.text is not None or body.data is not None):
        raise Problem(422, "invalid", f"item: the {kind} is the content; give no text or data beside it.")
    return body, kind, data


def _no_file() -> Problem:
    return Problem(422, "invalid", "image: the form holds no image.")


def _field(form: FormData, name: str) -> str:
    given = form.get(name, "{}")
    if isinstance(given, UploadFile):
        raise Problem(422, "invalid", f"{name}: give it as a field of text, not as a file.")
    try:
        given.encode()
    except UnicodeEncodeError:  # a form may name an encoding of which halves of characters come out
        raise Problem(422, "invalid", f"{name}: write it in UTF-8.") from None
    return given


async def _content(given: UploadFile | str, kind: str) -> bytes:
    if not isinstance(given, UploadFile):
        raise Problem(422, "invalid", f"{kind}: give it as a file, with a name.")
    return await given.read()


def _part(part: TextPart | ItemPart | ImagePart | AudioPart) -> QueryPart:
    match part:
        case TextPart():
            return QueryPart("text", part.text, part.weight)
        case ItemPart():
            return QueryPart("item", part.id, part.weight)
        case ImagePart() | AudioPart():
            return QueryPart(part.kind, part.data, part.weight)


def _item(id: str, body: ItemBody) -> NewItem:
    if body.text is not None and body.data is None:
        return NewItem(id, "text", body.text, body.metadata)
    if body.data is not None and body.text is None:
        return NewItem(id, kind_of_content(body.data) or "image", body.data, body.metadata)
    raise Problem(422, "invalid", f"item {id[:200]!r}: give either text or data.")


MOST_DECODING_BYTES = 300 * 10**6
"""Of memory for one image."""


def check_file(kind: str, data: bytes, settings: ServingSettings) -> int:
    """Refuse what is no file of a kind or is too large, by its header alone; returns how many values it decodes to.

    Raises:
        Problem: 413 for too many bytes, pixels or seconds, 422 for what is no file of the kind.
    """
    of = media_kind(kind)
    noun = of.noun.partition(" ")[2]
    most = settings.max_upload_bytes
    if len(data) > most:
        raise Problem(413, "too_large", f"the {noun} has {len(data):,} bytes; at most {most:,} are read.")
    limits = MediaLimits(most, settings.max_pixels, settings.max_seconds, settings.max_side, MOST_DECODING_BYTES)
    try:
        return of.load().cost(data, limits)
    except MediaTooLargeError as error:
        code = "too_many_pixels" if kind == "image" else "too_long"
        raise Problem(413, code, f"{error}.") from None
    except MediaError:
        raise Problem(422, f"not_{of.noun.replace(' ', '_')}", f"the file is no {noun} this server can read.") from None


def answer_response(answer: Answer, signatures: Sequence[str | None] | None = None) -> Response:
    """Results in the shape of a `SearchAnswer`, written straight as JSON: there is nothing in them to be checked."""
    hits = [hit_out(hit) for hit in answer.hits]
    for hit, signature in zip(hits, signatures or (), strict=False):
        hit["signature"] = signature
    return Response(to_json(vars(answer) | {"hits": hits}), media_type="application/json")


def hit_out(hit: Hit) -> dict[str, Any]:
    """A result in the shape of a `HitOut`."""
    return {
        "id": hit.id,
        "modality": hit.modality,
        "metadata": hit.metadata,
        "media": media_address(hit),
        "item": hit.item,
        "entries": hit.entries,
        "score": hit.score,
        "probability": hit.probability,
        "why": vars(hit.why),
    }


def item_out(hit: Hit) -> ItemOut:
    """An item as an answer shows it."""
    return ItemOut(
        id=hit.id,
        modality=hit.modality,
        metadata=hit.metadata,
        media=media_address(hit),
        item=hit.item,
        entries=hit.entries,
    )


def item_list(hits: list[Hit], limit: int) -> ItemList:
    """One page of items; a full one may have another after it."""
    return ItemList(items=[item_out(hit) for hit in hits], next=hits[-1].id if len(hits) == limit else None)


def media_address(hit: Hit) -> str | None:
    """Where an item's image is, None if it has none."""
    return f"/v1/media/{quote(hit.id, safe='')}" if hit.metadata.get("has_media") else None
