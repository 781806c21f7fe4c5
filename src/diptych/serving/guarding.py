"""The outermost layer: what every answer carries, and what happens when the server itself fails."""

import logging

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from diptych.serving.problems import Problem, as_response

log = logging.getLogger("diptych.serving")

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' blob: data:; "
    "manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
_PAIRS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]


class Guard:
    """Adds the headers that keep browsers careful, and turns a failure into a plain answer without its details."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def careful(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                _add_missing(message)
            await send(message)

        try:
            await self._app(scope, receive, careful)
        except ClientDisconnect:
            log.debug("%s %s: the client went away", scope["method"], scope["path"][:200])
        except Exception:
            log.exception("%s %s failed", scope["method"], scope["path"][:200])
            if started:
                raise
            failure = Problem(500, "internal", "the server failed at this request; its log says why.")
            await as_response(failure)(scope, receive, careful)


def _add_missing(message: Message) -> None:
    """Headers that a handler set itself, such as the stricter policy of media, stay."""
    headers = message["headers"] = list(message.get("headers", []))
    there = {name for name, _ in headers}
    headers.extend(pair for pair in _PAIRS if pair[0] not in there)
