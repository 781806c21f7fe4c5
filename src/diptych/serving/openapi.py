"""The description of the interface, with the bodies that are read by hand."""

from importlib.metadata import version
from typing import Annotated, Any

from fastapi import FastAPI, Path, Request
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from diptych.serving.schemas import (
    LONGEST_ID,
    ErrorBody,
    UploadRequest,
)
from diptych.serving.service import SearchService
from diptych.serving.settings import ServingSettings

_bodies: list[type[BaseModel]] = [UploadRequest]
"""What routes read by hand, as `body_of` was told; a field of a form holds the first as text."""
_PLACE = "#/components/schemas/{model}"


def body_of(json: type[BaseModel], form: type[BaseModel] | None = None) -> dict[str, Any]:
    """Say of a route that its body is JSON, or a form, which it reads by hand.

    A body that is a parameter of the route would be parsed before the key is looked at, and by the event loop.
    """
    _bodies.extend([json] if form is None else [json, form])
    bodies = {"application/json": json} | ({} if form is None else {"multipart/form-data": form})
    content = {kind: {"schema": {"$ref": _PLACE.format(model=body.__name__)}} for kind, body in bodies.items()}
    return {"requestBody": {"required": True, "content": content}}


def describe(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, made once."""
    if app.openapi_schema is None:
        document = get_openapi(title="Diptych", version=version("diptych"), description=__doc__, routes=app.routes)
        document["info"]["description"] = "Search images by text and text by images."
        _, read_by_hand = models_json_schema([(body, "validation") for body in _bodies], ref_template=_PLACE)
        document["components"]["schemas"] |= read_by_hand["$defs"]
        for unused in ("HTTPValidationError", "ValidationError"):
            document["components"]["schemas"].pop(unused, None)
        app.openapi_schema = document
    return app.openapi_schema


_MEANINGS = {
    400: "The request cannot be read.",
    401: "A key is missing or wrong.",
    403: "The key does not allow this, or the server does not.",
    404: "There is no such item.",
    408: "The request did not arrive in time.",
    409: "An item of this id is there already.",
    413: "Too many bytes or pixels.",
    421: "The server does not answer to this name.",
    416: "The file has no such bytes.",
    415: "The body is neither JSON nor a form.",
    422: "Something in the request is wrong; the message says what.",
    429: "Too many requests.",
    500: "The server failed.",
    503: "Too many queries wait, or the server is not ready.",
}
_BODY, _ANY = (400, 408, 413, 415), (401, 421, 422, 429, 500, 503)


def errors(*statuses: int, body: bool = False) -> dict[int | str, dict[str, Any]]:
    """The errors of a route for its documentation, those that any route may give included."""
    chosen = sorted({*statuses, *_ANY, *(_BODY if body else ())})
    return {status: {"model": ErrorBody, "description": _MEANINGS[status]} for status in chosen}


ItemId = Annotated[str, Path(min_length=1, max_length=LONGEST_ID, description="An item's id.")]


def service_of(request: Request) -> SearchService:
    """The search service of the application that a request came to; called by hand, for every dependency costs time."""
    service: SearchService = request.app.state.service
    return service


def settings_of(request: Request) -> ServingSettings:
    """The settings of that application."""
    settings: ServingSettings = request.app.state.settings
    return settings
