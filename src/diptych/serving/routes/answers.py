"""How routes reach what the application holds, and which errors they say they may give."""

from typing import Annotated, Any

from fastapi import Path, Request

from diptych.serving.engine import Engine
from diptych.serving.schemas import LONGEST_ID, ErrorBody
from diptych.serving.settings import ServingSettings

_MEANINGS = {
    400: "The request cannot be read.",
    401: "A key is missing or wrong.",
    403: "Writes are off, or the key may not write.",
    404: "There is no such item.",
    408: "The request did not arrive in time.",
    409: "An item of this id is there already.",
    413: "Too many bytes or pixels.",
    421: "The server does not answer to this name.",
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


def engine_of(request: Request) -> Engine:
    """The engine of the application that a request came to; called by hand, for every dependency costs time."""
    engine: Engine = request.app.state.engine
    return engine


def settings_of(request: Request) -> ServingSettings:
    """The settings of that application."""
    settings: ServingSettings = request.app.state.settings
    return settings


ItemId = Annotated[str, Path(min_length=1, max_length=LONGEST_ID, description="An item's id.")]
