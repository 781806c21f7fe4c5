"""Put the server together."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path

from fastapi import FastAPI

from diptych.serving.errors import add_handlers
from diptych.serving.metrics import Metrics, MetricsMiddleware
from diptych.serving.middleware import BodyLimitMiddleware, ErrorMiddleware, HostMiddleware, RateLimitMiddleware
from diptych.serving.openapi import describe
from diptych.serving.routes import ROUTERS
from diptych.serving.routes.page import add_page
from diptych.serving.security import AuditLog, Keys
from diptych.serving.service import SearchBackend, SearchService
from diptych.serving.settings import ServingSettings


def create_app(searcher: SearchBackend, settings: ServingSettings | None = None) -> FastAPI:
    """An application that answers from a searcher, and closes it when it shuts down.

    Args:
        searcher: what to ask; writable, if there is a write key.
        settings: keys and limits; by default anybody may read and nobody may write.
    """
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
    for router in ROUTERS:
        app.include_router(router)
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
