"""One command from files to a search: ingest, fit, index, serve, and keep the index in step with the files.

Building does only the steps that are not done yet.
"""

import shlex
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from diptych._core.errors import DataError, DiptychError
from diptych._core.progress import Progress
from diptych.data import Dataset
from diptych.ingest import Ingested, IngestOptions, Problem, ingest
from diptych.methods import Method, create, load_model, model_fingerprint, save_model
from diptych.search import Built, Searcher, build_index
from diptych.search.index_folder import LABELS_FILE, folder_beside
from diptych.teach import LabelStore, learn
from diptych.teach.learning import FEWEST_CLASSES
from diptych.up.check import Checked, HttpClient, check_search
from diptych.up.folder import Manifest, SearchFolder, search_folder, source_name
from diptych.up.sync import (
    Changes,
    Source,
    SourceItem,
    changes_since,
    read_source,
    reason_to_fit_again,
    sync,
)
from diptych.up.watch import Follower

__all__ = [
    "BuildCallbacks",
    "Changes",
    "Checked",
    "Follower",
    "HttpClient",
    "Manifest",
    "SearchFolder",
    "Source",
    "SourceItem",
    "changes_since",
    "check_search",
    "long_commands",
    "make_ready",
    "read_source",
    "reason_to_fit_again",
    "search_folder",
    "source_name",
    "sync",
]

_HOST, _PORT = "127.0.0.1", 8000


class BuildCallbacks(Protocol):
    """Called at each step while a search is built."""

    def step(self, name: str, why: str) -> AbstractContextManager[Progress]:
        """A step begins; the context's value receives its progress."""

    def kept(self, what: str) -> None:
        """Something was there already and is kept."""

    def ingested(self, made: Ingested) -> None:
        """The dataset is made."""

    def fitted(self, model: Method) -> None:
        """The model is fitted."""

    def indexed(self, built: Built) -> None:
        """The index is built."""

    def synced(self, changes: Changes) -> None:
        """The index was brought in step with the source."""

    def problem(self, problem: Problem) -> None:
        """An item, or its image or text, could not be added."""


def make_ready(
    folder: SearchFolder, source: Source, options: IngestOptions, callbacks: BuildCallbacks, *, workers: int = 0
) -> None:
    """Do the steps that are missing between the source and its index; return at once when none is.

    Each step is whole or not done, and goes on where an earlier call was killed. What was ingested, fitted and indexed
    before is kept unless the items have changed too much (`reason_to_fit_again`); smaller changes go into the index
    that is there.

    Args:
        folder: where everything is kept; claimed by the caller.
        source: the items there are.
        options: how the source is ingested.
        callbacks: called as the comparison proceeds.
        workers: parallel processes; 0 works in this one.

    Raises:
        DataError: when the folder holds the search of another source, or no item has a text or none an image.
    """
    _check_sides(source)
    with Manifest(folder.manifest) as manifest:
        _check_source(folder, source, manifest)
        dataset = _dataset(folder, source, options, manifest, callbacks, workers)
        if not _is_index_of(folder, dataset):
            _model(folder, dataset, callbacks)
            _index(folder, dataset, manifest, callbacks)
            _learn_again(folder, callbacks)
        elif not manifest.indexed():
            manifest.built()  # a kill came between the index and the note of it
        changes = changes_since(manifest.indexed(), source.items)
        if changes:
            with (
                callbacks.step("index", str(changes)) as progress,
                Searcher.open(folder.index, writable=True) as searcher,
            ):
                sync(changes, source, searcher, manifest, problem=callbacks.problem, progress=progress)
            callbacks.synced(changes)


def _check_sides(source: Source) -> None:
    """Refuse a source without media files or without texts before any work is done."""
    if not any(item.text is not None for item in source.items.values()):
        raise DataError(
            f"no item of {source.path} has a text, so queries could find nothing; put text files beside the images "
            "(x.txt for x.jpg), name the files after what they show, or give a table with a text column."
        )
    if not any(item.files for item in source.items.values()):
        raise DataError(
            f"no item of {source.path} has an image or sound file that exists; give a column with file names, "
            "and put the files into the folder of the table."
        )


def _check_source(folder: SearchFolder, source: Source, manifest: Manifest) -> None:
    path = str(source.path.resolve())
    known = manifest.fact("source")
    if known is not None and known != path:
        raise DataError(f"{folder.path} contains the search for {known}; choose another folder with --out.")
    manifest.note("source", path)


