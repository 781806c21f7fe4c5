"""The checks every item and feature passes on its way into a dataset."""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from diptych._core.errors import DataError
from diptych.data.modality import ModalityRows, kind_blocks

_CHUNK_ROWS = 8192
_LARGEST_COUNT = np.float64(np.iinfo(np.int32).max)  # counts are stored as int32


def check_rows(name: str, rows: ModalityRows, ids: Sequence[str]) -> None:
    """Refuse a modality of the wrong shape, with non-finite values, or with impossible counts."""
    values, origin = rows.values, rows.origin
    if values.ndim != 2 or values.shape[1] == 0:
        raise DataError(
            f"{origin}: '{name}' has shape {values.shape}; it needs one row per item and at least one column."
        )
    try:
        blocks = kind_blocks(rows.kind, values.shape[1])
    except DataError as error:
        raise DataError(f"{origin}: modality '{name}': {error}") from None
    present = np.arange(len(ids)) if rows.present is None else np.flatnonzero(rows.present)
    if rows.present is not None and len(rows.present) != len(ids):
        raise DataError(
            f"{origin}: '{name}' says for {len(rows.present)} items whether they have it; there are {len(ids)}."
        )
    if values.shape[0] != len(present):
        raise DataError(
            f"{origin}: '{name}' has {values.shape[0]} rows but {len(present)} items have this modality; "
            "give exactly one row for each."
        )
    if not len(present):
        raise DataError(f"{origin}: no item has '{name}'; leave the modality out.")
    for start in range(0, values.shape[0], _CHUNK_ROWS):
        chunk = values[start : start + _CHUNK_ROWS]
        for block in blocks:
            part = chunk if len(blocks) == 1 else chunk[:, block.start : block.stop]
            wrong = _first_wrong(part, counts=block.kind == "counts")
            if wrong is None:
                continue
            row, column, problem = wrong
            position = int(present[start + row])
            raise DataError(
                f"{origin}: row {position} (item '{ids[position]}'), column {block.start + column} of '{name}' "
                f"{problem}."
            )


def _first_wrong(chunk: np.ndarray | sp.csr_array, *, counts: bool) -> tuple[int, int, str] | None:
    """The first offending entry of a chunk of rows: row, column and what is wrong with it."""
    entries = chunk if isinstance(chunk, np.ndarray) else chunk.data
    if entries.dtype.kind not in "buif":
        return 0, 0, f"is of type {entries.dtype}; features must be real numbers"
    problems = [(~np.isfinite(entries), "is {}: replace it, or leave the item's whole row of this modality out")]
    if counts:
        problems += [
            (entries < 0, "is {}: a count cannot be negative; import it as dense instead"),
            (entries != np.floor(entries), "is {}: a count must be a whole number; import it as dense instead"),
            (entries > _LARGEST_COUNT, "is {}: that is beyond the largest count kept; import it as dense instead"),
        ]
    for mask, sentence in problems:
        if mask.any():
            first = int(np.argmax(mask))
            if isinstance(chunk, np.ndarray):
                row, column = (int(i) for i in np.unravel_index(first, chunk.shape))
            else:
                row = int(np.searchsorted(chunk.indptr, first, side="right")) - 1
                column = int(chunk.indices[first])
            return row, column, sentence.format(entries.reshape(-1)[first])
    return None


def check_items(
    ids: Sequence[str],
    splits: Sequence[str],
    labels: Sequence[Sequence[str]],
    classes: Sequence[str],
    allowed_splits: Sequence[str],
    origin: str,
) -> None:
    """Refuse duplicate ids, unknown splits and classes, classes without items, and uneven columns."""
    for column, length in (("split", len(splits)), ("label", len(labels))):
        if length != len(ids):
            raise DataError(f"{origin}: there are {len(ids)} items but {length} values of '{column}'; give one each.")
    if not ids:
        raise DataError(f"{origin}: there are no items.")
    known = set(classes)
    first_row: dict[str, int] = {}
    for row, (item, split, names) in enumerate(zip(ids, splits, labels, strict=True)):
        if not item:
            raise DataError(f"{origin}: row {row} has an empty id; every item needs one.")
        if item in first_row:
            raise DataError(f"{origin}: rows {first_row[item]} and {row} share the id '{item}'; ids must be unique.")
        first_row[item] = row
        if split not in allowed_splits:
            raise DataError(
                f"{origin}: row {row} (item '{item}') is in split '{split}'; use one of {', '.join(allowed_splits)}."
            )
        for name in names:
            if name not in known:
                raise DataError(
                    f"{origin}: row {row} (item '{item}') has the class '{name}', which is not among the "
                    f"{len(classes)} known classes ({', '.join(classes[:12])}); correct it or add the class."
                )
    if len(known) != len(classes):
        raise DataError(f"{origin}: a class name is listed twice among {', '.join(classes)}.")
    used = {name for names in labels for name in names}
    empty = [name for name in classes if name not in used]
    if empty:
        raise DataError(f"{origin}: no item carries the class '{empty[0]}'; remove it from the classes.")
