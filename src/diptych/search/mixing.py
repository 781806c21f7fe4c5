"""Several things asked for at once: a weighted sum of directions."""

from collections.abc import Sequence

import numpy as np

from diptych.arrays import Floats, Singles
from diptych.errors import ConfigError

_NOTHING = 1e-6


def mixed(rows: Singles, weights: Sequence[float]) -> Singles:
    """The direction Σ w_i · x_i / ‖x_i‖, of length 1.

    Args:
        rows: one vector a part.
        weights: one number a part.

    Raises:
        ConfigError: when the parts cancel each other, or nothing has a weight.
    """
    sizes = np.abs(np.asarray(weights, dtype=np.float64))
    if not sizes.any():
        raise ConfigError("every weight of the query is 0; give at least one part another weight.")
    total = np.asarray(weights, dtype=np.float64) @ _units(rows)
    length = float(np.linalg.norm(total))
    if length <= _NOTHING * float(sizes.sum()):
        raise ConfigError("the parts of the query cancel each other, so it has no direction; change a weight.")
    return np.asarray(total / length, dtype=np.float32)


def dominant(weights: Sequence[float]) -> int | None:
    """The part with the largest positive weight, the first of equals; None if the query only leads away."""
    best = int(np.argmax(weights))
    return best if weights[best] > 0 else None


def _units(rows: Singles) -> Floats:
    wide = rows.astype(np.float64)
    return np.asarray(wide / np.linalg.norm(wide, axis=1, keepdims=True))
