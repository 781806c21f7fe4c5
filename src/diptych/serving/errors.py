"""What can go wrong in a request, and the one shape in which it is reported: {"error": {"code", "message"}}."""

import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from diptych._core.errors import BackendUnavailableError, DiptychError, TimeLimitError, UnknownItemError

_CODES = {
    400: "bad_request",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    422: "invalid",
    503: "busy",
}
_MOST_PROBLEMS, _MOST_LISTED = 5, 1_000
_QUOTED = re.compile(r"(['\"])(?:~|\.{1,2}|[A-Za-z]:)?[/\\](?:[^'\"/\\]+[/\\])+[^'\"]*\1")
_PLACE = re.compile(r"(?<![\w<])(?:~|\.{1,2}|[A-Za-z]:)?[/\\](?:[^\s'\"/\\:;,]+[/\\])+[^\s'\",;:]*")


class Problem(Exception):  # noqa: N818 - it is an answer, not a failure of the server
    """An answer other than the one hoped for."""

    def __init__(self, status: int, code: str, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.headers = status, code, message, headers


def not_found(id: str) -> Problem:
    """There is no such item."""
    return Problem(404, "not_found", f"there is no item {id[:200]!r}.")


def busy() -> Problem:
    """Too many queries wait already."""
    return Problem(503, "busy", "too many queries are waiting; try again in a moment.", {"Retry-After": "1"})


def unavailable(error: BackendUnavailableError) -> Problem:
    """What the server needs does not answer now; the request was not at fault."""
    return Problem(503, "unavailable", str(error), {"Retry-After": "2"})


def as_response(problem: Problem) -> JSONResponse:
    """The body every error has; nothing in it says where files lie on this machine."""
    message = without_places(problem.message).encode("utf-8", "replace").decode()
    body = {"error": {"code": problem.code, "message": message}}
    return JSONResponse(body, problem.status, problem.headers)


def without_places(message: str) -> str:
    """A message with paths left out: in quotes also those with blanks, and relative ones that begin as such.

    >>> without_places("cannot read /home/ann/index/items.sqlite: gone")
    'cannot read …: gone'
    >>> without_places("cannot read '/home/ann smith/my index/items.sqlite', nor ../data/x/y.npy")
    'cannot read …, nor …'
    """
    return _PLACE.sub("…", _QUOTED.sub("…", message))


def invalid(errors: Sequence[Any]) -> Problem:
    """What was wrong with the values of a request, the first few of them."""
    told = [f"{'.'.join(str(part) for part in error['loc']) or 'body'}: {error['msg']}" for error in errors]
    more = f"; and {len(told) - _MOST_PROBLEMS} more" if len(told) > _MOST_PROBLEMS else ""
    return Problem(422, "invalid", "; ".join(told[:_MOST_PROBLEMS])[:1000] + more)


def invalid_body(error: ValidationError) -> Problem:
    """What was wrong with a body; of very many mistakes only their number, for listing them would take long."""
    if error.error_count() > _MOST_LISTED:
        return Problem(422, "invalid", f"body: {error.error_count():,} values are wrong.")
    return invalid(error.errors(include_url=False, include_context=False, include_input=False))


def add_handlers(app: FastAPI) -> None:
    """Give every error of the application the same body."""

    @app.exception_handler(Problem)
    async def _problem(_: Request, error: Problem) -> JSONResponse:
        return as_response(error)

    @app.exception_handler(BackendUnavailableError)
    async def _unavailable(_: Request, error: BackendUnavailableError) -> JSONResponse:
        return as_response(unavailable(error))

    @app.exception_handler(TimeLimitError)
    async def _too_slow(_: Request, error: TimeLimitError) -> JSONResponse:
        return as_response(Problem(503, "too_slow", str(error), {"Retry-After": "5"}))

    @app.exception_handler(UnknownItemError)
    async def _unknown(_: Request, error: UnknownItemError) -> JSONResponse:
        return as_response(Problem(404, "not_found", str(error)))

    @app.exception_handler(DiptychError)
    async def _refused(_: Request, error: DiptychError) -> JSONResponse:
        return as_response(Problem(422, "refused", str(error)))

    @app.exception_handler(RequestValidationError)
    async def _unreadable(_: Request, error: RequestValidationError) -> JSONResponse:
        return as_response(invalid(error.errors()))

    @app.exception_handler(ValidationError)
    async def _wrong_body(_: Request, error: ValidationError) -> JSONResponse:
        return as_response(invalid_body(error))

    @app.exception_handler(HTTPException)
    async def _http(_: Request, error: HTTPException) -> JSONResponse:
        code = _CODES.get(error.status_code, HTTPStatus(error.status_code).phrase.lower().replace(" ", "_"))
        message = "there is nothing at this address." if error.status_code == 404 else str(error.detail)
        return as_response(Problem(error.status_code, code, message, dict(error.headers or {})))
