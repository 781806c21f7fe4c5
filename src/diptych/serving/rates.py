"""How often one client may ask, and how often it may guess a key: a bucket of tokens each, filled at a steady rate."""

import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from diptych.serving.problems import Problem, as_response

_MOST_CLIENTS = 10_000
_BURST_S = 5.0
_COSTS = {"/v1/media/": 0.05, "/v1/suggest": 0.1}
"""One page of results asks for its thumbnails too, and one query for suggestions at every letter."""
_LIMITED = ("/v1/", "/metrics")


class Buckets:
    """Tokens of the clients seen last; whoever is forgotten starts with a full bucket.

    Args:
        rate: tokens that come back in a second.
        burst: tokens of a full bucket; five seconds' worth by default.
        clock: tells the time in seconds.
    """

    def __init__(self, rate: float, burst: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._burst = max(1.0, rate * _BURST_S if burst is None else burst)
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str, cost: float = 1.0) -> float:
        """Take tokens; returns 0, or in how many seconds there will be enough."""
        now, tokens = self._tokens(client)
        wait = self._wait(tokens, cost)
        self._clients[client] = (tokens if wait else tokens - cost, now)
        self._clients.move_to_end(client)
        if len(self._clients) > _MOST_CLIENTS:
            self._clients.popitem(last=False)
        return wait

    def wait(self, client: str, cost: float = 1.0) -> float:
        """In how many seconds there will be enough tokens; nothing is taken."""
        return self._wait(self._tokens(client)[1], cost)

    def _tokens(self, client: str) -> tuple[float, float]:
        now = self._clock()
        tokens, seen = self._clients.get(client, (self._burst, now))
        return now, min(self._burst, tokens + (now - seen) * self._rate)

    def _wait(self, tokens: float, cost: float) -> float:
        return 0.0 if tokens >= cost else (cost - tokens) / self._rate

    def __len__(self) -> int:
        return len(self._clients)


class RateLimit:
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


def too_often(wait: float, what: str) -> Problem:
    """Come back in so many seconds."""
    headers = {"Retry-After": str(math.ceil(wait))}
    return Problem(429, "too_many_requests", f"{what}; wait {wait:.1f} s.", headers)


def client_of(peer: tuple[str, int] | None) -> str:
    """What one client is counted by: its address, or the network that one household or host has of IPv6.

    >>> client_of(("192.0.2.7", 5)), client_of(("2001:db8::1:2:3:4", 5)), client_of(("::ffff:192.0.2.7", 5))
    ('192.0.2.7', '2001:db8::/64', '192.0.2.7')
    """
    if peer is None:
        return "unknown"
    try:
        address = ipaddress.ip_address(peer[0].partition("%")[0])
    except ValueError:
        return peer[0]
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, 64), strict=False))
