"""From what the searcher found to the body of a response."""

from dataclasses import fields
from typing import Any
from urllib.parse import quote

from pydantic_core import to_json
from starlette.responses import Response

from diptych.search import Answer, Hit, Why
from diptych.serving.schemas import ItemList, ItemOut

_ABOUT = tuple(field.name for field in fields(Answer) if field.name != "hits")
_WHY = tuple(field.name for field in fields(Why))


def answer_response(answer: Answer) -> Response:
    """Results in the shape of a `SearchAnswer`, written straight as JSON: there is nothing in them to be checked."""
    hits = [
        {
            "id": hit.id,
            "modality": hit.modality,
            "metadata": hit.metadata,
            "media": media_address(hit),
            "item": hit.item,
            "entries": hit.entries,
            "score": hit.score,
            "probability": hit.probability,
            "why": _named(hit.why, _WHY),
        }
        for hit in answer.hits
    ]
    return Response(to_json({"hits": hits} | _named(answer, _ABOUT)), media_type="application/json")


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


def _named(value: object, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}
