"""What every request passes through before it reaches a route, and every response on its way back."""

import asyncio
import ipaddress
import logging
import socket
from collections.abc import Iterable

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from diptych.serving.errors import Problem, as_response
from diptych.serving.security import Buckets, client_of, too_often

log = logging.getLogger("diptych.serving")

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' blob: data:; "
    "media-src 'self' blob:; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
_MOST_HEADERS, _MOST_PARAMETERS = 100, 300
"""Of one request; the work of reading the parameters of an address grows with the square of their number."""
_PAIRS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
_NAMES = {name for name, _ in _PAIRS}


class ErrorMiddleware:
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

        if len(scope["headers"]) > _MOST_HEADERS:
            refusal = Problem(431, "too_large", f"a request may have {_MOST_HEADERS} headers.", {"Connection": "close"})
            await as_response(refusal)(scope, receive, careful)
            return
        if scope["query_string"].count(b"&") >= _MOST_PARAMETERS:
            refusal = Problem(414, "too_large", f"an address may have {_MOST_PARAMETERS} parameters.")
            await as_response(refusal)(scope, receive, careful)
            return
        try:
            await self._app(scope, receive, careful)
        except ClientDisconnect:
            log.debug("%s %r: the client went away", scope["method"], scope["path"][:200])
        except Exception:
            log.exception("%s %r failed", scope["method"], scope["path"][:200])
            if started:
                raise
            failure = Problem(500, "internal", "the server failed at this request; its log says why.")
            await as_response(failure)(scope, receive, careful)


def _add_missing(message: Message) -> None:
    """Headers that a handler set itself, such as the stricter policy of media, stay."""
    there = message.get("headers", ())
    names = {name for name, _ in there}
    message["headers"] = [*there, *(_PAIRS if _NAMES.isdisjoint(names) else (p for p in _PAIRS if p[0] not in names))]


ANY = "*"


class HostMiddleware:
    """Answers 421 to requests for a name that is not this server's."""

    def __init__(self, app: ASGIApp, names: Iterable[str]) -> None:
        self._app = app
        own = socket.gethostname().lower()
        self._names = {name.lower().rstrip(".") for name in names} | {own, f"{own}.local"}
        self._last = ""  # the name in the last request that was ours: nearly always that of the next one

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http":
            host = next((value for name, value in scope["headers"] if name == b"host"), b"")
            given = host.decode("latin-1")
            if given and given != self._last and not self._is_ours(given):
                sentence = f"this server does not answer to {given[:100]!r}; start it with --allow-host to add a name."
                await as_response(Problem(421, "wrong_host", sentence))(scope, receive, send)
                return
            self._last = given
        await self._app(scope, receive, send)

    def _is_ours(self, given: str) -> bool:
        name = without_port(given).lower().rstrip(".")
        return (
            name == "localhost" or name.endswith(".localhost") or _is_address(name) or bool({name, ANY} & self._names)
        )


def without_port(host: str) -> str:
    """A host's name or address.

    >>> without_port("[::1]:8000"), without_port("photos.example:80"), without_port("127.0.0.1")
    ('::1', 'photos.example', '127.0.0.1')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


_SMALL = 2**16
"""Bytes of a body that are always read: text queries are, while large uploads are refused for the moment."""


class BodyLimitMiddleware:
    """Refuses bodies that say they are too large at once, and others as soon as they have become so.

    Args:
        app: what is served.
        max_bytes: of a form.
        max_json_bytes: of any other body, which is read into memory and parsed as a whole.
        max_bytes_together: of all bodies that are held at one time.
        timeout_s: for a body to arrive.
    """

    def __init__(
        self, app: ASGIApp, max_bytes: int, max_json_bytes: int, max_bytes_together: int, timeout_s: float
    ) -> None:
        self._app, self._timeout_s = app, timeout_s
        self._max_bytes, self._max_json_bytes = max_bytes, min(max_bytes, max_json_bytes)
        self._max_together = max_bytes_together
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        form = headers.get(b"content-type", b"").lower().startswith(b"multipart/")
        most = self._max_bytes if form else self._max_json_bytes
        claimed = headers.get(b"content-length", b"0")
        if b"transfer-encoding" in headers and b"content-length" in headers:
            # Two ways to say where the body ends: a proxy may believe one and we the other, and then a second request
            # hides in the first.
            refusal = Problem(400, "bad_request", "give a length or send chunks, not both.", {"Connection": "close"})
            await as_response(refusal)(scope, receive, send)
        elif not claimed.isdigit():
            refusal = Problem(400, "bad_request", "the content length is not a number.")
            await as_response(refusal)(scope, receive, send)
        elif len(claimed) > 18 or int(claimed) > most:
            await as_response(Problem(413, "too_large", self._sentence(form)))(scope, receive, send)
        else:
            body = _Body(self, receive, most, self._sentence(form), self._timeout_s)
            try:
                await self._app(scope, body.next, send)
            finally:
                self._held -= body.held

    def hold(self, count: int) -> bool:
        """Count bytes as held, if there is room for them."""
        if self._held + count > self._max_together:
            return False
        self._held += count
        return True

    def _sentence(self, form: bool) -> str:
        if form or self._max_json_bytes == self._max_bytes:
            return f"the request is larger than the {self._max_bytes:,} bytes this server reads."
        return (
            f"the request is larger than the {self._max_json_bytes:,} bytes of JSON this server reads; "
            "send large images as a form."
        )


class _Body:
    """The body of one request while it is read; `held` counts what was kept of it."""

    def __init__(
        self, limit: BodyLimitMiddleware, receive: Receive, most: int, too_large: str, timeout_s: float
    ) -> None:
        self._limit, self._receive, self._most, self._too_large = limit, receive, most, too_large
        self._deadline = asyncio.get_running_loop().time() + timeout_s
        self._read, self._whole = 0, False
        self.held = 0

    async def next(self) -> Message:
        """The next part."""
        if self._whole:  # what comes now is only the news that the client has gone
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(408, "the request did not arrive in time.") from None
        self._read += len(message.get("body", b""))
        self._whole = not message.get("more_body", False)
        if self._read > self._most:
            raise HTTPException(413, self._too_large)
        if self._read > _SMALL:
            if not self._limit.hold(self._read - self.held):
                raise HTTPException(503, "too many uploads at once; try again in a moment.", {"Retry-After": "1"})
            self.held = self._read
        return message


_COSTS = {"/v1/media/": 0.05, "/v1/suggest": 0.1}
"""A page of results also requests its thumbnails, and typing a query requests suggestions at every letter."""
_LIMITED = ("/v1/", "/metrics")


class RateLimitMiddleware:
    """Answers 429 to clients that ask too often."""

    def __init__(self, app: ASGIApp, rate: float) -> None:
        self._app = app
        self._buckets = Buckets(rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and scope["path"].startswith(_LIMITED):
            cost = next((cost for start, cost in _COSTS.items() if scope["path"].startswith(start)), 1.0)
            wait = self._buckets.take(client_of(scope.get("client")), cost)
            if wait:
                await as_response(too_often(wait, "too many requests"))(scope, receive, send)
                return
        await self._app(scope, receive, send)
