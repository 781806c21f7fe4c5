"""The file of keys: who may use a server, by name and role. It holds digests, never the keys themselves.

A key is 256 random bits, so that a plain digest of it cannot be turned back. Servers read the file again when it has
changed: a key works within a second of being created, and no longer than that after it was revoked.
"""

import hashlib
import logging
import re
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, get_args

from diptych._core.errors import ConfigError, DataError, DiptychError
from diptych._core.files import checked_fields, interpreting, read_json, write_json
from diptych._core.locks import file_lock

log = logging.getLogger("diptych.serving")

Role = Literal["read", "write", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
"""Each may do what those before it may: search, change items, make backups."""
FORMAT = "diptych-keys"
_NAME = re.compile(r"[\w.@-]{1,64}")
_LOOK_EVERY_S = 1.0


@dataclass(frozen=True)
class Key:
    """One key.

    Attributes:
        name: whose it is; the audit log tells it.
        role: what it allows.
        digest: SHA-256 of the key, in hexadecimal digits.
        created: when, in UTC.
        rate: requests a second that it allows for long; None for as many as the server allows.
    """

    name: str
    role: Role
    digest: str
    created: str = ""
    rate: float | None = None

    def allows(self, role: Role) -> bool:
        """Whether it may do what a role may."""
        return ROLES.index(self.role) >= ROLES.index(role)


def digest_of(key: str) -> str:
    """What is kept of a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


def read_keys(path: Path) -> tuple[Key, ...]:
    """The keys of a file.

    Raises:
        DataError: when there is none, or it was not written by `diptych keys`.
    """
    written = read_json(path)
    with interpreting(path, "write it with `diptych keys`"):
        if written["format"] != FORMAT:
            raise ValueError(f"its format is {written['format']!r:.40}")
        keys = tuple(checked_fields(Key(**each)) for each in written["keys"])
        if len({key.name for key in keys}) < len(keys):
            raise ValueError("two keys have one name")
        return keys


def add_key(path: Path, name: str, role: Role, *, rate: float | None = None) -> str:
    """Create a key and return it: it is shown this once. The file is made if it is not there."""
    if not _NAME.fullmatch(name):
        raise ConfigError(f"a key is named {name!r:.80}; use up to 64 letters, digits and . _ @ -")
    if role not in ROLES:
        raise ConfigError(f"the role is {role!r:.40}; choose one of {', '.join(ROLES)}.")
    if rate is not None and not rate > 0:
        raise ConfigError(f"the rate is {rate}; give requests a second above 0, or none.")
    with _changing(path) as (keys, write):
        if any(key.name == name for key in keys):
            raise ConfigError(f"there is a key named {name!r} already; revoke or rotate it, or choose another name.")
        secret, made = _new(name, role, rate)
        write([*keys, made])
    return secret


def rotate_key(path: Path, name: str) -> str:
    """Put a new key in the place of one, with its name, role and rate, and return it; the old one ends at once."""
    with _changing(path) as (keys, write):
        former = _named(keys, name)
        secret, made = _new(name, former.role, former.rate)
        write([made if key.name == name else key for key in keys])
    return secret


def revoke_key(path: Path, name: str) -> None:
    """End a key."""
    with _changing(path) as (keys, write):
        _named(keys, name)
        write([key for key in keys if key.name != name])


class WatchedKeys:
    """The keys of a file as it is now, looked at once a second at most."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path, self._clock = path, clock
        self._keys = read_keys(path)
        self._seen = self._mark()
        self._look_at = clock() + _LOOK_EVERY_S

    def __call__(self) -> tuple[Key, ...]:
        """The keys; none if the file is gone, those of before if it cannot be understood."""
        now = self._clock()
        if now >= self._look_at:
            self._look_at = now + _LOOK_EVERY_S
            mark = self._mark()
            if mark != self._seen:
                self._seen = mark
                self._read()
        return self._keys

    def _read(self) -> None:
        try:
            self._keys = read_keys(self._path) if self._path.exists() else ()
        except DiptychError as error:
            log.error("the keys stay as they were: %s", error)

    def _mark(self) -> tuple[int, int, int]:
        try:
            found = self._path.stat()
        except OSError:
            return 0, 0, 0
        return found.st_ino, found.st_mtime_ns, found.st_size


def _new(name: str, role: Role, rate: float | None) -> tuple[str, Key]:
    secret = f"dk_{secrets.token_urlsafe(32)}"
    return secret, Key(name, role, digest_of(secret), datetime.now(UTC).isoformat(timespec="seconds"), rate)


def _named(keys: Sequence[Key], name: str) -> Key:
    found = next((key for key in keys if key.name == name), None)
    if found is None:
        known = ", ".join(key.name for key in keys) or "none"
        raise ConfigError(f"there is no key named {name!r:.80}; there are: {known}.")
    return replace(found)


@contextmanager
def _changing(path: Path) -> Iterator[tuple[tuple[Key, ...], Callable[[Sequence[Key]], None]]]:
    """The keys of a file and a function that replaces them, one process at a time."""

    def write(keys: Sequence[Key]) -> None:
        write_json(path, {"format": FORMAT, "keys": [asdict(key) for key in keys]})
        path.chmod(0o600)

    with file_lock(path.with_name(f".{path.name}.lock"), timeout_s=10) as mine:
        if not mine:
            raise DataError(f"{path} is being changed by another process; try again.")
        yield read_keys(path) if path.exists() else (), write
