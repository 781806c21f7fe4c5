"""What counts as relevant on a split: a shared class, or the same document where there are no classes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any, Literal

import numpy as np

from diptych._core.errors import ConfigError, DataError
from diptych.data import Dataset, Labels, Partition
from diptych.evaluation import Denominator, expected_average_precision, expected_reciprocal_rank

Relevance = Literal["class", "document"]
RELEVANCES: tuple[Relevance, ...] = ("class", "document")
CUT = 50


@dataclass(frozen=True)
class Judged:
    """A split ready to be searched.

    Attributes:
        parts: the items that have each modality; their labels say what is relevant to what.
        relevance: what the labels stand for.
        notes: what a reader of the scores should know.
    """

    parts: Mapping[str, Partition]
    relevance: Relevance
    notes: tuple[str, ...]

    @property
    def directions(self) -> list[tuple[str, str]]:
        """All ordered pairs of modalities: who asks, and who is searched."""
        return list(permutations(self.parts, 2))


def direction_name(query_modality: str, gallery_modality: str) -> str:
    """The name of a direction in results, such as "image->text"."""
    return f"{query_modality}->{gallery_modality}"


def judge(dataset: Dataset, split: str, modalities: Sequence[str], relevance: Relevance = "class") -> Judged:
    """Take a split's items by modality, with labels that say which are relevant to each other.

    Raises:
        DataError: when the split has no item with one of the modalities.
    """
    if relevance not in RELEVANCES:
        raise ConfigError(f"relevance is {relevance!r}; choose one of {', '.join(RELEVANCES)}.")
    whole, notes = dataset.split(split), list[str]()
    if relevance == "class" and len(whole) and not whole.labels.is_labelled.any():
        relevance = "document"
        notes.append(f"no item of split '{split}' has a label, so an item of the same document counts as relevant")
    if relevance == "document":
        whole = whole.with_labels(Labels.from_identity(whole.documents.tolist()))
    parts = {name: whole.having(name) for name in modalities}
    for name, part in parts.items():
        if not len(part):
            raise DataError(f"{dataset.path} has no {split} item with {name}; choose another split.")
        if not part.labels.is_labelled.any():
            raise DataError(f"no {split} item with {name} has a label; score by document with --relevance document.")
    return Judged(parts, relevance, tuple(notes))


def chance_levels(judged: Judged, denominator: Denominator = "retrieved") -> dict[str, Any]:
    """What a random ranking scores: the average over directions, and each direction's own level."""
    levels: dict[str, Any] = {}
    for asking, searched in judged.directions:
        queries = judged.parts[asking].labelled().labels
        gallery = judged.parts[searched].labelled().labels
        relevant = queries.shared_counts(gallery)
        levels[direction_name(asking, searched)] = {
            name: float(expected_average_precision(relevant, len(gallery), k, denominator).mean())
            for name, k in (("map", None), (f"map@{CUT}", CUT))
        }
    names = ("map", f"map@{CUT}")
    return {name: sum(level[name] for level in levels.values()) / len(levels) for name in names} | levels


def partner_chance(judged: Judged) -> float | None:
    """The mean reciprocal rank of an item's own partner in a random ranking, averaged over the directions.

    None where no item has a partner.
    """
    levels = []
    for asking, searched in judged.directions:
        gallery = judged.parts[searched].documents
        documents, sizes = np.unique(gallery, return_counts=True)
        asked = judged.parts[asking].documents
        place = np.minimum(np.searchsorted(documents, asked), len(documents) - 1)
        partners = np.where(documents[place] == asked, sizes[place], 0)
        if partners.any():
            levels.append(expected_reciprocal_rank(partners[partners > 0], len(gallery)))
    return sum(levels) / len(levels) if levels else None
