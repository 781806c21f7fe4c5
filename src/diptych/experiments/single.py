"""One method alone: fit it as a comparison would, and describe a fitted one as a result does."""

from collections.abc import Mapping
from typing import Any

from diptych._core.errors import ConfigError
from diptych.data import Dataset
from diptych.experiments.blocks import fit_block, score_blocks
from diptych.experiments.evaluate_model import ModelScores
from diptych.experiments.planning import plan
from diptych.experiments.recipe import Recipe
from diptych.experiments.watching import Watcher
from diptych.methods.base import Method


def fit_one(dataset: Dataset, recipe: Recipe, watcher: Watcher | None = None) -> Method:
    """Fit the first run of a recipe."""
    run, seen = plan(recipe)[0], watcher or Watcher()
    if run.problem is not None:
        raise ConfigError(run.problem)

    def report(stage: str, done: int, total: int, figures: Mapping[str, float] | None = None) -> None:
        seen.stage(run, stage, done, total, figures)

    seen.started(run, None)
    return run.create().fit(dataset, run.protocol, modalities=recipe.modalities, progress=report)


def model_block(method: Method, dataset: Dataset, scores: ModelScores) -> dict[str, Any]:
    """A fitted method's block as it stands in `results.json` under its name."""
    params = method.get_params()
    seed = params.get("seed", method.record_["protocol"]["seed"])
    block = fit_block(params, method.record_) | {"seeds": [seed]} | score_blocks([scores])
    fitted_on = method.record_["dataset"]
    if fitted_on["fingerprint"] != dataset.fingerprint:
        block["notes"].append(f"the model was fitted on another dataset, '{fitted_on['name']}'")
    return block
