"""How often one client may ask: a bucket of tokens each, filled at a steady rate."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from diptych.serving.problems import Problem, as_response

_MOST_CLIENTS = 10_000
_BURST_S = 5.0
_MEDIA_COST = 0.05
"""One page of results asks for its thumbnails too."""


class Buckets:
    """Tokens of the clients seen last; whoever is forgotten starts with a full bucket."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._burst = max(1.0, rate * _BURST_S)
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str, cost: float = 1.0) -> float:
        """Take tokens; returns 0, or in how many seconds there will be enough."""
        now = self._clock()
        tokens, seen = self._clients.get(client, (self._burst, now))
        tokens = min(self._burst, tokens + (now - seen) * self._rate)
        wait = 0.0 if tokens >= cost else (cost - tokens) / self._rate
        self._clients[client] = (tokens if wait else tokens - cost, now)
        self._clients.move_to_end(client)
        if len(self._clients) > _MOST_CLIENTS:
            self._clients.popitem(last=False)
        return wait

    def __len__(self) -> int:
        return len(self._clients)


class RateLimit:
    """Answers 429 to clients that ask too often; guesses at a key count like any other request."""

    def __init__(self, app: ASGIApp, rate: float) -> None:
        self._app = app
        self._buckets = Buckets(rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and scope["path"].startswith("/v1/"):
            cost = _MEDIA_COST if scope["path"].startswith("/v1/media/") else 1.0
            wait = self._buckets.take((scope.get("client") or ("unknown",))[0], cost)
            if wait:
                headers = {"Retry-After": str(math.ceil(wait))}
                refusal = Problem(429, "too_many_requests", f"too many requests; wait {wait:.1f} s.", headers)
                await as_response(refusal)(scope, receive, send)
                return
        await self._app(scope, receive, send)
