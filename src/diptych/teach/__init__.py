"""Teach an index the classes that matter to its users: ask, spread the answers, learn from them, and swap the index."""

from diptych._core.errors import UnknownItemError
from diptych.teach.job import JobState, LearnJob
from diptych.teach.labels import Answer, Label, LabelStore
from diptych.teach.learning import learn
from diptych.teach.models import ModelRecord, Models, UnknownModelError
from diptych.teach.spreading import ClassCount, HeldOut, Status
from diptych.teach.teacher import TaughtItem, Teacher

__all__ = [
    "Answer",
    "ClassCount",
    "HeldOut",
    "JobState",
    "Label",
    "LabelStore",
    "LearnJob",
    "ModelRecord",
    "Models",
    "Status",
    "TaughtItem",
    "Teacher",
    "UnknownItemError",
    "UnknownModelError",
    "learn",
]
