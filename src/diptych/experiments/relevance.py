"""Decide what counts as relevant on a split, and in which of a model's spaces each measure is taken."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any, Literal

import numpy as np

from diptych._core.errors import ConfigError, DataError
from diptych.data import Dataset, Labels, Partition
from diptych.evaluation import expected_average_precision, expected_reciprocal_rank
from diptych.methods.base import Method
from diptych.methods.purposes import Purpose

Relevance = Literal["class", "document"]
RELEVANCES: tuple[Relevance, ...] = ("class", "document")
CUT = 50

MOST_DIRECTIONS = 2
"""Beyond so many directions a table of methods shows averages, and each direction has a place of its own below it."""


@dataclass(frozen=True)
class Judgements:
    """The items of a split by modality, and what is relevant to what.

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
        """All ordered pairs of modalities: of the queries, and of the gallery."""
        return list(permutations(self.parts, 2))


def direction_name(query_modality: str, gallery_modality: str) -> str:
    """The name of a direction in results, such as "image->text"."""
    return f"{query_modality}->{gallery_modality}"


def directions_of(results: Mapping[str, Any]) -> list[str]:
    """The directions that a comparison's results speak of, in order."""
    return [name for name in results["chance"] if "->" in name]


def columns_of_scores(results: Mapping[str, Any]) -> list[str]:
    """The columns of a table of methods: each direction where there are few, and the average."""
    directions = directions_of(results)
    return [*(directions if len(directions) <= MOST_DIRECTIONS else []), "average"]


def relevance_judgements(
    dataset: Dataset, split: str, modalities: Sequence[str], relevance: Relevance = "class"
) -> Judgements:
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
    return Judgements(parts, relevance, tuple(notes))


def chance_levels(judgements: Judgements) -> dict[str, Any]:
    """What a random ranking scores: the average over directions, and each direction's own level.

    A direction's "mrr" is that of an item's own partner, None where no item has one; see `partner_chance` for the mean.
    """
    levels: dict[str, Any] = {}
    for query_modality, gallery_modality in judgements.directions:
        queries = judgements.parts[query_modality].labelled().labels
        gallery = judgements.parts[gallery_modality].labelled().labels
        relevant = queries.shared_counts(gallery)
        levels[direction_name(query_modality, gallery_modality)] = {
            name: float(expected_average_precision(relevant, len(gallery), k).mean())
            for name, k in (("map", None), (f"map@{CUT}", CUT))
        } | {"mrr": partner_level(judgements, query_modality, gallery_modality)}
    names = ("map", f"map@{CUT}")
    return {name: sum(level[name] for level in levels.values()) / len(levels) for name in names} | levels


def partner_chance(judgements: Judgements) -> float | None:
    """The mean reciprocal rank of an item's own partner in a random ranking, averaged over the directions.

    None where no item has a partner.
    """
    found = [partner_level(judgements, *direction) for direction in judgements.directions]
    levels = [level for level in found if level is not None]
    return sum(levels) / len(levels) if levels else None


def partner_level(judgements: Judgements, query_modality: str, gallery_modality: str) -> float | None:
    """The mean reciprocal rank of an item's own partner in a random ranking of one direction; None without partners."""
    gallery, asked = judgements.parts[gallery_modality].documents, judgements.parts[query_modality].documents
    documents, sizes = np.unique(gallery, return_counts=True)
    place = np.minimum(np.searchsorted(documents, asked), len(documents) - 1)
    partners = np.where(documents[place] == asked, sizes[place], 0)
    return expected_reciprocal_rank(partners[partners > 0], len(gallery)) if partners.any() else None


@dataclass(frozen=True)
class MeasuredSpaces:
    """The purposes a model's scores were measured with; None where it has a single space.

    Attributes:
        main: of MAP and its kin.
        instance: of the search for an item's own partner.
    """

    main: Purpose | None
    instance: Purpose | None

    @classmethod
    def of(cls, method: Method, purpose: Purpose, relevance: Relevance) -> "MeasuredSpaces":
        """Decide: "auto" measures classes in the class space and partners in the partner space.

        Where relevance is by document, MAP looks for partners too.
        """
        main: Purpose = "class" if relevance == "class" else "partner"
        return cls(method.settle_purpose(purpose, auto=main), method.settle_purpose(purpose, auto="partner"))


def spaces_in_words(main: str | None, instance: str | None) -> str:
    """The spaces of MAP and of the partner measures for a note; empty where there is nothing to tell.

    >>> spaces_in_words("class", "partner")
    'MAP is measured in the class space, MRR and R@k in the partner space'
    """
    if main is None or instance is None:
        return ""
    if main == instance:
        return f"MAP, MRR and R@k are measured in {_space(main)}"
    return f"MAP is measured in {_space(main)}, MRR and R@k in {_space(instance)}"


def space_notes(results: Mapping[str, Any]) -> list[str]:
    """One sentence for each of a comparison's methods that has several spaces."""
    notes = {
        name: spaces_in_words(block.get("purpose"), block.get("instance_purpose"))
        for name, block in results["methods"].items()
    }
    return [f"{name}: {note}" for name, note in notes.items() if note]


def _space(purpose: str) -> str:
    return "both spaces side by side" if purpose == "both" else f"the {purpose} space"
