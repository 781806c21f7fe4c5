"""Teach the index: what to ask next, what labels spread to, learning from them, and the models that were learned."""

from dataclasses import asdict
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from diptych.serving.app import errors, service_of
from diptych.serving.requests import hit_out, item_out
from diptych.serving.schemas import LONGEST_TEXT, HitOut, ItemOut, Strict
from diptych.serving.security import MAY_READ, MAY_WRITE, audit_of
from diptych.serving.teaching import TeachService
from diptych.teach import JobState, ModelRecord, Status, TaughtItem
from diptych.teach.labels import LONGEST_LABEL

router = APIRouter(prefix="/v1", tags=["teach"])
models_router = APIRouter(prefix="/v1", tags=["models"])
_writes = [MAY_WRITE]
_MOST_QUESTIONS, _MOST_LISTED, _MOST_COMPARED = 50, 500, 8


class ClassOut(BaseModel):
    """A class: items answered, items of the dataset, items it spread to, and how many of these are certain."""

    label: str
    taught: int
    dataset: int
    spread: int
    certain: int


class HeldOutOut(BaseModel):
    """How often an answer is what all other answers say of its item, with the 95 % interval of that share."""

    answers: int
    right: int
    accuracy: float
    low: float
    high: float


class TeachStatus(BaseModel):
    """How far teaching is."""

    items: int
    answered: int
    dataset: Annotated[int, Field(description="Items whose class came with the dataset.")]
    none: int
    skipped: int
    spread: Annotated[int, Field(description="Items without an answer that have a guessed class.")]
    uncertain: int
    unreached: int
    classes: list[ClassOut]
    held_out: Annotated[HeldOutOut | None, Field(description="Null until a class has two answers.")]
    clusters: int
    clusters_answered: int
    seconds: Annotated[float, Field(description="What it took to spread the last answer.")]


class ShareOut(BaseModel):
    """A class that an item may be of."""

    label: str
    share: float


class TaughtItemOut(ItemOut):
    """An item with the class that was given or is guessed."""

    guess: str | None
    certainty: float
    taught: bool
    others: list[ShareOut]


class QuestionOut(TaughtItemOut):
    """An item whose label would help."""

    reason: Literal["cluster", "uncertain"]
    cluster_size: int


class Questions(BaseModel):
    """What to ask next, and the classes there are."""

    questions: list[QuestionOut]
    classes: list[str]


class TaughtItems(BaseModel):
    """Items of a class, given or guessed, and how many there are."""

    items: list[TaughtItemOut]
    total: int


class SpreadColumns(BaseModel):
    """The class of every item, given or guessed, column by column."""

    items: list[str]
    labels: list[str | None]
    certainties: list[float]
    taught: list[bool]


class TaughtQuery(Strict):
    """Which items to list; without a label all, with an empty one those that no class reached."""

    label: Annotated[str | None, Query(max_length=LONGEST_LABEL)] = None
    order: Literal["uncertain", "certain", "id"] = "uncertain"
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0
    limit: Annotated[int, Query(ge=1, le=_MOST_LISTED)] = 60


@router.get("/teach", responses=errors(403, 409), dependencies=_writes)
async def teach_status(request: Request) -> TeachStatus:
    """How far teaching is: classes, how far they spread, and how often held-out answers are predicted."""
    return status_out(await teaching_of(request).ask(lambda teacher: teacher.status()))


@router.get("/teach/next", responses=errors(403, 409), dependencies=_writes)
async def next_questions(request: Request, n: Annotated[int, Query(ge=1, le=_MOST_QUESTIONS)] = 8) -> Questions:
    """The items whose label would help most."""
    asked, status = await teaching_of(request).ask(lambda teacher: (teacher.next(n), teacher.status()))
    return Questions(questions=[_question(one) for one in asked], classes=[one.label for one in status.classes])


@router.get("/teach/items", responses=errors(403, 409), dependencies=_writes)
async def taught_items(request: Request, query: Annotated[TaughtQuery, Query()]) -> TaughtItems:
    """Items by the class that was given or is guessed, so that mistakes are seen and corrected."""
    asked = query.model_dump()
    found, total = await teaching_of(request).ask(lambda teacher: teacher.items(asked.pop("label"), **asked))
    return TaughtItems(items=[TaughtItemOut.model_validate(_guessed(one)) for one in found], total=total)


@router.get("/teach/spread", responses=errors(403, 409), dependencies=_writes)
async def spread_columns(request: Request) -> SpreadColumns:
    """The class of every item, given or guessed."""
    return SpreadColumns(**await teaching_of(request).ask(lambda teacher: teacher.columns()))


def teaching_of(request: Request) -> TeachService:
    """What can be taught to the index of the application that a request came to."""
    return service_of(request).teaching


def status_out(status: Status) -> TeachStatus:
    """How far teaching is, as an answer shows it."""
    found = status.held_out
    held_out = None
    if found is not None:
        low, high = found.interval
        held_out = HeldOutOut(answers=found.answers, right=found.right, accuracy=found.accuracy, low=low, high=high)
    return TeachStatus(**asdict(status) | {"held_out": held_out})


def _guessed(one: TaughtItem) -> dict[str, object]:
    others = [ShareOut(label=label, share=share) for label, share in one.others]
    known = {"guess": one.guess, "certainty": one.certainty, "taught": one.taught, "others": others}
    return item_out(one.hit).model_dump() | known


def _question(one: TaughtItem) -> QuestionOut:
    return QuestionOut.model_validate(_guessed(one) | {"reason": one.reason, "cluster_size": one.cluster_size})


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


@models_router.post("/learn", status_code=202, responses=errors(403, 409), dependencies=_writes)
async def start_learning(request: Request) -> LearnState:
    """Fit a model on what was taught, in the background, and put its index in the place of this one."""
    async with audit_of(request).noting(request, "learn", []):
        return _state(await teaching_of(request).learn())


@models_router.get("/learn", responses=errors(403, 409), dependencies=_writes)
async def learning(request: Request) -> LearnState:
    """How far learning is."""
    state = await teaching_of(request).state()
    return _state(state, None if state.state == "running" else await teaching_of(request).can_learn())


@models_router.delete("/learn", responses=errors(403, 409), dependencies=_writes)
async def cancel_learning(request: Request) -> LearnState:
    """Cancel learning; the index stays as it is."""
    async with audit_of(request).noting(request, "cancel learning", []):
        return _state(await teaching_of(request).cancel())


@models_router.get("/models", responses=errors(409), dependencies=[MAY_READ])
async def list_models(request: Request) -> ModelList:
    """The models that this index was built with, the newest first."""
    return ModelList(models=[_model(*one) for one in await teaching_of(request).models()])


@models_router.get("/models/compare", responses=errors(404, 409), dependencies=[MAY_READ])
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


@models_router.post("/models/{id}/activate", responses=errors(403, 404, 409), dependencies=_writes)
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
