"""One modality from a file: its rows, its kind, and which items have it."""

import numpy as np
import scipy.sparse as sp

from diptych._core.arrays import Booleans, Features
from diptych._core.errors import ConfigError, DataError
from diptych.data.importers.reading import read_features
from diptych.data.importers.references import Reference
from diptych.data.modality import KINDS, Kind, ModalityRows

_CHUNK_ROWS = 8192


def modality_rows(name: str, reference: Reference, kind: Kind | None, allow_missing: bool) -> ModalityRows:
    """Read a modality's rows; a row without any number is an item that lacks it, where that is allowed."""
    if kind is not None and kind not in KINDS:
        raise ConfigError(f"the kind of '{name}' is {kind!r}; choose one of {', '.join(KINDS)}.")
    values = read_features(reference)
    present = _present(values)
    if present is None or present.all():
        return ModalityRows(kind or guess_kind(values), values, None, str(reference))
    if not allow_missing:
        raise DataError(
            f"{reference}: row {int(np.argmin(present))} of '{name}' has no number at all; fill it in, or pass "
            "allow_missing (--allow-missing) when such items lack this modality."
        )
    return ModalityRows(kind or guess_kind(values), values[present], present, str(reference))


def item_count(rows: ModalityRows) -> int:
    """How many items the file had a row for, those that lack the modality included."""
    return len(rows.present) if rows.present is not None else int(rows.values.shape[0])


def guess_kind(values: Features) -> Kind:
    """Sparse rows of non-negative whole numbers are counts; everything else is dense."""
    if not isinstance(values, sp.csr_array):
        return "dense"
    data = values.data
    whole = data.dtype.kind in "bu" or bool(np.all((data >= 0) & (data == np.floor(data))))
    return "counts" if whole else "dense"


def _present(values: Features) -> Booleans | None:
    """Which dense rows hold at least one number; None when no row can be without."""
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f" or not values.size:
        return None
    starts = range(0, len(values), _CHUNK_ROWS)
    return np.concatenate([~np.isnan(values[start : start + _CHUNK_ROWS]).all(axis=1) for start in starts])
