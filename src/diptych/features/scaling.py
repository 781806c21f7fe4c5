"""Scaling: bring a modality's rows to comparable units, with statistics of the training rows only.

A recipe is a transform of each entry or row, then a scaling of each column, joined by "+":
`sqrt+zscore`, `log+zscore`, `log1p+zscore`, `tf+zscore`, `tfidf+centre`, `zscore`, `minmax`, `centre`, `none`.
"""

from dataclasses import dataclass

import numpy as np

from diptych.arrays import Features, Floats
from diptych.data.modality import Kind
from diptych.errors import ConfigError
from diptych.state import stateful

TRANSFORMS = ("sqrt", "log", "log1p", "tf", "tfidf")
SCALINGS = ("zscore", "minmax", "centre", "none")
_PROPORTION_TOLERANCE = 1e-3


@stateful
@dataclass(frozen=True)
class Scaling:
    """A fitted recipe: `(transform(x) - shift) / scale`, always dense float64.

    Attributes:
        recipe: the recipe in full, never "auto".
        shift: what is subtracted from each column.
        scale: what each column is divided by; 1 where a column was constant.
        floor: the smallest value the logarithm is taken of.
        rarity: what each word counts under `tfidf`; None for other recipes.
    """

    recipe: str
    shift: Floats
    scale: Floats
    floor: float
    rarity: Floats | None = None

    def __call__(self, rows: Features) -> Floats:
        """Scale rows, which may be others than those it was fitted on."""
        scaled = (_transform(rows, self.recipe, self.floor, self.rarity) - self.shift) / self.scale
        return np.clip(scaled, 0.0, 1.0) if self.recipe.endswith("minmax") else scaled


def fit_scaling(rows: Features, kind: Kind, recipe: str = "auto") -> Scaling:
    """Learn a recipe's statistics from training rows.

    `tfidf` weighs words by how rare they are and brings every text to length one; `centre` subtracts the column means
    and divides all columns by one number. `auto` takes log1p for counts; the logarithm for proportions without zeros
    (topic mixtures); the square root for histograms with zeros (its Euclidean distance is Hellinger's); and z-scores
    always.
    """
    recipe = _automatic(rows, kind) if recipe == "auto" else recipe
    _check(recipe)
    floor = _smallest_positive(rows) if recipe.startswith("log+") or recipe == "log" else 0.0
    rarity = _rarity(rows) if recipe.startswith("tfidf") else None
    values = _transform(rows, recipe, floor, rarity)
    dimension = values.shape[1]
    if recipe.endswith("centre"):
        # One factor for all columns: rare words stay small, and an entry has variance one on average.
        spread = float(np.sqrt(values.var(axis=0).mean())) or 1.0
        return Scaling(recipe, values.mean(axis=0), np.full(dimension, spread), floor, rarity)
    if recipe.endswith("zscore"):
        return Scaling(recipe, values.mean(axis=0), _positive(values.std(axis=0), values), floor, rarity)
    if recipe.endswith("minmax"):
        low = values.min(axis=0)
        return Scaling(recipe, low, _positive(values.max(axis=0) - low, values), floor, rarity)
    return Scaling(recipe, np.zeros(dimension), np.ones(dimension), floor, rarity)


def _check(recipe: str) -> None:
    *transform, last = recipe.split("+")
    known = (last in SCALINGS and not transform) or (
        last in SCALINGS and len(transform) == 1 and transform[0] in TRANSFORMS
    )
    if not known:
        raise ConfigError(
            f"scaling recipe {recipe!r} is unknown; write one of {', '.join(SCALINGS)}, optionally after one of "
            f"{', '.join(TRANSFORMS)} and a plus sign, such as 'sqrt+zscore', or 'auto'."
        )


def _automatic(rows: Features, kind: Kind) -> str:
    if kind == "counts":
        return "log1p+zscore"
    dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
    proportions = dense.min() >= 0 and np.allclose(dense.sum(axis=1), 1.0, atol=_PROPORTION_TOLERANCE)
    if not proportions:
        return "zscore"
    return "log+zscore" if dense.min() > 0 else "sqrt+zscore"


def _transform(rows: Features, recipe: str, floor: float, rarity: Floats | None = None) -> Floats:
    dense = np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), dtype=np.float64)
    match recipe.split("+")[0]:
        case "sqrt":
            return np.asarray(np.sign(dense) * np.sqrt(np.abs(dense)))
        case "log":
            return np.asarray(np.log(np.maximum(dense, floor)))
        case "log1p":
            return np.asarray(np.log1p(np.maximum(dense, 0.0)))
        case "tf":
            return np.asarray(dense / np.maximum(dense.sum(axis=1, keepdims=True), 1e-10))
        case "tfidf":
            weighted = np.log1p(np.maximum(dense, 0.0)) * (1.0 if rarity is None else rarity)
            return np.asarray(weighted / np.maximum(np.linalg.norm(weighted, axis=1, keepdims=True), 1e-10))
        case _:
            return dense


def _rarity(rows: Features) -> Floats:
    """1 + log((1 + n) / (1 + items with the word)): smoothed inverse document frequency."""
    present = rows > 0
    counts = np.asarray(present.sum(axis=0), dtype=np.float64).ravel()
    return np.asarray(1.0 + np.log((1.0 + rows.shape[0]) / (1.0 + counts)))


def _smallest_positive(rows: Features) -> float:
    entries = rows if isinstance(rows, np.ndarray) else rows.data
    positive = entries[entries > 0]
    return float(positive.min()) if positive.size else 1.0


def _positive(scale: Floats, values: Floats) -> Floats:
    """Leave constant columns unscaled: what rounding leaves of them, beside their own size, must not be blown up."""
    return np.where(scale > 1e-10 * np.abs(values).max(axis=0, initial=0.0), scale, 1.0)
