"""Ask a server over HTTP, by the standard library alone."""

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

_BOUNDARY = "diptych-a-line-that-no-image-holds"
_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Reply:
    """What a server answered.

    Attributes:
        status: of HTTP; 0 when there was no answer at all.
        body: as it came.
        media_type: of the body.
    """

    status: int
    body: bytes
    media_type: str = ""

    @property
    def json(self) -> Any:  # noqa: ANN401 - whatever the server says
        """The body read as JSON; None if it is none."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode("utf-8", "replace")


class HttpClient:
    """Asks one server; an answer that is an error is an answer too."""

    def __init__(self, address: str, key: str | None = None) -> None:
        self._address = address
        self._headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # the server is on this machine

    def get(self, path: str, **query: str | int | float) -> Reply:
        """Ask for an address."""
        return self._send("GET", f"{path}?{urlencode(query)}" if query else path)

    def upload(self, path: str, image: bytes, **fields: str) -> Reply:
        """Send an image and fields as a form."""
        form = b"".join(_part(f'name="{name}"', value.encode()) for name, value in fields.items()) + _part(
            'name="picture"; filename="image"', image
        )
        headers = {"Content-Type": f"multipart/form-data; boundary={_BOUNDARY}"}
        return self._send("POST", path, form + f"--{_BOUNDARY}--\r\n".encode(), headers)

    def _send(self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Reply:
        request = urllib.request.Request(self._address + path, body, self._headers | (headers or {}), method=method)
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


def shown_address(host: str, port: int) -> str:
    """The address to type into a browser on the machine that listens.

    >>> shown_address("0.0.0.0", 8000), shown_address("::1", 80)
    ('http://127.0.0.1:8000', 'http://[::1]:80')
    """
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{port}"
