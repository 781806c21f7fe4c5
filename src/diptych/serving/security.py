"""Who may read, who may write, and how often: keys, and buckets of tokens that fill at a steady rate."""

import asyncio
import errno
import hashlib
import hmac
import ipaddress
import json
import logging
import math
import os
import secrets
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from fastapi import Request, Security
from fastapi.security import HTTPBearer

from diptych.serving import ServingSettings
from diptych.serving.errors import Problem
from diptych.serving.keys import Key, Role, WatchedKeys, digest_of

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
    return "unknown" if peer is None else _client_at(peer[0])


@lru_cache(maxsize=_MOST_CLIENTS)
def _client_at(host: str) -> str:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, 64), strict=False))


log = logging.getLogger("diptych.serving")

_SCHEME = "HTTPBearer"
NEEDS_KEY: dict[str, Any] = {"security": [{_SCHEME: []}]}
"""What the description says of routes that check a reader by hand."""
_GUESSES, _GUESS_S = 10, 6.0
"""Wrong keys that one client may try at once, and the seconds after which it may try another."""
_ASK = {"WWW-Authenticate": 'Bearer realm="diptych"'}


class Keys:
    """The keys of a server, compared as digests, in the same time whatever is compared.

    Wrong keys are counted by client, on every route. Who has tried too many waits a few seconds before the next one is
    looked at, the right one included; requests without a key are not concerned.
    """

    def __init__(self, settings: ServingSettings) -> None:
        self._workers = settings.workers
        given: list[tuple[str, Role, str | None]] = [
            ("--read-key", "read", settings.read_key),
            ("--write-key", "admin", settings.write_key),
        ]
        self._given = tuple(Key(name, role, digest_of(key)) for name, role, key in given if key is not None)
        self._file = None if settings.keys_file is None else WatchedKeys(Path(settings.keys_file))
        self._public = settings.read_key is None and (self._file is None or settings.public_read)
        self._guesses = Buckets(1 / (_GUESS_S * settings.workers), _GUESSES / settings.workers)
        self._rates: dict[tuple[str, float], Buckets] = {}

    @property
    def writes(self) -> bool:
        """Whether anybody may write."""
        return any(key.allows("write") for key in self._keys())

    @property
    def needed(self) -> bool:
        """Whether reading needs a key."""
        return not self._public

    def role(self, given: str | None) -> Role | None:
        """What a key allows; None without one, or for one that nobody has."""
        if given is None:
            return None
        digest = hashlib.sha256(given.encode("latin-1", "replace")).hexdigest()
        return next((key.role for key in self._keys() if hmac.compare_digest(digest, key.digest)), None)

    def check_read(self, given: str | None, client: str = "unknown") -> None:
        """Refuse a reader who has no key; where reading is free, a wrong key is still told."""
        if given is None:
            if self.needed:
                raise Problem(401, "key_needed", "this server asks for a key; send it as a bearer token.", _ASK)
            return
        if self.needed or self._file is not None or self._given:
            self._key(given, client)

    def check(self, role: Role, given: str | None, client: str = "unknown") -> Key:
        """Refuse whoever has no key of a role; returns the key."""
        if role == "write" and not self.writes:
            raise Problem(403, "writes_off", "writes are off: this server was started without a key that may write.")
        if given is None:
            raise Problem(401, "key_needed", f"this needs a key with the role {role}; send it as a bearer token.", _ASK)
        key = self._key(given, client)
        if not key.allows(role):
            sentence = f"this key has the role {key.role}, and the role {role} is needed."
            raise Problem(403, "key_cannot_write" if role == "write" else "key_not_allowed", sentence)
        return key

    def _key(self, given: str, client: str) -> Key:
        """The key that was sent; one that nobody has is a wrong guess."""
        wait = self._guesses.wait(client)
        if wait:
            raise too_often(wait, "too many wrong keys from your address")
        digest = hashlib.sha256(given.encode("latin-1", "replace")).hexdigest()  # as headers are decoded
        found = [key for key in self._keys() if hmac.compare_digest(digest, key.digest)]
        if not found:
            self._guesses.take(client)
            raise Problem(401, "key_wrong", "this key is not one of this server's.", _ASK)
        if found[0].rate is not None:
            self._count(found[0].name, found[0].rate)
        return found[0]

    def _count(self, name: str, rate: float) -> None:
        """Count a request of a key whose requests are limited; the workers of a server share its rate."""
        buckets = self._rates.setdefault((name, rate), Buckets(rate / self._workers))
        wait = buckets.take(name)
        if wait:
            raise too_often(wait, "too many requests with this key")

    def _keys(self) -> tuple[Key, ...]:
        return self._given if self._file is None else self._given + self._file()


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

    def __init__(self, role: Role) -> None:
        super().__init__(auto_error=False, scheme_name=_SCHEME, description="A key of this server.")
        self._role = role

    async def __call__(self, request: Request) -> None:  # type: ignore[override]
        if self._role == "read":
            check_reader(request)
            return
        client = client_of(request.scope.get("client"))
        request.state.key = keys_of(request).check(self._role, key_in(request), client).name


MAY_READ, MAY_WRITE, MAY_ADMINISTER = Security(_Bearer("read")), Security(_Bearer("write")), Security(_Bearer("admin"))
"""Dependencies that let pass whoever may search, change items, and make backups."""


class AuditLog:
    """A file of JSON lines that says who changed what: a line before each change, another if it then fails.

    So every change that was made is in it, whatever happens to the server. The file may be moved away at any time.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path

    @asynccontextmanager
    async def noting(self, request: Request, action: str, ids: Sequence[str]) -> AsyncIterator[None]:
        """Write that a change is asked for, and, if the block fails, that it was not made."""
        if self._path is None:
            yield
            return
        number = secrets.token_hex(8)
        who = {"key": request.state.key, "client": client_of(request.scope.get("client"))}
        await asyncio.to_thread(self._append, {"request": number, **who, "action": action, "ids": list(ids)})
        try:
            yield
        except Exception as error:  # not that the client has gone: what was begun is finished
            failed = error.code if isinstance(error, Problem) else type(error).__name__
            await asyncio.to_thread(self._append, {"request": number, "failed": failed})
            raise

    def _append(self, facts: dict[str, Any]) -> None:
        assert self._path is not None
        # In ASCII: nothing that somebody called an item can end the line or steer a terminal.
        line = json.dumps({"time": datetime.now(UTC).isoformat(timespec="milliseconds")} | facts) + "\n"
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                data = (f"\n{line}" if self._is_torn() else line).encode()
                if os.write(descriptor, data) < len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            log.error("the audit log cannot be written: %s", error)
            raise Problem(503, "no_audit", "the audit log cannot be written, so nothing was changed.") from None

    def _is_torn(self) -> bool:
        """Whether the last line was not written to its end, since the disk was full."""
        assert self._path is not None
        with suppress(OSError), self._path.open("rb") as file:
            return file.seek(-1, os.SEEK_END) >= 0 and file.read() != b"\n"
        return False


def audit_of(request: Request) -> AuditLog:
    """The audit log of the application that a request came to."""
    audit: AuditLog = request.app.state.audit
    return audit
