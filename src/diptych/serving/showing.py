"""From what the searcher found to what an answer shows."""

from urllib.parse import quote

from pydantic_core import to_json
from starlette.responses import Response

from diptych.search import Answer, Hit
from diptych.serving.schemas import ItemList, ItemOut


def shown_answer(answer: Answer) -> Response:
    """Results in the shape of a `SearchAnswer`, written straight as JSON: there is nothing in them to be checked."""
    hits = [
        {
            "id": hit.id,
            "modality": hit.modality,
            "metadata": hit.metadata,
            "media": media_address(hit),
            "score": hit.score,
            "probability": hit.probability,
        }
        for hit in answer.hits
    ]
    about = {"closest": answer.closest, "seconds": answer.seconds, "purpose": answer.purpose}
    body = to_json({"hits": hits, **about})
    return Response(body, media_type="application/json")


def shown_item(hit: Hit) -> ItemOut:
    """An item as an answer shows it."""
    return ItemOut(id=hit.id, modality=hit.modality, metadata=hit.metadata, media=media_address(hit))


def shown_list(hits: list[Hit], limit: int) -> ItemList:
    """One page of items; a full one may have another after it."""
    return ItemList(items=[shown_item(hit) for hit in hits], next=hits[-1].id if len(hits) == limit else None)


def media_address(hit: Hit) -> str | None:
    """Where an item's picture is, None if it has none."""
    return f"/v1/media/{quote(hit.id, safe='')}" if hit.metadata.get("has_media") else None
