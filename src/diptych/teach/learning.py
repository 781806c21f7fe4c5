"""Learn from what was taught: fit a model, build its index beside the one in force, and swap them.

Labels reach the fit through the usual protocol: they are propagated over the training pairs of the dataset, and items
that were added since join these. An item that a person answered for is a training item from then on, whatever split
it came with.
"""

import os
import shutil
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from diptych._core.arrays import Features
from diptych._core.errors import ConfigError, DataError
from diptych._core.progress import Progress, silent
from diptych.data import Dataset, Protocol
from diptych.data.dataset_files import FORMAT_VERSION, fingerprint_of, hash_records
from diptych.data.in_memory import MemoryDataset
from diptych.data.protocol import NO_CLASS
from diptych.methods import create, save_model
from diptych.search import Searcher, build_index
from diptych.search.browse.projection import read_projection
from diptych.search.entries import document_of
from diptych.search.generation import Generation
from diptych.search.index_folder import Description, folder_beside
from diptych.search.raw_embedder import media_type_of
from diptych.teach.graph import Places
from diptych.teach.models import ModelRecord, Models, record_of
from diptych.teach.teacher import Teacher

FEWEST_CLASSES = 2
_BUILDING = "building"


def learn(
    index: str | Path,
    *,
    dataset: str | Path | None = None,
    method: str = "auto",
    params: Mapping[str, Any] | None = None,
    url: str | None = None,
    progress: Progress = silent,
) -> ModelRecord:
    """Fit a model on what was taught, build its index and put it in the place of the one in force.

    The index may be searched and changed meanwhile; nothing that was acknowledged is lost. The former one is kept.

    Args:
        index: the folder of the index.
        dataset: the folder of the dataset it was built from, where it is not where it was then.
        method: which method to fit.
        params: of the method.
        url: of the vector database, for an index whose vectors are in one.
        progress: called with the progress.

    Raises:
        ConfigError: when too little was taught.
        DataError: when the dataset is not there, or is another one.
        BackendUnavailableError: while another process learns.
    """
    started, folder, models = time.perf_counter(), Path(index), Models(index)
    with models.changing():
        progress("preparing", 0, 1)
        known = Description.read(folder)
        base = dataset_of(folder, known, dataset)
        with Searcher.open(folder, url=url) as searcher:
            teacher = Teacher(searcher)
            try:
                status, guesses = teacher.status(), teacher.guesses()
                if "taught_from" not in known.dataset and teacher.graph is not None:
                    Places(teacher.graph.items, teacher.graph.vectors).write(folder_beside(folder))
                stored = [label for label in teacher.labels.all().values() if label.answer != "skip"]
                answers = {label.item: label.label for label in stored}
            finally:
                teacher.close()
            named = {item: label for item, label in answers.items() if label is not None}
            check_taught(named, base)
            added = searcher.generations.read(lambda generation: added_rows(generation, base))
        learned_from, indexed = taught_datasets(base, answers, guesses, added)
        progress("preparing", 1, 1)
        model = create(method, **(params or {})).fit(learned_from, Protocol(propagate=True), progress=progress)
        records, active = models.all(), models.active()
        id = models.next_id()
        made = folder_beside(folder) / _BUILDING
        try:
            save_model(model, made, overwrite=True)
            build_index(
                made,
                indexed,
                folder,
                engine=known.engine,
                url=url,
                projection=read_projection(folder) or "auto",
                overwrite=True,
                former=models.free_place(active.id),
                progress=progress,
            )
            propagation = model.record_.get("propagation") or {}
            record = record_of(
                id,
                made,
                answers=len(named),
                classes=len(set(named.values())),
                propagated=int(propagation.get("propagated", 0)),
                items=int((learned_from.splits == "train").sum()),
                scores={} if status.held_out is None else {"held_out": status.held_out.accuracy},
                seconds=time.perf_counter() - started,
                before=active.id,
            )
            models.note(record, records)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return record


def dataset_of(index: Path, known: Description, given: str | Path | None = None) -> Dataset:
    """The dataset that an index was built from.

    Raises:
        DataError: when it is not there, or is not the one.
    """
    if given is None and not known.origin:
        raise DataError("this index does not say where its dataset is; name the folder with --dataset.")
    folder = Path(given) if given is not None else Path(os.path.normpath(index.resolve() / known.origin))
    if not (folder / "dataset.json").is_file():
        raise DataError(
            f"the dataset of this index is not in {folder} any more, so nothing can be learned; put it back, or name "
            "its folder with --dataset."
        )
    found = Dataset.open(folder)
    if found.fingerprint != known.dataset.get("taught_from", known.dataset.get("fingerprint")):
        raise DataError(f"{folder} has changed since the index was built from it; build the index again, then learn.")
    return found


def check_taught(named: Mapping[str, str], base: Dataset) -> None:
    """Refuse to learn from fewer than two classes.

    Raises:
        ConfigError: naming how many there are.
    """
    classes = {*named.values(), *base.classes}
    if len(classes) < FEWEST_CLASSES:
        raise ConfigError(f"answers name {len(classes)} classes; teach at least {FEWEST_CLASSES}, then learn.")


