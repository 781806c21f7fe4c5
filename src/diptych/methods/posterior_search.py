"""Choose how strongly each modality's posteriors are penalised, by how well they retrieve on validation."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from diptych.arrays import Features, Floats, Integers
from diptych.data import TrainingData
from diptych.errors import ConfigError, FitError
from diptych.methods.posteriors import Posteriors, fit_posteriors
from diptych.methods.selection import Search, Validation
from diptych.progress import Progress

STRENGTH_GRID = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
STRENGTH_UNCHOSEN = 1e-2

Strengths = float | Mapping[str, float] | None


@dataclass(frozen=True)
class LabelledRows:
    """The labelled training rows of one modality, whether or not their items have the others.

    Attributes:
        rows: the features.
        codes: the class number of each row.
    """

    rows: Features
    codes: Integers

    @classmethod
    def by_modality(cls, data: TrainingData) -> "dict[str, LabelledRows]":
        """Take them from the training data, for each modality.

        Raises:
            DataError: when an item has several labels.
            FitError: when a modality has no labelled row.
        """
        labelled = data.train.labelled()
        parts = {name: labelled.having(name) for name in data.modalities}
        for name, part in parts.items():
            if not len(part):
                raise FitError(f"posteriors are learned from labels and no labelled training item has '{name}'.")
        return {name: cls(part.features(name), part.labels.codes) for name, part in parts.items()}


def given_strengths(strength: Strengths, modalities: tuple[str, ...]) -> dict[str, float | None]:
    """The strength given for each modality, None where validation is to choose.

    Raises:
        ConfigError: for a strength that is not positive or a modality that is not fitted.
    """
    if not isinstance(strength, Mapping):
        strength = {} if strength is None else dict.fromkeys(modalities, strength)
    for name, value in strength.items():
        if name not in modalities:
            raise ConfigError(f"strength names the modality '{name}'; there are {', '.join(modalities)}.")
        if not value > 0:
            raise ConfigError(f"strength is {value} for '{name}'; it must be positive.")
    return {name: strength.get(name) for name in modalities}


def choose_posteriors(
    rows: Mapping[str, Floats],
    codes: Mapping[str, Integers],
    classes: int,
    given: Mapping[str, float | None],
    validation: Validation | None,
    held_out: Mapping[str, Floats],
    progress: Progress,
) -> tuple[dict[str, Posteriors], dict[str, float], Search]:
    """Fit every modality's posteriors, with open strengths chosen on validation.

    First one strength for all open modalities is chosen, then each modality's own in turn, so that the
    number of trials grows with the number of modalities and not with its power.

    Args:
        rows: scaled labelled training rows of each modality.
        codes: their classes.
        classes: how many classes there are.
        given: the strength of each modality; None where it is open.
        validation: the judge; None leaves open strengths at a fixed middle value.
        held_out: the judge's rows, scaled like `rows`.
        progress: told of each trial.

    Returns:
        The posteriors, the strengths they were fitted with, and the trials.
    """

    @cache
    def fitted(name: str, strength: float) -> Posteriors:
        return fit_posteriors(rows[name], codes[name], classes, strength)

    @cache
    def judged(name: str, strength: float) -> Floats:
        return fitted(name, strength)(held_out[name])

    search = Search()
    best = {name: STRENGTH_UNCHOSEN if strength is None else strength for name, strength in given.items()}
    if validation is not None:
        vacant = [name for name, strength in given.items() if strength is None]
        rounds = [vacant, *([name] for name in vacant)] if len(vacant) > 1 else [[name] for name in vacant]
        for names in rounds:
            for strength in STRENGTH_GRID:
                trial = best | dict.fromkeys(names, strength)
                score = validation.score({name: judged(name, value) for name, value in trial.items()})
                search.add({"strength": trial}, score)
                done, total = len(search.trials), len(rounds) * len(STRENGTH_GRID)
                progress("choosing strengths", done, total, {"validation": score})
            best = search.best["strength"]
    return {name: fitted(name, strength) for name, strength in best.items()}, best, search
