"""Requests are read no further than the limit, no longer than is reasonable, and not too many of them at once."""

import asyncio

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from diptych.serving.problems import Problem, as_response

_SMALL = 2**16
"""Bytes of a body that are always read: questions in words are, while large uploads are told to come back."""


class BodyLimit:
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
        if not claimed.isdigit():
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

    def __init__(self, limit: BodyLimit, receive: Receive, most: int, too_large: str, timeout_s: float) -> None:
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
