"""Write a dataset's folder: checked first, then written whole or not at all."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from diptych._core.arrays import Features
from diptych._core.errors import DataError
from diptych._core.files import atomic_folder, write_json
from diptych.data.checks import check_items, check_rows
from diptych.data.dataset import FORMAT, FORMAT_VERSION, RESERVED_COLUMNS, Dataset
from diptych.data.fingerprint import fingerprint_of, hash_features, hash_records
from diptych.data.modality import Modality, ModalityRows
from diptych.data.splits import SPLITS
from diptych.data.storage import to_stored, write_rows

Label = str | Sequence[str] | None
"""One class name, several, or none."""


@dataclass(frozen=True)
class Draft:
    """Everything a dataset will hold, before it is checked and written.

    Attributes:
        name: what to call the dataset.
        ids: one unique id per item.
        splits: "train", "val" or "test" per item.
        labels: a class name, several, or None per item.
        classes: the class names in order.
        modalities: the features by modality name.
        documents: items with the same document are partners (five captions of one picture);
            None makes every item its own document.
        metadata: free columns, one value per item.
        source: where the data came from, for `dataset.json`.
        origin: the file to name in errors about items.
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
    checked = check_draft(draft)
    try:
        with atomic_folder(Path(folder), overwrite=overwrite) as temporary:
            for name, spec in checked.head["modalities"].items():
                write_rows(temporary, Modality(name=name, **spec), checked.rows[name])
            pq.write_table(checked.items, temporary / "items.parquet")
            for name, attached in draft.attachments.items():
                (shutil.copytree if attached.is_dir() else shutil.copyfile)(attached, temporary / name)
            write_json(temporary / "dataset.json", checked.head)
    except OSError as error:
        raise DataError(f"{folder} cannot be written ({error}); choose another folder or make room.") from None
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
    label_sets = [[] if label is None else [label] if isinstance(label, str) else list(label) for label in draft.labels]
    check_items(draft.ids, draft.splits, label_sets, draft.classes, SPLITS, draft.origin)
    if not draft.modalities:
        raise DataError(f"{draft.origin}: a dataset needs at least one modality.")
    for name, rows in draft.modalities.items():
        _check_modality_name(name)
        check_rows(name, rows, draft.ids)
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


def check_target(folder: str | Path, *, overwrite: bool) -> None:
    """Refuse a folder that is in use, before any work is done; only a dataset may be overwritten."""
    target = Path(folder)
    if not target.exists():
        return
    if not overwrite:
        raise DataError(f"{target} already exists; choose another folder or pass --overwrite.")
    if not (target / "dataset.json").is_file() and not (target.is_dir() and not any(target.iterdir())):
        raise DataError(f"{target} is not a dataset, so it is not overwritten; choose another folder.")


def _check_modality_name(name: str) -> None:
    if not name.isidentifier() or name in ("items", "dataset"):
        raise DataError(f"'{name}' cannot name a modality; use letters, digits and underscores, such as 'image'.")


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