def _dataset(
    folder: SearchFolder,
    source: Source,
    options: IngestOptions,
    manifest: Manifest,
    callbacks: BuildCallbacks,
    workers: int,
) -> Dataset:
    """The dataset to search: the one that is there as long as its model serves, else a new one."""
    kept = _opened(folder)
    if kept is not None and kept.fingerprint != manifest.fact("dataset") and manifest.is_planned():
        manifest.ingested(kept.fingerprint)  # a kill came between the dataset and the note of it
    why = ""
    if kept is not None and kept.fingerprint == manifest.fact("dataset"):
        reason = reason_to_fit_again(manifest.fitted(), source.items)
        if reason is None:
            callbacks.kept(f"the features of {len(kept):,} items")
            return kept
        why = f"again, for {reason}"
    with callbacks.step("features", why) as progress:
        # The source was read before: what changes from here on counts as changed, and is written once more.
        manifest.plan(source.items)
        made = ingest(options, workers=workers, progress=progress)
    manifest.ingested(made.dataset.fingerprint)
    callbacks.ingested(made)
    return made.dataset


def _model(folder: SearchFolder, dataset: Dataset, callbacks: BuildCallbacks) -> None:
    if _is_model_of(folder, dataset):
        callbacks.kept("the model")
        return
    with callbacks.step("model", "") as progress:
        model = create("auto").fit(dataset, progress=progress)
    save_model(model, folder.model, overwrite=True)
    callbacks.fitted(model)


def _index(folder: SearchFolder, dataset: Dataset, manifest: Manifest, callbacks: BuildCallbacks) -> None:
    with callbacks.step("index", "") as progress:
        built = build_index(folder.model, dataset, folder.index, overwrite=True, keep_changes=False, progress=progress)
    manifest.built()
    callbacks.indexed(built)


def _learn_again(folder: SearchFolder, callbacks: BuildCallbacks) -> None:
    """Learn what was taught to the index that was there before, where that is enough to learn from."""
    if not (folder_beside(folder.index) / LABELS_FILE).is_file():
        return
    with LabelStore(folder.index) as store:
        classes = {label.label for label in store.all().values()} - {None}
    if len(classes) >= FEWEST_CLASSES:
        with callbacks.step("model", f"for the {len(classes):,} taught classes") as progress:
            learn(folder.index, progress=progress)


def _opened(folder: SearchFolder) -> Dataset | None:
    if not folder.dataset.exists():
        return None
    try:
        return Dataset.open(folder.dataset)
    except DiptychError:
        return None


def _is_model_of(folder: SearchFolder, dataset: Dataset) -> bool:
    try:
        return bool(load_model(folder.model).record_["dataset"]["fingerprint"] == dataset.fingerprint)
    except (DiptychError, KeyError):
        return False


def _is_index_of(folder: SearchFolder, dataset: Dataset) -> bool:
    """Whether the index is there, of this dataset and of the model that is there, or learned from what was taught."""
    try:
        with Searcher.open(folder.index) as searcher:
            known = searcher.info()
        if known["dataset"].get("taught_from") == dataset.fingerprint:
            return True
        found = known["model"]["fingerprint"], known["dataset"]["fingerprint"]
        return bool(found == (model_fingerprint(folder.model), dataset.fingerprint))
    except DiptychError:
        return False


def long_commands(folder: SearchFolder, options: IngestOptions, host: str = _HOST, port: int = _PORT) -> list[str]:
    """What to type to get the same dataset, model, index and server step by step.

    Args:
        folder: where everything is kept.
        options: how the source is ingested.
        host: where it is served.
        port: where it is served.
    """
    ingest: list[str | Path] = ["ingest", options.pairs, "--out", folder.dataset]
    if options.images is not None:
        ingest += ["--images", options.images]
    if options.name is not None:
        ingest += ["--name", options.name]
    serve: list[str | Path] = ["serve", folder.index]
    if host != _HOST:
        serve += ["--host", host]
    if port != _PORT:
        serve += ["--port", str(port)]
    return [
        _line(ingest),
        _line(["fit", folder.dataset, "--out", folder.model]),
        _line(["index", folder.model, folder.dataset, "--out", folder.index]),
        _line(serve),
    ]


def _line(parts: Sequence[str | Path]) -> str:
    return shlex.join(["diptych", *map(str, parts)])
