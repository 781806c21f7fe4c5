"""Requests are read no further than the limit, and no longer than is reasonable."""

import asyncio

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from diptych.serving.problems import Problem, as_response


class BodyLimit:
    """Refuses bodies that say they are too large at once, and others as soon as they have become so."""

    def __init__(self, app: ASGIApp, max_bytes: int, timeout_s: float) -> None:
        self._app, self._max_bytes, self._timeout_s = app, max_bytes, timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        claimed = dict(scope["headers"]).get(b"content-length", b"0")
        if not claimed.isdigit():
            refusal = Problem(400, "bad_request", "the content length is not a number.")
            await as_response(refusal)(scope, receive, send)
        elif len(claimed) > 18 or int(claimed) > self._max_bytes:
            refusal = Problem(413, "too_large", self._sentence())
            await as_response(refusal)(scope, receive, send)
        else:
            await self._app(scope, self._counted(receive), send)

    def _counted(self, receive: Receive) -> Receive:
        read, whole = 0, False
        deadline = asyncio.get_running_loop().time() + self._timeout_s

        async def counted() -> Message:
            nonlocal read, whole
            if whole:  # what comes now is only the news that the client has gone
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, "the request did not arrive in time.") from None
            read += len(message.get("body", b""))
            whole = not message.get("more_body", False)
            if read > self._max_bytes:
                raise HTTPException(413, self._sentence())
            return message

        return counted

    def _sentence(self) -> str:
        return f"the request is larger than the {self._max_bytes:,} bytes this server reads."
