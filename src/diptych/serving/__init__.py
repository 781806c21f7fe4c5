"""Serve an index over HTTP, with a page for people: settings and the application; needs the extra "serve"."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self

from diptych._core.errors import ConfigError

if TYPE_CHECKING:
    from diptych.serving.app import create_app

__all__ = ["ServingSettings", "create_app"]

READ_KEY, WRITE_KEY = "DIPTYCH_READ_KEY", "DIPTYCH_WRITE_KEY"
INDEX, SETTINGS = "DIPTYCH_SERVE_INDEX", "DIPTYCH_SERVE_SETTINGS"
"""The variables of the environment by which a parent process tells its workers what to serve."""

_SECRETS = {"read_key": READ_KEY, "write_key": WRITE_KEY}


@dataclass(frozen=True)
class ServingSettings:
    """What a server allows.

    Attributes:
        read_key: key required to search; None allows everybody.
        write_key: key required to change items; None allows nobody.
        keys_file: file with more keys, written by `diptych keys`; searching then requires a key.
        public_read: allow searching without a key even if there is a file of keys.
        audit_log: file that records every change as JSON lines; None for none.
        snapshots: folder for backups requested over HTTP; None disables them.
        dataset: folder of the dataset that the index was built from, for learning; None for its original place.
        tls_cert: file with the certificate chain, for HTTPS.
        tls_key: file with the private key of the certificate.
        rate_per_second: sustained requests per second allowed to one client; None for no limit.
        max_upload_bytes: largest image or sound in bytes.
        max_pixels: largest image in pixels, according to its header.
        max_seconds: longest sound in seconds, according to its header.
        max_side: largest width or height of an image, according to its header.
        max_json_bytes: largest request body that is not a form, including files in base64.
        max_uploads_bytes: total size of the bodies of simultaneous requests; further requests get 503.
        max_metadata_bytes: largest metadata of one item, as JSON.
        max_items: largest number of entries in the index; None for no limit.
        query_timeout_s: seconds after which a query is cancelled in the engine.
        lock_timeout_s: seconds that a change waits for other changes before it gets 503; None for the engine's default.
        max_results: largest number of results per request.
        max_batch: largest number of queries embedded together.
        max_waiting: largest number of waiting queries; further ones get 503.
        header_timeout_s: seconds for the headers of a request to arrive.
        body_timeout_s: seconds for the body of a request to arrive.
        max_connections: largest number of open connections, if the system has enough file descriptors.
        trust_proxy: addresses of proxies whose forwarding headers are trusted, such as "127.0.0.1" or "10.0.0.0/8",
            separated by commas; None for no proxy.
        allow_hosts: host names, besides those of this machine, that a server without a read key answers to; "*" for
            any.
        shutdown_s: seconds for accepted requests to finish after the server is told to stop.
        workers: number of server processes; they share the port and the rate limit.
    """

    read_key: str | None = field(default=None, repr=False)
    write_key: str | None = field(default=None, repr=False)
    keys_file: str | None = None
    public_read: bool = False
    audit_log: str | None = None
    snapshots: str | None = None
    dataset: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    rate_per_second: float | None = None
    max_upload_bytes: int = 20 * 2**20
    max_pixels: int = 50_000_000
    max_seconds: float = 300.0
    max_side: int = 30_000
    max_json_bytes: int = 8 * 2**20
    max_uploads_bytes: int = 48 * 2**20
    max_metadata_bytes: int = 2**16
    max_items: int | None = None
    query_timeout_s: float = 30.0
    lock_timeout_s: float | None = None
    max_results: int = 200
    max_batch: int = 32
    max_waiting: int = 512
    header_timeout_s: float = 10.0
    body_timeout_s: float = 30.0
    max_connections: int = 1_000
    trust_proxy: str | None = None
    allow_hosts: tuple[str, ...] = ()
    shutdown_s: float = 30.0
    workers: int = 1

    def __post_init__(self) -> None:
        for name in (
            "max_upload_bytes",
            "max_pixels",
            "max_seconds",
            "max_side",
            "max_json_bytes",
            "max_uploads_bytes",
            "max_metadata_bytes",
            "max_items",
            "query_timeout_s",
            "lock_timeout_s",
            "max_results",
            "max_batch",
            "max_waiting",
            "header_timeout_s",
            "body_timeout_s",
            "max_connections",
            "shutdown_s",
            "workers",
        ):
            if getattr(self, name) is not None and getattr(self, name) <= 0:
                raise ConfigError(f"{name} is {getattr(self, name)}; give a positive number.")
        if self.rate_per_second is not None and not self.rate_per_second > 0:
            raise ConfigError(f"the rate is {self.rate_per_second}; give requests per second above 0, or none.")
        for name in _SECRETS:
            if getattr(self, name) == "":
                raise ConfigError(f"the {name.replace('_', ' ')} is empty; give a long one, or none.")
        if self.read_key is not None and self.read_key == self.write_key:
            raise ConfigError("the read key and the write key are the same; whoever may search could change items.")
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ConfigError("HTTPS needs both --tls-cert and --tls-key; give the other one, too.")

    @property
    def writable(self) -> bool:
        """Whether there may be keys that allow to write."""
        return self.write_key is not None or self.keys_file is not None

    @property
    def max_body_bytes(self) -> int:
        """Of a whole request: one image of the largest size as base64, and room for the rest."""
        return self.max_upload_bytes * 4 // 3 + 2**16

    @property
    def max_bodies_bytes(self) -> int:
        """Of the bodies of all requests together, in which one of the largest size has room in any case."""
        return max(self.max_uploads_bytes, self.max_body_bytes)

    @property
    def rate_here(self) -> float | None:
        """The rate that one of the workers may grant."""
        return None if self.rate_per_second is None else self.rate_per_second / self.workers

    def to_environment(self) -> dict[str, str]:
        """The settings as variables; keys have their own, so that nothing prints them by accident."""
        plain = {name: value for name, value in asdict(self).items() if name not in _SECRETS}
        keys = {variable: getattr(self, name) for name, variable in _SECRETS.items()}
        return {SETTINGS: json.dumps(plain)} | {name: value for name, value in keys.items() if value is not None}

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """Read what `to_environment` wrote; what is absent keeps its default."""
        plain = json.loads(environment.get(SETTINGS, "{}"))
        known = {one.name for one in fields(cls)} - set(_SECRETS)
        if unknown := set(plain) - known:
            raise ConfigError(f"{SETTINGS} holds {sorted(unknown)}; known are {sorted(known)}.")
        if "allow_hosts" in plain:
            plain["allow_hosts"] = tuple(plain["allow_hosts"])
        return cls(read_key=environment.get(READ_KEY), write_key=environment.get(WRITE_KEY), **plain)


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the module holds
    """Import the application when it is asked for: keys are made without a web server."""
    if name == "create_app":
        from diptych.serving.app import create_app

        return create_app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
