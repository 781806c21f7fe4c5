"""The application: its metrics, what its routes declare in the OpenAPI document, and how it is put together."""

import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Request
from fastapi import Path as PathParameter
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from diptych.serving import ServingSettings
from diptych.serving.errors import add_handlers
from diptych.serving.middleware import BodyLimitMiddleware, ErrorMiddleware, HostMiddleware, RateLimitMiddleware
from diptych.serving.schemas import LONGEST_ID, ErrorBody, UploadRequest
from diptych.serving.security import AuditLog, Keys
from diptych.serving.service import SearchBackend, SearchService

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
        self._of_requests: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request; the two figures of its labels are looked up once."""
        labels = method, route, status
        figures = self._of_requests.get(labels)
        if figures is None:
            figures = self._of_requests[labels] = self.requests.labels(*labels), self.seconds.labels(route)
        count, histogram = figures
        count.inc()
        histogram.observe(seconds)

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
            self._metrics.answered(method, route, status, time.perf_counter() - started)


_bodies: list[type[BaseModel]] = [UploadRequest]
"""What routes read by hand, as `body_of` was told; a field of a form holds the first as text."""
_PLACE = "#/components/schemas/{model}"


def body_of(json: type[BaseModel], form: type[BaseModel] | None = None) -> dict[str, Any]:
    """Say of a route that its body is JSON, or a form, which it reads by hand.

    A body that is a parameter of the route would be parsed before the key is looked at, and by the event loop.
    """
    _bodies.extend([json] if form is None else [json, form])
    bodies = {"application/json": json} | ({} if form is None else {"multipart/form-data": form})
    content = {kind: {"schema": {"$ref": _PLACE.format(model=body.__name__)}} for kind, body in bodies.items()}
    return {"requestBody": {"required": True, "content": content}}


def describe(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, made once."""
    if app.openapi_schema is None:
        document = get_openapi(title="Diptych", version=version("diptych"), routes=app.routes)
        document["info"]["description"] = "Search images by text and text by images."
        _, read_by_hand = models_json_schema([(body, "validation") for body in _bodies], ref_template=_PLACE)
        document["components"]["schemas"] |= read_by_hand["$defs"]
        for unused in ("HTTPValidationError", "ValidationError"):
            document["components"]["schemas"].pop(unused, None)
        app.openapi_schema = document
    return app.openapi_schema


_MEANINGS = {
    400: "The request cannot be read.",
    401: "A key is missing or wrong.",
    403: "The key does not allow this, or the server does not.",
    404: "There is no such item.",
    408: "The request did not arrive in time.",
    409: "An item of this id is there already.",
    413: "Too many bytes or pixels.",
    421: "The server does not answer to this name.",
    416: "The file has no such bytes.",
    415: "The body is neither JSON nor a form.",
    422: "Something in the request is wrong; the message says what.",
    429: "Too many requests.",
    500: "The server failed.",
    503: "Too many queries wait, or the server is not ready.",
}
_BODY, _ANY = (400, 408, 413, 415), (401, 421, 422, 429, 500, 503)


def errors(*statuses: int, body: bool = False) -> dict[int | str, dict[str, Any]]:
    """The errors of a route for its documentation, those that any route may give included."""
    chosen = sorted({*statuses, *_ANY, *(_BODY if body else ())})
    return {status: {"model": ErrorBody, "description": _MEANINGS[status]} for status in chosen}


ItemId = Annotated[str, PathParameter(min_length=1, max_length=LONGEST_ID, description="An item's id.")]


class PlainRoute(APIRoute):
    """A route whose function takes the request and returns the response; FastAPI only describes it.

    It resolves no dependencies and validates no parameters, so that it costs less time.
    """

    def __init__(self, path: str, endpoint: Callable[[Request], Awaitable[Response]], **options: Any) -> None:  # noqa: ANN401
        super().__init__(path, endpoint, **options)

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            response = await endpoint(Request(scope, receive, send))
            await response(scope, receive, send)

        self.app = answer


def service_of(request: Request) -> SearchService:
    """The search service of the application that a request came to; called by hand, for every dependency costs time."""
    service: SearchService = request.app.state.service
    return service


def settings_of(request: Request) -> ServingSettings:
    """The settings of that application."""
    settings: ServingSettings = request.app.state.settings
    return settings


def create_app(searcher: SearchBackend, settings: ServingSettings | None = None) -> FastAPI:
    """An application that answers from a searcher, and closes it when it shuts down.

    Args:
        searcher: what to ask; writable, if there is a write key.
        settings: keys and limits; by default anybody may read and nobody may write.
    """
    from diptych.serving.routes import ROUTERS  # which import what is declared here
    from diptych.serving.routes.page import add_page

    settings = settings or ServingSettings()
    metrics, keys = Metrics(), Keys(settings)
    service = SearchService(searcher, settings, metrics)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    # The usual pages of documentation load programs from elsewhere; the document itself is enough.
    app = FastAPI(
        title="Diptych",
        version=version("diptych"),
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    app.state.service, app.state.settings, app.state.metrics = service, settings, metrics
    app.state.keys, app.state.projection, app.state.map = keys, None, None
    app.state.audit = AuditLog(None if settings.audit_log is None else Path(settings.audit_log))
    app.openapi = lambda: describe(app)  # type: ignore[method-assign]
    # Included, a router would be asked twice whether a request is for it.
    app.router.routes += [route for router in ROUTERS for route in router.routes]
    add_page(app)
    add_handlers(app)
    # The one added last stands outermost.
    app.add_middleware(
        BodyLimitMiddleware,
        max_bytes=settings.max_body_bytes,
        max_json_bytes=settings.max_json_bytes,
        max_bytes_together=settings.max_bodies_bytes,
        timeout_s=settings.body_timeout_s,
    )
    if settings.rate_here is not None:
        app.add_middleware(RateLimitMiddleware, rate=settings.rate_here)
    if not keys.needed:
        app.add_middleware(HostMiddleware, names=settings.allow_hosts)
    app.add_middleware(ErrorMiddleware)
    app.add_middleware(MetricsMiddleware, metrics=metrics)
    return app
