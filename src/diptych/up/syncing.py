"""Bring an index in step with its source: write what is new or changed, remove what is gone."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

from diptych._core.errors import DiptychError
from diptych._core.progress import Progress, silent
from diptych.ingest import Problem
from diptych.media import MediaSource, reopen_source
from diptych.search import NewItem, entry_id
from diptych.up.changes import Changes
from diptych.up.manifest import Manifest
from diptych.up.source import Source, SourceItem

_BATCH, _REMOVED_AT_ONCE = 16, 256
_SET_BY_INDEX = ("id", "modality", "media", "has_media")
"""Names that a column may have and metadata may not."""


class IndexWriter(Protocol):
    """An index that can be changed: a `Searcher` open for writing, or one behind a server."""

    def add(self, items: Sequence[NewItem], *, replace: bool = False) -> int:
        """Embed and add items, all or none."""

    def remove(self, ids: Sequence[str]) -> int:
        """Remove entries; ids that are not there are passed over."""


def sync(
    changes: Changes,
    source: Source,
    index: IndexWriter,
    manifest: Manifest,
    *,
    problem: Callable[[Problem], None] = lambda problem: None,
    progress: Progress = silent,
    stopped: Callable[[], bool] = lambda: False,
) -> None:
    """Apply changes to an index, a few items at a time, and note each few in the manifest once they are in.

    A kill at any moment loses nothing: what is not noted is written again, which changes nothing. An image that cannot
    be read is told as a problem and tried again when its file changes; the item's text is found nevertheless.

    Args:
        changes: what to do.
        source: where images are read from.
        index: what is changed.
        manifest: where it is noted.
        problem: told what cannot be indexed, once for each file.
        progress: told how far it is.
        stopped: asked between batches; True ends the work early.
    """
    for start in range(0, len(changes.removed), _REMOVED_AT_ONCE):
        gone = changes.removed[start : start + _REMOVED_AT_ONCE]
        index.remove([entry_id(modality, id) for id in gone for modality in ("image", "text")])
        manifest.removed(gone)
    if not changes.written:
        return
    with reopen_source(source.images, source.plan.source_kind) as images:
        for start in range(0, len(changes.written), _BATCH):
            if stopped():
                return
            batch = changes.written[start : start + _BATCH]
            _write(batch, images, index, problem)
            manifest.changed(batch)
            progress("adding to the index", start + len(batch), len(changes.written))


def entries_of(item: SourceItem, images: MediaSource) -> list[NewItem]:
    """The entries of one item, with the metadata that building an index of it would give them.

    Raises:
        OSError: when its image cannot be read.
    """
    metadata: dict[str, Any] = {name: value for name, value in item.metadata.items() if name not in _SET_BY_INDEX}
    metadata |= {"item": item.id, "document": item.document}
    if item.labels:
        metadata["label"] = item.labels[0] if len(item.labels) == 1 else list(item.labels)
    if item.split is not None:
        metadata["split"] = item.split
    found = []
    if item.text is not None:
        metadata["text"] = item.text
        found.append(NewItem(entry_id("text", item.id), "text", item.text, metadata))
    if item.image is not None:
        found.append(NewItem(entry_id("image", item.id), "image", images.read(item.image), metadata))
    return found


def _write(
    batch: Sequence[SourceItem], images: MediaSource, index: IndexWriter, problem: Callable[[Problem], None]
) -> None:
    """Write some items: together if all are well, else one entry at a time to find those at fault."""
    entries: list[NewItem] = []
    for item in batch:
        entries += _readable_entries(item, images, problem)
    written = {entry.id for entry in entries}
    try:
        index.add(entries, replace=True)
    except DiptychError:
        written = {entry.id for entry in entries if _written(entry, index, problem)}
    wanted = {entry_id(modality, item.id) for item in batch for modality in ("image", "text")}
    index.remove(sorted(wanted - written))  # the sides that an item no longer has


def _readable_entries(item: SourceItem, images: MediaSource, problem: Callable[[Problem], None]) -> list[NewItem]:
    try:
        return entries_of(item, images)
    except (OSError, DiptychError) as error:
        name = item.image.name if item.image is not None else item.id
        problem(Problem("picture", name, f"cannot be read ({getattr(error, 'strerror', None) or error})"))
        return entries_of(replace(item, image=None), images)


def _written(entry: NewItem, index: IndexWriter, problem: Callable[[Problem], None]) -> bool:
    try:
        index.add([entry], replace=True)
    except DiptychError as error:
        reason = str(error).removeprefix(f"item {entry.id!r} cannot be added: ")
        problem(Problem("picture" if entry.kind == "image" else "text", entry.id, reason))
        return False
    return True
