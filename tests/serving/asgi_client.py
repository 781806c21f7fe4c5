"""Ask an application directly, without a network."""

import asyncio
from typing import Any

import httpx


class AsgiClient:
    """One event loop and one client for as long as a test lasts."""

    def __init__(self, app, headers: dict[str, str] | None = None, address: str = "127.0.0.1") -> None:
        self.app = app
        self._runner = asyncio.Runner()
        transport = httpx.ASGITransport(app, client=(address, 1234), raise_app_exceptions=False)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://test", headers=headers)

    def __call__(self, method: str, address: str, **options: Any) -> httpx.Response:
        return self._runner.run(asyncio.wait_for(self._client.request(method, address, **options), 60))

    def together(self, *requests: tuple[str, str, dict[str, Any]]) -> list[httpx.Response]:
        async def all_at_once() -> list[httpx.Response]:
            asked = [self._client.request(method, address, **options) for method, address, options in requests]
            return await asyncio.gather(*asked)

        return self._runner.run(all_at_once())

    def run(self, work):
        return self._runner.run(work)

    def close(self) -> None:
        self._runner.run(self._client.aclose())
        self._runner.close()


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}
