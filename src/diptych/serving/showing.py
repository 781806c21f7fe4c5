"""From what the searcher found to what an answer shows."""

from urllib.parse import quote

from diptych.search import Answer, Hit
from diptych.serving.schemas import HitOut, ItemList, ItemOut, SearchAnswer


def shown_answer(answer: Answer) -> SearchAnswer:
    """Results as an answer shows them."""
    hits = [
        HitOut.model_construct(
            id=hit.id,
            modality=hit.modality,
            metadata=hit.metadata,
            media=media_address(hit),
            score=hit.score,
            probability=hit.probability,
        )
        for hit in answer.hits
    ]
    return SearchAnswer.model_construct(hits=hits, closest=answer.closest, seconds=answer.seconds)


def shown_item(hit: Hit) -> ItemOut:
    """An item as an answer shows it."""
    return ItemOut(id=hit.id, modality=hit.modality, metadata=hit.metadata, media=media_address(hit))


def shown_list(hits: list[Hit], limit: int) -> ItemList:
    """One page of items; a full one may have another after it."""
    return ItemList(items=[shown_item(hit) for hit in hits], next=hits[-1].id if len(hits) == limit else None)


def media_address(hit: Hit) -> str | None:
    """Where an item's picture is, None if it has none."""
    return f"/v1/media/{quote(hit.id, safe='')}" if hit.metadata.get("has_media") else None
