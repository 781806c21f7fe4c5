"""Someone who asks a server over HTTP, by the standard library alone."""

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

_BOUNDARY = "diptych-a-line-that-no-picture-holds"
_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Reply:
    """What a server said.

    Attributes:
        status: of HTTP; 0 when there was no answer at all.
        body: as it came.
        kind: its media type.
    """

    status: int
    body: bytes
    kind: str = ""

    @property
    def json(self) -> Any:  # noqa: ANN401 - whatever the server says
        """The body read as JSON; None if it is none."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    @property
    def text(self) -> str:
        """The body as words."""
        return self.body.decode("utf-8", "replace")


class Visitor:
    """Asks one server; an answer that is an error is an answer too."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # the server is on this machine

    def get(self, path: str, **query: str | int) -> Reply:
        """Ask for an address."""
        return self._send("GET", f"{path}?{urlencode(query)}" if query else path)

    def delete(self, path: str) -> Reply:
        """Ask that something be deleted."""
        return self._send("DELETE", path)

    def upload(self, path: str, picture: bytes, **fields: str) -> Reply:
        """Send a picture and fields as a form."""
        form = b"".join(_part(f'name="{name}"', value.encode()) for name, value in fields.items()) + _part(
            'name="picture"; filename="picture"', picture
        )
        kind = f"multipart/form-data; boundary={_BOUNDARY}"
        return self._send("POST", path, form + f"--{_BOUNDARY}--\r\n".encode(), {"Content-Type": kind})

    def _send(self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Reply:
        request = urllib.request.Request(self._address + path, body, headers or {}, method=method)
        try:
            with self._opener.open(request, timeout=_TIMEOUT_S) as answer:
                return Reply(answer.status, answer.read(), answer.headers.get_content_type())
        except urllib.error.HTTPError as error:
            with error:
                return Reply(error.code, error.read(), error.headers.get_content_type())
        except OSError as error:
            return Reply(0, str(error).encode())


def _part(name: str, content: bytes) -> bytes:
    return f"--{_BOUNDARY}\r\nContent-Disposition: form-data; {name}\r\n\r\n".encode() + content + b"\r\n"
