"""Write a dataset's folder: every item and feature is checked first, then all is written or nothing."""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from diptych._core.arrays import Features
from diptych._core.errors import DataError
from diptych._core.files import atomic_folder, explained_writes, refuse_existing, write_json
from diptych.data.dataset import Dataset
from diptych.data.dataset_files import (
    FORMAT,
    FORMAT_VERSION,
    RESERVED_COLUMNS,
    fingerprint_of,
    hash_features,
    hash_records,
)
from diptych.data.labels import label_cell, read_labels
from diptych.data.modality import Modality, ModalityRows, check_modality_name, check_rows, to_stored, write_rows
from diptych.data.splits import SPLITS

Label = str | int | Sequence[str] | Sequence[int] | None
"""One class name or number, several, or none; whatever a list or an array holds."""


@dataclass(frozen=True)
class Draft:
    """The content of a dataset before it is checked and written.

    Attributes:
        name: name of the dataset.
        ids: one unique id per item; numbers become their digits.
        splits: "train", "val" or "test" per item.
        labels: a class name or number, several, or None per item, as a list, an array, or a matrix of zeros and ones
            with one column per class. If `classes` are given, numbers are indices into them, from 0 or from 1.
        classes: the class names in order.
        modalities: the features by modality name.
        documents: items with the same document are partners (five captions of one image);
            None makes every item its own document.
        metadata: free columns, one value per item.
        source: where the data came from, for `dataset.json`.
        origin: file to name in errors about items.
        pipeline_fingerprint: of the pipeline that made the rows, when there is one; its folder is attached under
            the name `PIPELINE_FOLDER`.
        attachments: files and folders to keep beside the rows, by their name in the dataset's folder.
    """

    name: str
    ids: Sequence[str]
    splits: Sequence[str]
    labels: Sequence[Label]
    classes: Sequence[str]
    modalities: Mapping[str, ModalityRows]
    documents: Sequence[str] | None = None
    metadata: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    source: Mapping[str, Any] = field(default_factory=dict)
    origin: str = "the items"
    pipeline_fingerprint: str | None = None
    attachments: Mapping[str, Path] = field(default_factory=dict)


def write_dataset(folder: str | Path, draft: Draft, *, overwrite: bool = False) -> Dataset:
    """Check a draft, write it as a dataset's folder and open it.

    Raises:
        DataError: naming file, row and fix; nothing is left behind.
    """
    check_target(folder, overwrite=overwrite)
    with explained_writes(Path(folder), "try again"):
        return write_draft(Path(folder), draft, overwrite=overwrite)


def write_draft(folder: Path, draft: Draft, *, overwrite: bool = False) -> Dataset:
    """Check a draft, write it as a folder that may be written, and open it.

    Raises:
        DataError: naming file, row and fix; nothing is left behind.
        OSError: when it cannot be written; nothing is left behind.
    """
    checked = check_draft(draft)
    with atomic_folder(folder, overwrite=overwrite) as temporary:
        for name, spec in checked.head["modalities"].items():
            write_rows(temporary, Modality(name=name, **spec), checked.rows[name])
        pq.write_table(checked.items, temporary / "items.parquet")
        for name, attached in draft.attachments.items():
            (shutil.copytree if attached.is_dir() else shutil.copyfile)(attached, temporary / name)
        write_json(temporary / "dataset.json", checked.head)
    return Dataset.open(folder)


@dataclass(frozen=True)
class CheckedDraft:
    """A draft that passed every check.

    Attributes:
        head: the content of `dataset.json`.
        items: the table of `items.parquet`.
        rows: the rows of each modality, as they are stored.
    """

    head: dict[str, Any]
    items: pa.Table
    rows: dict[str, Features]


