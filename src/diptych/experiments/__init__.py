"""Experiments: many methods on one dataset, and the report of it."""

from diptych.experiments.compare import compare_methods
from diptych.experiments.curve import label_curve
from diptych.experiments.evaluate_model import ModelScores, evaluate_model
from diptych.experiments.judging import RELEVANCES, Relevance
from diptych.experiments.planning import Run, plan
from diptych.experiments.probe import Probed, probe_features
from diptych.experiments.recipe import Recipe, load_recipe
from diptych.experiments.report import render_report, show_seconds
from diptych.experiments.reproduce import STUDIES, Study, reproduce_study
from diptych.experiments.single import fit_one, model_block
from diptych.experiments.watching import Watcher

__all__ = [
    "RELEVANCES",
    "STUDIES",
    "ModelScores",
    "Probed",
    "Recipe",
    "Relevance",
    "Run",
    "Study",
    "Watcher",
    "compare_methods",
    "evaluate_model",
    "fit_one",
    "label_curve",
    "load_recipe",
    "model_block",
    "plan",
    "probe_features",
    "render_report",
    "reproduce_study",
    "show_seconds",
]
