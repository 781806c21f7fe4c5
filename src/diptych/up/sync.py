"""Bring an index in step with its source: the items there are, what differs, and when to fit the model again."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from diptych._core.errors import DiptychError
from diptych._core.progress import Progress, silent
from diptych.ingest import IngestOptions, Plan, Problem, plan_ingest
from diptych.media import KINDS, MediaSource, Place, media_column, reopen_source
from diptych.search import NewItem, entry_id
from diptych.up.folder import FittedItem, Manifest


@dataclass(frozen=True)
class SourceItem:
    """One item as the files and rows describe it now.

    Attributes:
        id: unique in the dataset.
        document: items of one document are partners of each other.
        text: its text, cleaned; None if it has none.
        files: where its files lie, by kind of media; missing files are left out.
        labels: its classes.
        split: the split that the source gives, None where splits are drawn.
        metadata: the other columns.
    """

    id: str
    document: str
    text: str | None
    files: Mapping[str, Place]
    labels: tuple[str, ...]
    split: str | None
    metadata: Mapping[str, Any]

    @cached_property
    def content(self) -> str:
        """Changes when the text or a file does: what a model sees of an item, apart from its labels."""
        files = {kind: [place.name, place.size, place.stamp] for kind, place in self.files.items()}
        return _hash([self.document, self.text, files.pop("image", None), *([files] if files else [])])

    @cached_property
    def signature(self) -> str:
        """Changes when any part of the item does, other columns too."""
        other = {name: _comparable(value) for name, value in self.metadata.items() if value is not None}
        return _hash([self.content, self.labels, self.split, other])


@dataclass(frozen=True)
class Source:
    """Everything that was found at a path.

    Attributes:
        plan: what an ingest would read.
        items: the items by id.
    """

    plan: Plan
    items: Mapping[str, SourceItem]

    @property
    def path(self) -> Path:
        """The table, folder or archive."""
        return self.plan.options.pairs

    @property
    def root(self) -> Path:
        """The folder or archive that holds the files."""
        return self.plan.source_path


def read_source(options: IngestOptions) -> Source:
    """Find all items; no file is opened.

    Raises:
        DataError: when there is nothing that can be read.
    """
    plan = plan_ingest(options)
    items = {
        item.id: SourceItem(
            id=item.id,
            document=item.document,
            text=item.texts[0] if item.texts else None,
            files={kind: place for kind in plan.files if (place := plan.place(kind, number)) is not None},
            labels=tuple(plan.labels[number]),
            split=plan.splits[number] if item.split is not None else None,
            metadata=dict(item.metadata),
        )
        for number, item in enumerate(plan.items)
    }
    return Source(plan, items)


def _hash(parts: Sequence[Any]) -> str:
    written = json.dumps(parts, sort_keys=True, default=str, ensure_ascii=False)
    return hashlib.blake2b(written.encode("utf-8", "replace"), digest_size=12).hexdigest()


def _comparable(value: Any) -> Any:  # noqa: ANN401 - whatever a cell holds
    """A value apart from its type, which is the column's: one new row may turn all whole numbers into decimal ones."""
    try:
        return value if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return value


MOST_CHANGED = 0.2
"""The share of items that may be new, changed or gone before the model is fitted again."""
MOST_RELABELLED = 0.05
"""The share of known items that may have other labels before the model is fitted again."""

_BATCH, _REMOVED_AT_ONCE = 16, 256
_SIDES = (*KINDS, "text")
_SET_BY_INDEX = ("id", "modality", *map(media_column, KINDS), "has_media")
"""Names that a column may have and metadata may not."""


@dataclass(frozen=True)
class Changes:
    """The changes that bring an index in step with the source.

    Attributes:
        written: items that are new or have changed.
        new: how many of them are new.
        removed: ids of items that are gone.
    """

    written: Sequence[SourceItem]
    new: int
    removed: Sequence[str]

    def __bool__(self) -> bool:
        return bool(self.written or self.removed)

    def __str__(self) -> str:
        counts = {"new": self.new, "changed": len(self.written) - self.new, "removed": len(self.removed)}
        return ", ".join(f"{count:,} {kind}" for kind, count in counts.items() if count) or "no change"


def changes_since(indexed: Mapping[str, str], items: Mapping[str, SourceItem]) -> Changes:
    """Compare the items there are with those that the index holds.

    Args:
        indexed: the signature of each item in the index.
        items: the items of the source.
    """
    written = [item for item in items.values() if indexed.get(item.id) != item.signature]
    return Changes(written, sum(item.id not in indexed for item in written), [id for id in indexed if id not in items])


