"""Metrics of the server, for Prometheus."""

import os
import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOGETHER = "PROMETHEUS_MULTIPROC_DIR"
"""The folder where several workers keep their figures, so that each can report those of all."""

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_GONE = 499
"""Counted for a client that went away before there was an answer."""
_METHODS = {"GET", "HEAD", "POST", "PUT", "DELETE"}


class Metrics:
    """The figures of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "diptych_requests", "Requests answered.", ("method", "route", "status"), registry=self._registry
        )
        self.seconds = Histogram(
            "diptych_request_seconds", "Time to answer.", ("route",), buckets=_SECONDS, registry=self._registry
        )
        self.in_flight = Gauge(
            "diptych_requests_in_flight",
            "Requests being answered.",
            registry=self._registry,
            multiprocess_mode="livesum",
        )
        self.batch = Histogram(
            "diptych_query_batch", "Queries embedded together.", buckets=(1, 2, 4, 8, 16, 32), registry=self._registry
        )
        self.written = Counter(
            "diptych_items_changed", "Items added, replaced or removed.", ("change",), registry=self._registry
        )

    def text(self) -> bytes:
        """The figures in Prometheus's text format: of all workers, if there are several."""
        registry = self._registry
        if TOGETHER in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)


class MetricsMiddleware:
    """Count and time requests by route; unknown addresses share one name, so that clients cannot make new ones."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = _GONE

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        started = time.perf_counter()
        self._metrics.in_flight.inc()
        try:
            await self._app(scope, receive, noted)
        finally:
            self._metrics.in_flight.dec()
            route = getattr(scope.get("route"), "path", "other")
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._metrics.requests.labels(method, route, status).inc()
            self._metrics.seconds.labels(route).observe(time.perf_counter() - started)
