"""Which names a server answers to, so that a page of a stranger cannot read it through a browser (DNS rebinding).

A stranger's page may point its own name at 127.0.0.1 and then ask "itself". The browser still sends that name as the
host, so a server without a key answers only to addresses, to localhost, to this machine's own name and to the names
it was given. With a key there is nothing to fear: the stranger's page does not have it.
"""

import ipaddress
import socket
from collections.abc import Iterable

from starlette.types import ASGIApp, Receive, Scope, Send

from diptych.serving.problems import Problem, as_response

ANY = "*"


class HostCheck:
    """Answers 421 to requests for a name that is not this server's."""

    def __init__(self, app: ASGIApp, names: Iterable[str]) -> None:
        self._app = app
        own = socket.gethostname().lower()
        self._names = {name.lower().rstrip(".") for name in names} | {own, f"{own}.local"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
            if given and not self._is_ours(given):
                sentence = f"this server does not answer to {given[:100]!r}; start it with --allow-host to add a name."
                await as_response(Problem(421, "wrong_host", sentence))(scope, receive, send)
                return
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
