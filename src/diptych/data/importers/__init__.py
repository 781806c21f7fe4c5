"""Importers: from files people have to a dataset's folder; here, from arrays of features and labels of any origin."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from diptych._core.errors import ConfigError, DataError
from diptych.data.dataset import Dataset
from diptych.data.importers.array_files import Reference, describe_files, parse_reference
from diptych.data.importers.nuswide10k import import_nuswide10k
from diptych.data.importers.reading import read_column, read_features
from diptych.data.importers.wikipedia import import_wikipedia
from diptych.data.labels import LabelColumn, read_labels
from diptych.data.modality import KINDS, Kind, ModalityRows, guess_kind, rows_with_numbers
from diptych.data.splits import read_split_words, split_documents
from diptych.data.writing import Draft, check_target, write_dataset

__all__ = ["IMPORTERS", "import_arrays", "import_nuswide10k", "import_wikipedia"]

File = str | Path
"""A file, or a part of one as in `features.mat:I_tr`, `arrays.npz:image` or `table.csv:image_*`."""

_CHUNK_ROWS = 8192


def import_arrays(
    out: File,
    *,
    features: Mapping[str, File],
    labels: File | None = None,
    kinds: Mapping[str, Kind] | None = None,
    splits: File | None = None,
    ids: File | None = None,
    documents: File | None = None,
    metadata: Mapping[str, File] | None = None,
    classes: Sequence[str] | None = None,
    label_separator: str | None = None,
    missing_label: str | int | None = None,
    allow_missing: bool = False,
    name: str | None = None,
    seed: int = 0,
    val_share: float = 0.1,
    test_share: float = 0.2,
    overwrite: bool = False,
) -> Dataset:
    """Make a dataset of arrays and tables whose rows are in the same order.

    Features come as `.npy`, `.npz` (an array or a SciPy matrix), `.csv`, `.tsv`, `.parquet` or MATLAB `.mat`.

    Args:
        out: the folder to make.
        features: the file of each modality, by the modality's name.
        labels: one class per item as name or number; empty or null for none; a 0/1 table for several.
        kinds: "dense" or "counts" by modality; by default, sparse whole numbers are counts and everything else is
            dense.
        splits: "train", "val" or "test" per item; left out, items are split by seed within each class, and
            unlabelled items stay in training when others have labels, for nothing can be measured on them.
        ids: one id per item; left out, items are numbered from 0.
        documents: items with the same value are partners, which a split by seed never parts.
        metadata: free columns to keep, by name.
        classes: the class names in order.
        label_separator: what stands between several labels in one cell.
        missing_label: a value that means "no label", such as -1.
        allow_missing: take a row without any number as an item that lacks the modality.
        name: what to call the dataset; the folder's name when left out.
        seed: seed for drawing splits.
        val_share: share of validation items, if splits are drawn.
        test_share: share of test items, if splits are drawn.
        overwrite: replace a dataset that is already there.

    Raises:
        DataError: naming file, row and fix; nothing is left behind.
    """
    check_target(out, overwrite=overwrite)
    if not features:
        raise ConfigError("no features are given; give at least one modality, such as image=images.npy.")
    unknown = sorted(set(kinds or {}) - set(features))
    if unknown:
        raise ConfigError(f"a kind is given for '{unknown[0]}', but the modalities are {', '.join(features)}.")
    sources = {modality: parse_reference(file) for modality, file in features.items()}
    rows = {m: _modality_rows(m, source, (kinds or {}).get(m), allow_missing) for m, source in sources.items()}
    first = next(iter(sources.values()))
    count = _item_count(next(iter(rows.values())))
    for modality, found in rows.items():
        _require_count(sources[modality], _item_count(found), count, first)

    columns = {"labels": labels, "splits": splits, "ids": ids, "documents": documents}
    used = {role: parse_reference(file) for role, file in columns.items() if file is not None}
    extra = {key: parse_reference(file) for key, file in (metadata or {}).items()}
    cells = {role: _column(reference, count, first) for role, reference in used.items()}
    found_labels = LabelColumn([[] for _ in range(count)], [])
    if "labels" in cells:
        missing = None if missing_label is None else str(missing_label)
        found_labels = read_labels(
            cells["labels"], str(used["labels"]), classes=classes, separator=label_separator, missing=missing
        )
    given_splits = read_split_words(cells["splits"], str(used["splits"])) if "splits" in cells else None
    item_ids = _texts(cells["ids"], used["ids"]) if "ids" in cells else [str(row) for row in range(count)]
    partners = _texts(cells["documents"], used["documents"]) if "documents" in cells else item_ids
    draft = Draft(
        name=name or Path(out).resolve().name,
        ids=item_ids,
        splits=given_splits or split_documents(found_labels.names, partners, seed, val_share, test_share),
        labels=found_labels.names,
        classes=found_labels.classes,
        modalities=rows,
        documents=partners,
        metadata={key: _column(reference, count, first) for key, reference in extra.items()},
        source={
            "importer": "arrays",
            "files": describe_files([r.path for r in (*sources.values(), *used.values(), *extra.values())]),
            "features": {m: _brief(source) for m, source in sources.items()},
            "columns": {role: _brief(reference) for role, reference in used.items()},
            "metadata": {key: _brief(reference) for key, reference in extra.items()},
            "split": "given" if given_splits else {"seed": seed, "val_share": val_share, "test_share": test_share},
        },
        origin=str(used.get("ids", used.get("labels", first))),
    )
    return write_dataset(out, draft, overwrite=overwrite)


def _brief(reference: Reference) -> str:
    """The reference without its folder, so that the record holds no path of somebody's machine."""
    return str(Reference(Path(reference.path.name), reference.part))


