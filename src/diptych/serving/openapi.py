"""The description of the interface, with the bodies that are read by hand."""

from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from diptych.serving.schemas import AddRequest, ItemBody, ItemForm, SearchForm, SearchRequest, UploadRequest

_BODIES = (SearchRequest, UploadRequest, SearchForm, AddRequest, ItemBody, ItemForm)
_PLACE = "#/components/schemas/{model}"


def body_of(json: type[BaseModel], form: type[BaseModel]) -> dict[str, Any]:
    """Say of a route that its body is JSON or a form."""
    content = {
        "application/json": {"schema": {"$ref": _PLACE.format(model=json.__name__)}},
        "multipart/form-data": {"schema": {"$ref": _PLACE.format(model=form.__name__)}},
    }
    return {"requestBody": {"required": True, "content": content}}


def describe(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, made once."""
    if app.openapi_schema is None:
        document = get_openapi(title="Diptych", version=version("diptych"), description=__doc__, routes=app.routes)
        document["info"]["description"] = "Search pictures with words and words with pictures."
        _, read_by_hand = models_json_schema([(body, "validation") for body in _BODIES], ref_template=_PLACE)
        document["components"]["schemas"] |= read_by_hand["$defs"]
        for unused in ("HTTPValidationError", "ValidationError"):
            document["components"]["schemas"].pop(unused, None)
        app.openapi_schema = document
    return app.openapi_schema
