"""What differs between the files and the index, and when that is enough to fit the model again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from diptych.up.manifest import Fitted
from diptych.up.source import SourceItem

MOST_CHANGED = 0.2
"""The share of items that may be new, changed or gone before the model is fitted again."""
MOST_RELABELLED = 0.05
"""The share of known items that may have other labels before the model is fitted again."""


@dataclass(frozen=True)
class Changes:
    """What has to be done to an index so that it holds what the source holds.

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


def reason_to_fit_again(fitted: Mapping[str, Fitted], items: Mapping[str, SourceItem]) -> str | None:
    """Why a model fitted on some items serves the items there are no longer; None as long as it does.

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
        return f"{differing:,} items are new, changed or gone since it was fitted on {len(fitted):,}"
    return None
