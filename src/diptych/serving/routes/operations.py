"""Routes for operators: liveness, readiness, metrics, and backups of the index."""

import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from diptych.serving.app import Metrics, errors, service_of, settings_of
from diptych.serving.errors import Problem
from diptych.serving.schemas import Condition, ErrorBody
from diptych.serving.security import MAY_ADMINISTER, MAY_READ, audit_of

router = APIRouter(tags=["operations"])
_FAILS: dict[int | str, dict[str, Any]] = {503: {"model": ErrorBody, "description": "Not ready."}}
_ENDING = ".tar"


class Snapshot(BaseModel):
    """A backup of the index, in the folder for them on the server; `diptych restore` makes an index of it."""

    name: str
    bytes: int
    created: Annotated[str, Field(description="When it was complete, in UTC.")]


class SnapshotList(BaseModel):
    """The backups there are, the oldest first."""

    snapshots: list[Snapshot]


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


@router.post("/v1/snapshots", status_code=201, responses=errors(403), dependencies=[MAY_ADMINISTER])
async def make_snapshot(request: Request) -> Snapshot:
    """Write a backup of the index as it is now; searches go on, changes wait for it."""
    folder = _folder(request)
    target = folder / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}{_ENDING}"
    async with audit_of(request).noting(request, "snapshot", [target.name]):
        return _described(await service_of(request).backup(target))


@router.get("/v1/snapshots", responses=errors(403), dependencies=[MAY_ADMINISTER])
async def list_snapshots(request: Request) -> SnapshotList:
    """The backups that were written by this address."""
    written = sorted(path for path in _folder(request).glob(f"*{_ENDING}") if not path.name.startswith("."))
    return SnapshotList(snapshots=[_described(path) for path in written])


def _folder(request: Request) -> Path:
    folder = settings_of(request).snapshots
    if folder is None:
        raise Problem(403, "snapshots_off", "this server has no folder for backups; start it with --snapshots.")
    return Path(folder)


def _described(path: Path) -> Snapshot:
    known = path.stat()
    created = datetime.fromtimestamp(known.st_mtime, UTC).isoformat(timespec="seconds")
    return Snapshot(name=path.name, bytes=known.st_size, created=created)
