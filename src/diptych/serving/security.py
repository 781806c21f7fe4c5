"""Who may read, who may write, and how often: keys, and buckets of tokens that fill at a steady rate."""

import hashlib
import hmac
import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from fastapi import Request, Security
from fastapi.security import HTTPBearer

from diptych.serving.errors import Problem
from diptych.serving.settings import ServingSettings

_MOST_CLIENTS = 10_000
_BURST_S = 5.0


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


_SCHEME = "HTTPBearer"
NEEDS_KEY: dict[str, Any] = {"security": [{_SCHEME: []}]}
"""What the description says of routes that check a reader by hand."""
_GUESSES, _GUESS_S = 10, 6.0
"""Wrong keys that one client may try at once, and the seconds after which it may try another."""
_ASK = {"WWW-Authenticate": 'Bearer realm="diptych"'}


class Keys:
    """The keys of a server, kept as digests: all comparisons take the same time, whatever is compared.

    Wrong keys are counted by client, on every route. Who has tried too many waits a few seconds before the next one is
    looked at, the right one included; requests without a key are not concerned.
    """

    def __init__(self, settings: ServingSettings) -> None:
        self._read = _digest(settings.read_key)
        self._write = _digest(settings.write_key)
        self._guesses = Buckets(1 / (_GUESS_S * settings.workers), _GUESSES / settings.workers)

    @property
    def writes(self) -> bool:
        """Whether anybody may write."""
        return self._write is not None

    @property
    def needed(self) -> bool:
        """Whether reading needs a key."""
        return self._read is not None

    def check_read(self, given: str | None, client: str = "unknown") -> None:
        """Refuse a reader who has neither key; where reading is free, a wrong key is still told."""
        if given is None:
            if self.needed:
                raise Problem(401, "key_needed", "this server asks for a key; send it as a bearer token.", _ASK)
            return
        if self.needed or self.writes:
            self._roles(given, client)

    def check_write(self, given: str | None, client: str = "unknown") -> None:
        """Refuse a writer who does not have the write key."""
        if not self.writes:
            raise Problem(403, "writes_off", "writes are off: this server was started without a write key.")
        if given is None:
            raise Problem(401, "key_needed", "changing items needs the write key; send it as a bearer token.", _ASK)
        if not self._roles(given, client)[1]:
            raise Problem(403, "key_cannot_write", "this is the read key; changing items needs the write key.")

    def _roles(self, given: str, client: str) -> tuple[bool, bool]:
        """Whether a key may read and whether it may write; a key that may neither is a wrong guess."""
        wait = self._guesses.wait(client)
        if wait:
            raise too_often(wait, "too many wrong keys from your address")
        reads, writes = self._matches(given)
        if not (reads or writes):
            self._guesses.take(client)
            raise Problem(401, "key_wrong", "this key is not one of this server's.", _ASK)
        return reads, writes

    def _matches(self, given: str) -> tuple[bool, bool]:
        digest = hashlib.sha256(given.encode("latin-1", "replace")).digest()  # as headers are decoded
        return hmac.compare_digest(digest, self._read or b""), hmac.compare_digest(digest, self._write or b"")


def _digest(key: str | None) -> bytes | None:
    return None if key is None else hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


def keys_of(request: Request) -> Keys:
    """The keys of the application that a request came to."""
    keys: Keys = request.app.state.keys
    return keys


def key_in(request: Request) -> str | None:
    """The key that a request carries."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key if key and scheme.lower() == "bearer" else None


def check_reader(request: Request) -> None:
    """Refuse whoever may not search: for routes that call it by hand, since a dependency costs them time."""
    keys_of(request).check_read(key_in(request), client_of(request.scope.get("client")))


class _Bearer(HTTPBearer):
    """The scheme as the description of the interface has it."""

    def __init__(self) -> None:
        description = "The read key or the write key of this server."
        super().__init__(auto_error=False, scheme_name=_SCHEME, description=description)


class _MayRead(_Bearer):
    async def __call__(self, request: Request) -> None:  # type: ignore[override]
        check_reader(request)


class _MayWrite(_Bearer):
    async def __call__(self, request: Request) -> None:  # type: ignore[override]
        keys_of(request).check_write(key_in(request), client_of(request.scope.get("client")))


MAY_READ, MAY_WRITE = Security(_MayRead()), Security(_MayWrite())
"""Dependencies that let pass whoever may search, and whoever may change items."""
