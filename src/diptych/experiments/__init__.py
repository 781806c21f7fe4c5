"""Experiments: many methods on one dataset, label curves, reproductions, and their reports."""

from typing import TYPE_CHECKING

from diptych._core.errors import lazy_exports

if TYPE_CHECKING:
    from diptych.experiments.compare import Callbacks, compare_methods, fit_one
    from diptych.experiments.curve import label_curve
    from diptych.experiments.model_scores import ModelScores, evaluate_model
    from diptych.experiments.probe import Probed, probe_features
    from diptych.experiments.recipe import Recipe, Run, load_recipe, plan
    from diptych.experiments.relevance import Relevance
    from diptych.experiments.report import render_report
    from diptych.experiments.reproduce import STUDIES, Study, reproduce_study
    from diptych.experiments.score_blocks import model_block

__getattr__ = lazy_exports(
    __name__,
    {
        "compare": ["Callbacks", "compare_methods", "fit_one"],
        "curve": ["label_curve"],
        "model_scores": ["ModelScores", "evaluate_model"],
        "probe": ["Probed", "probe_features"],
        "recipe": ["Recipe", "Run", "load_recipe", "plan"],
        "relevance": ["Relevance"],
        "report": ["render_report"],
        "reproduce": ["STUDIES", "Study", "reproduce_study"],
        "score_blocks": ["model_block"],
    },
)

__all__ = [
    "STUDIES",
    "Callbacks",
    "ModelScores",
    "Probed",
    "Recipe",
    "Relevance",
    "Run",
    "Study",
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
]
