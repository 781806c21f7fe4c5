"""The training pairs, scaled: where every correlation method starts."""

from collections.abc import Mapping

from diptych._core.arrays import Features, Floats
from diptych._core.errors import ConfigError, FitError
from diptych.data import Kind, Partition, TrainingData
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
    """Learn one scaling per modality.

    Args:
        rows: the training rows of each modality.
        kinds: the kind of each.
        recipes: one recipe for all modalities, or one by modality and "auto" for those it leaves out.
    """
    if isinstance(recipes, str):
        recipes = dict.fromkeys(rows, recipes)
    unknown = [name for name in recipes if name not in rows]
    if unknown:
        raise ConfigError(f"scaling names the modality '{unknown[0]}'; there are {', '.join(rows)}.")
    return {name: fit_scaling(values, kinds[name], recipes.get(name, "auto")) for name, values in rows.items()}


def scaled_pairs(data: TrainingData, recipes: str | Mapping[str, str]) -> tuple[dict[str, Scaling], dict[str, Floats]]:
    """Learn the scalings from the training pairs and apply them; a modality that never varies is an error."""
    pairs = training_pairs(data)
    raw = {name: pairs.features(name) for name in data.modalities}
    scalings = fit_scalings(raw, data.kinds, recipes)
    scaled = {name: scalings[name](values) for name, values in raw.items()}
    for name, values in scaled.items():
        if not (values != values[:1]).any():
            raise FitError(f"'{name}' is the same in all {len(pairs)} training pairs; there is nothing to correlate.")
    return scalings, scaled
