"""Rerun a published comparison and judge which of its claims hold."""

from diptych.experiments.reproduce.findings import parts_of, render_appendix, render_page
from diptych.experiments.reproduce.run import PROFILE, SEEDS, reproduce_study
from diptych.experiments.reproduce.studies import STUDIES, Study
from diptych.experiments.reproduce.verdicts import Verdict, judge_claims

__all__ = [
    "PROFILE",
    "SEEDS",
    "STUDIES",
    "Study",
    "Verdict",
    "judge_claims",
    "parts_of",
    "render_appendix",
    "render_page",
    "reproduce_study",
]
