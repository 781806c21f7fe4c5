"""Several things asked for at once: a weighted sum of directions."""

import math
from collections.abc import Sequence

import numpy as np

from diptych.arrays import Singles
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
    if not any(weights):
        raise ConfigError("every weight of the query is 0; give at least one part another weight.")
    # The lengths by a product with itself: `norm` takes longer to decide what it is asked than to do it.
    wide = rows.astype(np.float64)
    total = (np.asarray(weights) / np.sqrt(np.vecdot(wide, wide))) @ wide
    length = math.sqrt(total @ total)
    if length <= _NOTHING * sum(map(abs, weights)):
        raise ConfigError("the parts of the query cancel each other, so it has no direction; change a weight.")
    return np.asarray(total / length, dtype=np.float32)


def dominant(weights: Sequence[float]) -> int | None:
    """The part with the largest positive weight, the first of equals; None if the query only leads away."""
    best = max(range(len(weights)), key=weights.__getitem__)
    return best if weights[best] > 0 else None
