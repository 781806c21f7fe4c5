"""Is the server alive, is it ready, and what has it done?"""

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from diptych.serving.errors import Problem
from diptych.serving.metrics import Metrics
from diptych.serving.openapi import errors, service_of
from diptych.serving.schemas import Condition, ErrorBody
from diptych.serving.security import MAY_READ

router = APIRouter(tags=["health"])
_FAILS: dict[int | str, dict[str, Any]] = {503: {"model": ErrorBody, "description": "Not ready."}}


@router.get("/healthz")
async def alive() -> Condition:
    """The process answers."""
    return Condition()


@router.get("/readyz", responses=_FAILS)
async def ready(request: Request) -> Condition:
    """The index can be read."""
    problem = await service_of(request).problem()
    if problem is not None:
        raise Problem(503, "not_ready", f"{problem}.", {"Retry-After": "2"})
    return Condition()


@router.get(
    "/metrics",
    dependencies=[MAY_READ],
    responses=errors() | {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    response_class=Response,
)
async def metrics(request: Request) -> Response:
    """Figures for Prometheus."""
    figures: Metrics = request.app.state.metrics
    return Response(figures.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
