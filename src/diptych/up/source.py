"""The items that a path gives now, each with a signature that changes when any part of the item does."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from diptych.ingest import IngestOptions, Plan, plan_ingest
from diptych.media import Place


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
    return Source(plan, {item.id: item for item in _items(plan)})


def _items(plan: Plan) -> Sequence[SourceItem]:
    found = []
    for number, item in enumerate(plan.items):
        found.append(
            SourceItem(
                id=item.id,
                document=item.document,
                text=item.texts[0] if item.texts else None,
                files={kind: place for kind in plan.files if (place := plan.place(kind, number)) is not None},
                labels=tuple(plan.labels[number]),
                split=plan.splits[number] if item.split is not None else None,
                metadata=dict(getattr(item, "metadata", None) or {}),
            )
        )
    return found


def _hash(parts: Sequence[Any]) -> str:
    written = json.dumps(parts, sort_keys=True, default=str, ensure_ascii=False)
    return hashlib.blake2b(written.encode("utf-8", "replace"), digest_size=12).hexdigest()


def _comparable(value: Any) -> Any:  # noqa: ANN401 - whatever a cell holds
    """A value apart from its type, which is the column's: one new row may turn all whole numbers into decimal ones."""
    try:
        return value if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return value
