"""Scaling: bring a modality's rows to comparable units, with statistics of the training rows only.

A recipe is a transform of each entry or row, then a scaling of each column, joined by "+":
`sqrt+zscore`, `log+zscore`, `log1p+zscore`, `tf+zscore`, `tfidf+centre`, `zscore`, `minmax`, `centre`, `none`.

Rows with blocks of counts and of dense columns are scaled block by block, and blocks are balanced so that a wide one
does not drown a narrow one. A recipe for each is written with bars between: `tfidf+centre|zscore`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from diptych._core.arrays import Features, Floats
from diptych._core.errors import ConfigError
from diptych._core.state import stateful
from diptych.data.modality import BlockKind, Kind, KindBlock, kind_blocks

TRANSFORMS = ("sqrt", "log", "log1p", "tf", "tfidf")
SCALINGS = ("zscore", "minmax", "centre", "none")
_OF_COUNTS = ("log1p", "tf", "tfidf")
"""Transforms that mean nothing to dense columns."""

_BARS = "|"
COUNTS_RECIPE = "tfidf+centre"
"""What counts are scaled by unless told otherwise: a query of two words is then no long text's opposite."""
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


@stateful
@dataclass(frozen=True)
class BlockScaling(Scaling):
    """A scaling of each block of columns alone; shift and scale are those of all columns side by side.

    Attributes:
        parts: the scaling of each block, in the order of their columns.
    """

    parts: tuple[Scaling, ...] = ()

    @property
    def places(self) -> tuple[slice, ...]:
        """The columns of each block."""
        stops = np.cumsum([len(part.shift) for part in self.parts]).tolist()
        return tuple(slice(start, stop) for start, stop in zip([0, *stops[:-1]], stops, strict=True))

    def __call__(self, rows: Features) -> Floats:
        """Scale rows, which may be others than those it was fitted on."""
        pieces = [part(rows[:, place]) for part, place in zip(self.parts, self.places, strict=True)]
        return np.concatenate(pieces, axis=1)


def fit_scaling(rows: Features, kind: Kind, recipe: str | Mapping[BlockKind, str] = "auto") -> Scaling:
    """Learn a recipe's statistics from training rows.

    `tf` divides counts by their sum; `tfidf` weighs words by how rare they are and brings every text to length one:
    either makes a short text comparable to a long one. `centre` subtracts the column means and divides all columns by
    one number. `auto` takes tfidf and centres for counts; z-scores for dense columns, of the logarithm for proportions
    without zeros (topic mixtures) and of the square root for histograms with zeros (its Euclidean distance is
    Hellinger's).

    Args:
        rows: the training rows.
        kind: what their columns are.
        recipe: one for all blocks of columns (what is made for counts leaves dense blocks to `auto`), one for each,
            with bars between, or one for each kind of block.

    Raises:
        ConfigError: when the recipe is unknown, or there is not one for each block.
    """
    blocks = kind_blocks(kind, rows.shape[1])
    recipes = _recipes(blocks, recipe)
    if len(blocks) == 1:
        return _fit_block(rows, blocks[0].kind, recipes[0])
    pieces = [rows[:, block.start : block.stop] for block in blocks]
    parts = [_fit_block(piece, block.kind, each) for piece, block, each in zip(pieces, blocks, recipes, strict=True)]
    parts = _balanced(parts, pieces)
    shift, scale = (np.concatenate([getattr(part, name) for part in parts]) for name in ("shift", "scale"))
    return BlockScaling(_BARS.join(part.recipe for part in parts), shift, scale, 0.0, None, tuple(parts))


def _recipes(blocks: Sequence[KindBlock], recipe: str | Mapping[BlockKind, str]) -> list[str]:
    """The recipe of each block."""
    if not isinstance(recipe, str):
        return [recipe.get(block.kind, "auto") for block in blocks]
    each = recipe.split(_BARS)
    if len(each) > 1 and len(each) != len(blocks):
        raise ConfigError(f"scaling recipe {recipe!r} is for {len(each)} blocks of columns; there are {len(blocks)}.")
    if len(each) > 1 or len(blocks) == 1:
        return each
    for_counts = recipe.split("+")[0] in _OF_COUNTS
    return ["auto" if for_counts and block.kind == "dense" else recipe for block in blocks]


def _balanced(parts: Sequence[Scaling], pieces: Sequence[Features]) -> list[Scaling]:
    """Give blocks the same total variance, all together as much as there are columns; those brought to a range stay."""
    if any(part.recipe.endswith(("minmax", "none")) for part in parts):
        return list(parts)
    totals = [float(part(piece).var(axis=0).sum()) for part, piece in zip(parts, pieces, strict=True)]
    share = sum(len(part.shift) for part in parts) / len(parts)
    factors = [np.sqrt(share / total) if total > 0 else 1.0 for total in totals]
    return [replace(part, scale=part.scale / factor) for part, factor in zip(parts, factors, strict=True)]


def _fit_block(rows: Features, kind: BlockKind, recipe: str) -> Scaling:
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


def _automatic(rows: Features, kind: BlockKind) -> str:
    if kind == "counts":
        return COUNTS_RECIPE
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
