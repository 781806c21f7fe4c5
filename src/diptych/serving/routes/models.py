"""Learn from what was taught, see which models the index was built with, and go back to an earlier one."""

from dataclasses import asdict
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from diptych.serving.openapi import errors
from diptych.serving.requests import hit_out
from diptych.serving.routes.teach import teaching_of
from diptych.serving.schemas import LONGEST_TEXT, HitOut, Strict
from diptych.serving.security import MAY_READ, MAY_WRITE, audit_of
from diptych.teach import JobState, ModelRecord

router = APIRouter(prefix="/v1", tags=["models"])
_writes = [MAY_WRITE]
_MOST_COMPARED = 8


class LearnState(BaseModel):
    """How far learning is."""

    state: Literal["idle", "running", "done", "failed", "cancelled"]
    phase: str
    fraction: float
    started: str | None
    elapsed_s: float
    remaining_s: float | None
    model: Annotated[str | None, Field(description="The model that was learned, which is in force.")]
    error: str | None
    possible: Annotated[bool, Field(description="Whether the dataset to learn from is there.")] = True
    why_not: str | None = None


class ModelOut(BaseModel):
    """A model that the index was built with."""

    id: str
    active: bool
    kept: Annotated[bool, Field(description="Whether its index is there, in force or to go back to.")]
    created: str
    method: str
    answers: int
    classes: int
    propagated: int
    items: int
    scores: dict[str, float]
    seconds: float
    before: str | None


class ModelList(BaseModel):
    """The models, the newest first."""

    models: list[ModelOut]


class ComparisonOut(BaseModel):
    """What a query found with the earlier model, and what it finds now."""

    query: str
    before: list[HitOut]
    after: list[HitOut]
    kept: int
    new: int


class Comparisons(BaseModel):
    """Two models, query by query."""

    before: str
    after: str
    queries: list[ComparisonOut]


class CompareQuery(Strict):
    """Which queries to compare, and with which model."""

    q: Annotated[list[Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)]], Query(max_length=_MOST_COMPARED)]
    k: Annotated[int, Query(ge=1, le=20)] = 8
    before: Annotated[str | None, Query(max_length=80)] = None


@router.post("/learn", status_code=202, responses=errors(403, 409), dependencies=_writes)
async def start_learning(request: Request) -> LearnState:
    """Fit a model on what was taught, in the background, and put its index in the place of this one."""
    async with audit_of(request).noting(request, "learn", []):
        return _state(await teaching_of(request).learn())


@router.get("/learn", responses=errors(403, 409), dependencies=_writes)
async def learning(request: Request) -> LearnState:
    """How far learning is."""
    state = await teaching_of(request).state()
    return _state(state, None if state.state == "running" else await teaching_of(request).can_learn())


@router.delete("/learn", responses=errors(403, 409), dependencies=_writes)
async def cancel_learning(request: Request) -> LearnState:
    """Cancel learning; the index stays as it is."""
    async with audit_of(request).noting(request, "cancel learning", []):
        return _state(await teaching_of(request).cancel())


@router.get("/models", responses=errors(409), dependencies=[MAY_READ])
async def list_models(request: Request) -> ModelList:
    """The models that this index was built with, the newest first."""
    return ModelList(models=[_model(*one) for one in await teaching_of(request).models()])


@router.get("/models/compare", responses=errors(404, 409), dependencies=[MAY_READ])
async def compare_models(request: Request, query: Annotated[CompareQuery, Query()]) -> Comparisons:
    """What typed queries found with an earlier model, and what they find now."""
    before, after, found = await teaching_of(request).compare(query.q, query.k, query.before)
    rows = [
        ComparisonOut(
            query=one.query,
            before=[HitOut(**hit_out(hit)) for hit in one.before],
            after=[HitOut(**hit_out(hit)) for hit in one.after],
            kept=one.kept,
            new=len(one.after) - one.kept,
        )
        for one in found
    ]
    return Comparisons(before=before, after=after, queries=rows)


@router.post("/models/{id}/activate", responses=errors(403, 404, 409), dependencies=_writes)
async def activate_model(request: Request, id: str) -> ModelOut:
    """Put an earlier index back, with all that was changed since."""
    async with audit_of(request).noting(request, "activate", [id]):
        return _model(await teaching_of(request).activate(id), True, True)


def _state(state: JobState, why_not: str | None = None) -> LearnState:
    known = {name: value for name, value in asdict(state).items() if name != "pid"}
    return LearnState(**known, possible=why_not is None, why_not=why_not)


def _model(record: ModelRecord, active: bool, kept: bool) -> ModelOut:
    known = {name: value for name, value in asdict(record).items() if name != "fingerprint"}
    return ModelOut(**known, active=active, kept=kept)