def _column(reference: Reference, count: int, first: Reference) -> list[Any]:
    cells = read_column(reference)
    _require_count(reference, len(cells), count, first)
    return cells


def _require_count(reference: Reference, found: int, count: int, first: Reference) -> None:
    if found != count:
        hint = " (a first line that is not all numbers is its header)" if reference.format in ("csv", "tsv") else ""
        raise DataError(f"{reference} has {found} rows{hint} but {first} has {count}; give one row per item.")


def _texts(cells: Sequence[Any], reference: Reference) -> list[str]:
    for row, cell in enumerate(cells):
        if cell is None or isinstance(cell, list):
            raise DataError(f"{reference}: row {row} is empty or holds several values; give one value per item.")
    return [str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell) for cell in cells]


def _modality_rows(name: str, reference: Reference, kind: Kind | None, allow_missing: bool) -> ModalityRows:
    """Read a modality's rows; a row without any number is an item that lacks it, where that is allowed."""
    if kind is not None and kind not in KINDS:
        raise ConfigError(f"the kind of '{name}' is {kind!r}; choose one of {', '.join(KINDS)}.")
    values = read_features(reference)
    present = rows_with_numbers(values)
    if present is None or present.all():
        return ModalityRows(kind or guess_kind(values), values, None, str(reference))
    if not allow_missing:
        raise DataError(
            f"{reference}: row {int(np.argmin(present))} of '{name}' has no number at all; fill it in, or pass "
            "allow_missing (--allow-missing) when such items lack this modality."
        )
    return ModalityRows(kind or guess_kind(values), values[present], present, str(reference))


def _item_count(rows: ModalityRows) -> int:
    """How many items the file had a row for, those that lack the modality included."""
    return len(rows.present) if rows.present is not None else int(rows.values.shape[0])


IMPORTERS: Mapping[str, Callable[..., Dataset]] = {
    "wikipedia": import_wikipedia,
    "nuswide10k": import_nuswide10k,
    "arrays": import_arrays,
}
"""Every importer by its name on the command line."""