def taught_datasets(
    base: Dataset,
    answers: Mapping[str, str | None],
    guesses: Mapping[str, tuple[str, float]],
    added: Mapping[str, tuple[Sequence[str], Features]] | None = None,
) -> tuple[Dataset, Dataset]:
    """The dataset with what was taught: the one to learn from, with items added since, and the one to index.

    Args:
        base: the dataset.
        answers: the class by item, None for an item that is none of the classes: none is propagated to it.
        guesses: the class and certainty by item, which become the column `guess` of the one to index.
        added: items that are not in the dataset and their rows, by modality.
    """
    documents = base.everything.documents.tolist()
    cells = base.items.column("label").to_pylist()
    labels: list[list[str]] = [[] if cell is None else [cell] if isinstance(cell, str) else cell for cell in cells]
    splits = base.splits.tolist()
    for row, document in enumerate(documents):
        if document in answers:
            label = answers[document]
            labels[row] = [label] if label is not None else []
            splits[row] = "train" if label is not None else splits[row]
    refused = {item for item, label in answers.items() if label is None}
    guess = [guesses[document][0] if document in guesses else None for document in documents]
    table = base.items.drop_columns(["guess"]) if "guess" in base.items.column_names else base.items
    table = _with_column(table, "split", pa.array(splits, pa.string()))
    indexed = _with_labels(base, table.append_column("guess", pa.array(guess, pa.string())), labels)
    if not added:
        return _with_labels(base, table, labels, refused=refused), indexed
    names = next(iter(added.values()))[0]
    more = [[label] if (label := answers.get(item)) is not None else [] for item in names]
    whole = _with_labels(base, table, labels, names, more, refused)
    rows = {name: _stacked(column.values, added[name][1]) for name, column in base.columns.items()}
    learned_from = MemoryDataset(**{one.name: getattr(whole, one.name) for one in fields(Dataset)}, rows=rows)
    return learned_from, indexed


def added_rows(index: Generation, base: Dataset) -> dict[str, tuple[list[str], Features]]:
    """The items with every modality that were added since the index was built, and their rows by modality."""
    if not index.raw.media():
        return {}
    inside = set(base.everything.documents.tolist())
    found: dict[str, dict[str, Any]] = {}
    changes = index.store.changes()
    for change, entry in zip(changes, index.index.get([change.id for change in changes]), strict=True):
        if entry is None or document_of(entry.id, entry.metadata) in inside:
            continue
        kind = media_type_of(index.model, entry.modality)
        value: Any = change.text or entry.metadata.get("text")
        if kind != "text":
            stored = index.store.get(entry.id, entry.metadata.get("media", ""))
            value = None if stored is None else stored.original or (stored.thumbnail if kind == "image" else None)
        if value:
            item = document_of(entry.id, entry.metadata)
            found.setdefault(item, {})[entry.modality] = index.raw.read(str(kind), value)
    names = [item for item, sides in sorted(found.items()) if set(sides) == set(base.modalities)]
    if not names:
        return {}
    return {name: (names, index.raw.features(name, [found[item][name] for item in names])) for name in base.modalities}


def _with_labels(
    base: Dataset,
    table: pa.Table,
    labels: Sequence[Sequence[str]],
    names: Sequence[str] = (),
    more: Sequence[Sequence[str]] = (),
    refused: Collection[str] = (),
) -> Dataset:
    """A dataset with these labels, further training items and items of no class, which knows what it was made of."""
    fresh = [{"id": f"added:{name}", "document": name, "split": "train"} for name in names]
    present = {f"has_{name}": True for name in base.modalities}
    if fresh:
        rows = pa.Table.from_pylist([row | present for row in fresh], schema=table.schema)
        table = pa.concat_tables([table, rows])
    if refused:
        no_class = [document in refused for document in table.column("document").to_pylist()]
        kept = table.drop_columns([NO_CLASS]) if NO_CLASS in table.column_names else table
        table = kept.append_column(NO_CLASS, pa.array(no_class, pa.bool_()))
    every = [*labels, *more]
    several = any(len(row) > 1 for row in every)
    cells = [list(row) or None if several else (row[0] if row else None) for row in every]
    table = _with_column(table, "label", pa.array(cells, pa.list_(pa.string()) if several else pa.string()))
    classes = tuple(sorted({name for row in every for name in row}))
    modalities = {
        name: replace(modality, items=modality.items + len(fresh)) for name, modality in base.modalities.items()
    }
    hashes = {**base.hashes, "items": hash_records(table.to_pylist())}
    kinds = {name: modality.kind for name, modality in modalities.items()}
    return replace(
        base,
        items=table,
        classes=classes,
        modalities=modalities,
        hashes=hashes,
        fingerprint=fingerprint_of(FORMAT_VERSION, classes, kinds, hashes),
        source={**base.source, "taught_from": base.fingerprint},
    )


def _with_column(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, values)


def _stacked(first: Features, second: Features) -> Features:
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return np.concatenate([first, second.astype(first.dtype)])
    return sp.csr_array(sp.vstack([sp.csr_array(first), sp.csr_array(second)]))
