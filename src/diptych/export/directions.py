"""Whether a method compares the codes that it embeds, or others in each direction, which no graph of codes holds."""

from collections.abc import Mapping
from itertools import permutations

import numpy as np

from diptych.arrays import Singles
from diptych.methods import Method

_COMPARED = 8


def compares_by_direction(model: Method, rows: Mapping[str, Singles]) -> bool:
    """Whether what the method compares differs from the codes of both sides, on some rows of each modality."""
    if type(model).represent is Method.represent:
        return False
    few = {name: values[-_COMPARED:] for name, values in rows.items()}
    return any(_differs(model, asking, searched, few) for asking, searched in permutations(few, 2))


def _differs(model: Method, asking: str, searched: str, rows: Mapping[str, Singles]) -> bool:
    compared = model.represent(asking, searched, rows[asking], rows[searched])
    plain = model.embed(asking, rows[asking]), model.embed(searched, rows[searched])
    return any(not np.array_equal(a, b) for a, b in zip(compared, plain, strict=True))
