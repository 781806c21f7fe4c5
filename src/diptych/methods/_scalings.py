"""Scale every modality of the training pairs by its recipe."""

from collections.abc import Mapping

import numpy as np

from diptych.arrays import Features
from diptych.data import Kind, Partition, TrainingData
from diptych.errors import ConfigError, FitError
from diptych.features.scaling import Scaling, fit_scaling

_FEWEST_PAIRS = 2


def training_pairs(data: TrainingData) -> Partition:
    """The training items that have all modalities."""
    pairs = data.train.having(*data.modalities)
    if len(pairs) < _FEWEST_PAIRS:
        raise FitError(
            f"only {len(pairs)} training items have all of {', '.join(data.modalities)}; "
            f"at least {_FEWEST_PAIRS} are needed to learn how they correspond."
        )
    return pairs


def fit_scalings(
    rows: Mapping[str, Features], kinds: Mapping[str, Kind], recipes: str | Mapping[str, str]
) -> dict[str, Scaling]:
    """Learn one scaling per modality; `recipes` is one recipe for all or one by modality, "auto" where absent."""
    if not isinstance(recipes, str):
        unknown = [name for name in recipes if name not in rows]
        if unknown:
            raise ConfigError(f"scaling names the modality '{unknown[0]}'; there are {', '.join(rows)}.")
    chosen = {name: recipes if isinstance(recipes, str) else recipes.get(name, "auto") for name in rows}
    scalings = {name: fit_scaling(values, kinds[name], chosen[name]) for name, values in rows.items()}
    for name, scaling in scalings.items():
        if not _varies(scaling(rows[name][:_FEWEST_PAIRS])) and not _varies(scaling(rows[name])):
            raise FitError(f"'{name}' is the same in all training pairs; there is nothing to correlate.")
    return scalings


def _varies(rows: np.ndarray) -> bool:
    return bool((rows != rows[:1]).any())