def check_draft(draft: Draft) -> CheckedDraft:
    """Check a draft and bring it to the form it is stored in.

    Raises:
        DataError: naming file, row and fix.
    """
    draft, label_sets = _as_names(draft)
    check_items(draft.ids, draft.splits, label_sets, draft.classes, SPLITS, draft.origin)
    if not draft.modalities:
        raise DataError(f"{draft.origin}: a dataset needs at least one modality.")
    for name, rows in draft.modalities.items():
        check_modality_name(name)
        check_rows(name, rows, draft.ids)
    _refuse_empty_items(draft)
    table = _items_table(draft, label_sets)
    stored = {name: to_stored(rows.values, rows.kind) for name, rows in draft.modalities.items()}
    modalities = [
        Modality(name, rows.kind, int(rows.values.shape[1]), int(rows.values.shape[0]))
        for name, rows in draft.modalities.items()
    ]
    hashes = {"items": hash_records(table.to_pylist())} | {name: hash_features(rows) for name, rows in stored.items()}
    head = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "name": draft.name,
        "items": len(draft.ids),
        "modalities": {m.name: {"kind": m.kind, "dimension": m.dimension, "items": m.items} for m in modalities},
        "classes": list(draft.classes),
        "source": dict(draft.source),
        "fingerprint": fingerprint_of(FORMAT_VERSION, draft.classes, {m.name: m.kind for m in modalities}, hashes),
        "hashes": hashes,
    }
    if draft.pipeline_fingerprint is not None:
        head["pipeline"] = {"fingerprint": draft.pipeline_fingerprint}
    return CheckedDraft(head, table, stored)


def _refuse_empty_items(draft: Draft) -> None:
    """Refuse an item that has no modality at all."""
    masks = [rows.present for rows in draft.modalities.values()]
    if any(mask is None for mask in masks):
        return
    empty = ~np.any([np.asarray(mask, dtype=np.bool_) for mask in masks], axis=0)
    if empty.any():
        row = int(np.argmax(empty))
        raise DataError(
            f"{draft.origin}: row {row} (item '{draft.ids[row]}') has none of {', '.join(draft.modalities)}; "
            "give it one, or leave the item out."
        )


def _as_names(draft: Draft) -> tuple[Draft, list[list[str]]]:
    """Convert ids, documents and classes to strings; returns the draft and the class names of each item."""
    ids, documents = _strings(draft.ids), None if draft.documents is None else _strings(draft.documents)
    classes = _strings(draft.classes)
    labels = draft.labels.toarray() if hasattr(draft.labels, "toarray") else draft.labels
    cells = [label_cell(label) for label in labels]
    sets = [[] if cell is None else cell if isinstance(cell, list) else [cell] for cell in cells]
    if not all(isinstance(name, str) for names in sets for name in names):
        sets = read_labels(cells, draft.origin, classes=classes).names
    return replace(draft, ids=ids, documents=documents, classes=classes), sets


def _strings(values: Iterable[Any]) -> list[str]:
    return [value if isinstance(value, str) else str(value) for value in values]


def check_target(folder: str | Path, *, overwrite: bool) -> None:
    """Refuse a folder that is in use, before any work is done; only a dataset may be overwritten."""
    refuse_existing(Path(folder), overwrite=overwrite, only=("dataset.json", "a dataset"))


def _items_table(draft: Draft, label_sets: Sequence[Sequence[str]]) -> pa.Table:
    """The rows of `items.parquet`: a label column of strings, or of lists when some item has several."""
    several = any(len(names) > 1 for names in label_sets)
    count = len(draft.ids)
    labels: Sequence[Any]
    labels = [list(names) or None if several else (names[0] if names else None) for names in label_sets]
    columns: dict[str, pa.Array] = {
        "id": pa.array(list(draft.ids), pa.string()),
        "split": pa.array(list(draft.splits), pa.string()),
        "label": pa.array(labels, pa.list_(pa.string()) if several else pa.string()),
        "document": pa.array(list(draft.ids if draft.documents is None else draft.documents), pa.string()),
    }
    for name, rows in draft.modalities.items():
        present = np.ones(count, dtype=bool) if rows.present is None else np.asarray(rows.present, dtype=bool)
        columns[f"has_{name}"] = pa.array(present)
    for name, values in draft.metadata.items():
        if name in columns or name in RESERVED_COLUMNS:
            raise DataError(f"{draft.origin}: the metadata column '{name}' has a reserved name; rename it.")
        try:
            columns[name] = pa.array(list(values))
        except (pa.ArrowException, TypeError, OverflowError) as error:
            raise DataError(
                f"{draft.origin}: the metadata column '{name}' cannot be stored ({error}); give values of one type."
            ) from None
    uneven = [name for name, column in columns.items() if len(column) != count]
    if uneven:
        raise DataError(f"{draft.origin}: column '{uneven[0]}' has {len(columns[uneven[0]])} values for {count} items.")
    return pa.table(columns)


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
