"""The labels that people give to items: list, answer, forget, and tables of them."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field, model_validator
from starlette.responses import Response

from diptych.serving.app import body_of, errors
from diptych.serving.errors import Problem
from diptych.serving.requests import json_body
from diptych.serving.routes.teach import TeachStatus, status_out, teaching_of
from diptych.serving.schemas import LONGEST_ID, MOST_IDS, Id, Strict
from diptych.serving.security import MAY_WRITE, audit_of
from diptych.teach import Answer, Label
from diptych.teach.labels import LONGEST_LABEL

router = APIRouter(prefix="/v1", tags=["labels"])
_writes = [MAY_WRITE]
_CSV = "text/csv"


class LabelsIn(Strict):
    """One answer for some items: a class, "none" of the known classes, or "skip"."""

    items: Annotated[list[Id], Field(min_length=1, max_length=MOST_IDS, description="Of items or entries.")]
    label: Annotated[str | None, Field(min_length=1, max_length=LONGEST_LABEL)] = None
    answer: Answer = "class"

    @model_validator(mode="after")
    def _names_a_class_or_not(self) -> "LabelsIn":
        if (self.answer == "class") != (self.label is not None):
            raise ValueError("give a label, or the answer none or skip without one")
        return self


class LabelOut(BaseModel):
    """An answer, who gave it and when."""

    item: str
    answer: Answer
    label: str | None
    who: str
    time: str
    source: Literal["taught", "imported", "dataset"]


class Taught(BaseModel):
    """What was changed: the answers that items had before, in order, and where teaching stands now."""

    count: int
    before: list[LabelOut | None]
    status: TeachStatus


class LabelList(BaseModel):
    """One page of answers in the order of their items."""

    labels: list[LabelOut]
    total: int
    next: Annotated[str | None, Field(description="Give it as `after` for the next page; null at the end.")]


class LineProblem(BaseModel):
    """A line of a table that could not be read."""

    line: int
    message: str


class ImportedLabels(BaseModel):
    """What was imported: answers kept, those of items that are not in the index, and bad lines."""

    count: int
    unknown: int
    problems: list[LineProblem]
    status: TeachStatus


class LabelQuery(Strict):
    """Which answers to list."""

    after: Annotated[str, Query(max_length=LONGEST_ID)] = ""
    limit: Annotated[int, Query(ge=1, le=5_000)] = 100
    label: Annotated[str | None, Query(max_length=LONGEST_LABEL)] = None
    answer: Answer | None = None


ItemQuery = Annotated[list[Id], Query(min_length=1, max_length=256, alias="item", description="Items or entries.")]


@router.get("/labels", responses=errors(403, 409), dependencies=_writes)
async def list_labels(request: Request, query: Annotated[LabelQuery, Query()]) -> LabelList:
    """The answers that were given, a page at a time."""
    asked = query.model_dump()
    page, total, more = await teaching_of(request).ask(lambda teacher: teacher.labels.page(**asked))
    return LabelList(labels=[_label(one) for one in page], total=total, next=page[-1].item if more else None)


@router.put(
    "/labels",
    responses=errors(403, 404, 409, body=True),
    dependencies=_writes,
    openapi_extra=body_of(LabelsIn),
)
async def put_labels(request: Request) -> Taught:
    """Answer for one or many items, and see the labels spread."""
    who, asked = _who(request), await json_body(request, LabelsIn)
    async with audit_of(request).noting(request, "label", asked.items):
        before, status = await teaching_of(request).ask(
            lambda teacher: (teacher.answer(asked.items, asked.label, who=who, answer=asked.answer), teacher.status())
        )
    return Taught(count=len(before), before=_labels(before), status=status_out(status))


@router.delete("/labels", responses=errors(403, 409), dependencies=_writes)
async def delete_labels(request: Request, items: ItemQuery) -> Taught:
    """Forget the answers for some items."""
    who = _who(request)
    async with audit_of(request).noting(request, "unlabel", items):
        before, status = await teaching_of(request).ask(
            lambda teacher: (teacher.forget(items, who=who), teacher.status())
        )
    return Taught(count=sum(one is not None for one in before), before=_labels(before), status=status_out(status))


@router.get(
    "/labels.csv",
    responses=errors(403, 409) | {200: {"content": {_CSV: {"schema": {"type": "string"}}}}},
    dependencies=_writes,
    response_class=Response,
)
async def export_labels(request: Request) -> Response:
    """All answers as a table: item, answer, label, who, time, source."""
    table = await teaching_of(request).ask(lambda teacher: teacher.export_csv())
    headers = {"Content-Disposition": 'attachment; filename="labels.csv"'}
    return Response(table, media_type=f"{_CSV}; charset=utf-8", headers=headers)


@router.put(
    "/labels.csv",
    responses=errors(403, 409, body=True),
    dependencies=_writes,
    openapi_extra={"requestBody": {"required": True, "content": {_CSV: {"schema": {"type": "string"}}}}},
)
async def import_labels(request: Request) -> ImportedLabels:
    """Keep the answers of a table with the columns item and label; bad lines are left out and named."""
    who = _who(request)
    try:
        table = (await request.body()).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Problem(422, "invalid", "the table is not written in UTF-8; save it as such.") from None
    async with audit_of(request).noting(request, "import labels", []):
        (count, unknown, problems), status = await teaching_of(request).ask(
            lambda teacher: (teacher.import_csv(table, who=who), teacher.status())
        )
    lines = [LineProblem(line=one.line, message=one.message) for one in problems[:100]]
    return ImportedLabels(count=count, unknown=unknown, problems=lines, status=status_out(status))


def _who(request: Request) -> str:
    return str(request.state.key).lstrip("-")


def _label(label: Label) -> LabelOut:
    return LabelOut(**asdict(label))


def _labels(labels: Sequence[Label | None]) -> list[LabelOut | None]:
    return [None if one is None else _label(one) for one in labels]