def reason_to_fit_again(fitted: Mapping[str, FittedItem], items: Mapping[str, SourceItem]) -> str | None:
    """Say why the model has to be fitted again for the items there are now; None if it has not.

    The rule: a class has come or gone, more than 5 % of the known items have other labels, or more than 20 % of the
    items are new, changed or gone.

    Args:
        fitted: the items as the model saw them.
        items: the items of the source.
    """
    before = {label for known in fitted.values() for label in known.labels}
    now = {label for item in items.values() for label in item.labels}
    if before != now:
        kind, names = ("new", now - before) if now - before else ("no longer used", before - now)
        return f"the label {min(names)!r} is {kind}"
    known = [(fitted[id], item) for id, item in items.items() if id in fitted]
    relabelled = sum(set(old.labels) != set(item.labels) for old, item in known)
    if relabelled > MOST_RELABELLED * max(1, len(known)):
        return f"{relabelled:,} of {len(known):,} known items have other labels"
    differing = sum(old.content != item.content for old, item in known)
    differing += len(items) - len(known) + len(fitted) - len(known)
    if differing > MOST_CHANGED * max(1, len(fitted)):
        return f"{differing:,} items are new, changed or removed since it was fitted on {len(fitted):,}"
    return None


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

    A kill at any moment loses nothing: what is not noted is written again, which changes nothing. A file that cannot
    be read is told as a problem and tried again when its file changes; the item's text is found nevertheless.

    Args:
        changes: what to do.
        source: where files are read from.
        index: what is changed.
        manifest: where it is noted.
        problem: told what cannot be indexed, once for each file.
        progress: receives the progress.
        stopped: asked between batches; True ends the work early.
    """
    for start in range(0, len(changes.removed), _REMOVED_AT_ONCE):
        gone = changes.removed[start : start + _REMOVED_AT_ONCE]
        index.remove([entry_id(modality, id) for id in gone for modality in _SIDES])
        manifest.removed(gone)
    if not changes.written:
        return
    with reopen_source(source.root, source.plan.source_kind) as files:
        for start in range(0, len(changes.written), _BATCH):
            if stopped():
                return
            batch = changes.written[start : start + _BATCH]
            _write(batch, files, index, problem)
            manifest.changed(batch)
            progress("adding to the index", start + len(batch), len(changes.written))


def entries_of(item: SourceItem, files: MediaSource) -> list[NewItem]:
    """The entries of one item, with the metadata that building an index of it would give them.

    Raises:
        OSError: when one of its files cannot be read.
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
    for kind, place in item.files.items():
        found.append(NewItem(entry_id(kind, item.id), kind, files.read(place), metadata))
    return found


def _write(
    batch: Sequence[SourceItem], files: MediaSource, index: IndexWriter, problem: Callable[[Problem], None]
) -> None:
    """Write some items: together if all are well, else one entry at a time to find those at fault."""
    entries: list[NewItem] = []
    for item in batch:
        entries += _readable_entries(item, files, problem)
    written = {entry.id for entry in entries}
    try:
        index.add(entries, replace=True)
    except DiptychError:
        written = {entry.id for entry in entries if _written(entry, index, problem)}
    wanted = {entry_id(modality, item.id) for item in batch for modality in _SIDES}
    index.remove(sorted(wanted - written))  # the sides that an item no longer has


def _readable_entries(item: SourceItem, files: MediaSource, problem: Callable[[Problem], None]) -> list[NewItem]:
    with suppress(OSError, DiptychError):
        return entries_of(item, files)
    readable = {}
    for kind, place in item.files.items():
        try:
            files.read(place)
            readable[kind] = place
        except (OSError, DiptychError) as error:
            reason = f"cannot be read ({getattr(error, 'strerror', None) or error})"
            problem(Problem("picture", place.name, reason))
    return entries_of(replace(item, files=readable), files)


def _written(entry: NewItem, index: IndexWriter, problem: Callable[[Problem], None]) -> bool:
    try:
        index.add([entry], replace=True)
    except DiptychError as error:
        reason = str(error).removeprefix(f"item {entry.id!r} cannot be added: ")
        problem(Problem("text" if entry.kind == "text" else "picture", entry.id, reason))
        return False
    return True
