"""What is asked of the rows and labels that enter an evaluation."""

import numpy as np
from numpy.typing import NDArray

from diptych.data.labels import Labels
from diptych.errors import DataError

Rows = NDArray[np.floating]
"""Representations, one row an item, of any float width; ranking works in float64 whatever comes in."""


def check_rows(name: str, rows: Rows) -> None:
    """Refuse anything but a table of finite numbers, naming the first bad row."""
    if not isinstance(rows, np.ndarray) or rows.ndim != 2 or rows.dtype.kind not in "fiu":
        found = f"shape {rows.shape} and type {rows.dtype}" if isinstance(rows, np.ndarray) else type(rows).__name__
        raise DataError(f"{name} must be a table of numbers with one row per item, not {found}.")
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        raise DataError(f"row {int(np.argmin(finite))} of {name} holds a value that is not finite; embed it again.")


def check_labels(name: str, rows: Rows, labels: Labels) -> None:
    """Refuse labels that do not belong to these rows."""
    if len(labels) != len(rows):
        raise DataError(f"{name} has {len(rows)} rows but {len(labels)} labels; give every row its labels.")


def check_pair(queries: Rows, gallery: Rows, query_labels: Labels, gallery_labels: Labels) -> None:
    """Refuse queries and a gallery that cannot be compared with each other."""
    check_rows("queries", queries)
    check_rows("gallery", gallery)
    if queries.shape[1] != gallery.shape[1]:
        raise DataError(
            f"queries have {queries.shape[1]} dimensions and the gallery {gallery.shape[1]}; "
            "both must live in one common space."
        )
    check_labels("queries", queries, query_labels)
    check_labels("gallery", gallery, gallery_labels)
    if query_labels.classes != gallery_labels.classes:
        raise DataError("queries and gallery have different lists of classes; build both labels over one list.")
