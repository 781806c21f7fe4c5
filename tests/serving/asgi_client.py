"""Ask an application directly, without a network."""

import asyncio
import concurrent.futures
import threading
from typing import Any

import httpx


class AsgiClient:
    """One event loop, in a thread of its own, and one client for as long as a test lasts."""

    def __init__(self, app, headers: dict[str, str] | None = None, address: str = "127.0.0.1") -> None:
        self.app = app
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        transport = httpx.ASGITransport(app, client=(address, 1234), raise_app_exceptions=False)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers)

    def __call__(self, method: str, address: str, **options: Any) -> httpx.Response:
        return self.run(self._client.request(method, address, **options))

    def start(self, method: str, address: str, **options: Any) -> "concurrent.futures.Future[httpx.Response]":
        return asyncio.run_coroutine_threadsafe(self._client.request(method, address, **options), self._loop)

    def together(self, *requests: tuple[str, str, dict[str, Any]]) -> list[httpx.Response]:
        async def all_at_once() -> list[httpx.Response]:
            asked = [self._client.request(method, address, **options) for method, address, options in requests]
            return await asyncio.gather(*asked)

        return self.run(all_at_once())

    def run(self, work):
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(120)

    def close(self) -> None:
        self.run(self._client.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}
