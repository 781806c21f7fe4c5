"""The spaces of an index's vectors: how a query asks in one, and which models have one.

A vector of a model with two spaces is both parts side by side, scaled to length 1. A part has the same length in all
vectors, so a query with zeros in the columns of the other space ranks exactly as the one space alone would. Its score
is the cosine in that space times the part's length, and is divided by it.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from itertools import permutations
from typing import Any

import numpy as np

from diptych._core.arrays import Booleans, Features, Singles
from diptych._core.errors import ConfigError
from diptych._core.files import checked_fields
from diptych._core.seeding import generator
from diptych.data import Dataset, Partition
from diptych.methods import Method
from diptych.methods.purposes import Purpose, columns_of, purposes_of, settled_purpose

_TOLERANCE, _FIRST_ITEMS, _ITEMS, _SOME = 1e-4, 64, 8, 5_000


@dataclass(frozen=True)
class IndexSpaces:
    """Which columns of an index's vectors belong to which space; all empty where the model has a single space.

    Attributes:
        purpose: what the model embeds the items for.
        widths: the columns of each space in the index, in order.
        shares: the length of each space's part in a vector of length 1.
    """

    purpose: Purpose | None = None
    widths: Mapping[str, int] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, model: Method, dataset: Dataset, purpose: Purpose = "auto") -> "IndexSpaces":
        """The spaces of an index of this model for a purpose; "auto" takes all that the model has.

        Raises:
            ConfigError: for a purpose the model cannot serve, or parts of unequal length.
        """
        settled = model.settle_purpose(purpose, auto="both")
        if settled is None:
            return cls()
        widths = {name: width for name, width in model.spaces.items() if settled in (name, "both")}
        rows = [
            model.embed(name, first.features(name), settled)
            for name in model.modalities
            if len(first := _first(dataset, name))
        ]
        return cls(settled, widths, dict.fromkeys(widths, 1.0))._measured(np.concatenate(rows))

    @property
    def purposes(self) -> tuple[Purpose, ...]:
        """What a query may ask for."""
        return purposes_of(self.widths)

    @property
    def embedded_for(self) -> Purpose:
        """The purpose to embed items and queries for."""
        return self.purpose or "auto"

    def settle(self, purpose: Purpose = "auto") -> Purpose | None:
        """The purpose that a query means; "auto" takes all spaces of the index.

        Raises:
            ConfigError: for a purpose this index cannot serve.
        """
        remedy = "build the index of a model with both spaces by `diptych index --purpose both`"
        return settled_purpose(self.widths, purpose, auto="both", model="this index", remedy=remedy)

    def columns(self, purpose: str | None) -> slice:
        """The columns of a space; all of them for "both"."""
        return columns_of(self.widths, purpose)

    def narrowed(self, row: Singles, purpose: str | None) -> Singles:
        """A vector with zeros outside the columns of a space."""
        if not self.narrows(purpose):
            return row
        columns, kept = self.columns(purpose), np.zeros_like(row)
        kept[columns] = row[columns]
        return kept

    def narrows(self, purpose: str | None) -> bool:
        """Whether a query for a purpose has zeros in some columns, so that every vector has to be compared with it."""
        return len(self.widths) > 1 and self.columns(purpose) != slice(None)

    def share(self, purpose: str | None) -> float:
        """What the score of a query in one space is divided by to become the cosine there."""
        return self.shares[purpose or ""] if self.narrows(purpose) else 1.0

    def complete(self, rows: Singles) -> Booleans:
        """Which rows have a finite direction in every space.

        Raises:
            ConfigError: when a part of such a row is longer or shorter than those of others.
        """
        lengths = self._lengths(rows)
        fine = np.isfinite(lengths).all(axis=1) & (lengths > 0).all(axis=1)
        self._check(lengths[fine])
        return np.asarray(fine)

    def some_embeddings(self, model: Method, dataset: Dataset, seed: int) -> Singles:
        """The embeddings of some items of each modality, such as binary codes are learned from."""
        rows = []
        for name in model.modalities:
            part = dataset.everything.having(name)
            some = np.sort(generator(seed, "some embeddings", name).permutation(len(part))[:_SOME])
            rows.append(model.embed(name, part.take(some).features(name), self.embedded_for))
        embeddings = np.concatenate(rows)
        return embeddings[self.complete(embeddings)]

    def to_json(self) -> dict[str, Any]:
        """All of it; empty where there is a single space."""
        return asdict(self) if self.widths else {}

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> "IndexSpaces":
        """What `to_json` wrote, or nothing, as earlier versions did."""
        return checked_fields(cls(**written))

    def _lengths(self, rows: Singles) -> Singles:
        columns = [columns_of(self.widths, name) for name in self.widths] or [slice(None)]
        parts = [rows[:, each].astype(np.float64) for each in columns]
        return np.stack([np.linalg.norm(part, axis=1) for part in parts], axis=1)

    def _measured(self, rows: Singles) -> "IndexSpaces":
        lengths = self._lengths(rows)
        lengths = lengths[np.isfinite(lengths).all(axis=1) & (lengths > 0).all(axis=1)]
        if not len(lengths):
            raise ConfigError("none of the first items has a direction in the model's spaces; give another dataset.")
        shares = np.median(lengths / np.linalg.norm(lengths, axis=1, keepdims=True), axis=0)
        measured = IndexSpaces(self.purpose, self.widths, dict(zip(self.widths, shares.tolist(), strict=True)))
        measured._check(lengths)
        return measured

    def _check(self, lengths: Singles) -> None:
        if len(self.widths) < 2 or not len(lengths):
            return
        shares = lengths / np.linalg.norm(lengths, axis=1, keepdims=True)
        if np.abs(shares - list(self.shares.values())).max() > _TOLERANCE:
            raise ConfigError(
                f"the parts of this model's embeddings ({', '.join(self.widths)}) differ in length from row to row, so "
                "no space can be searched alone; index one of them with --purpose."
            )


def _first(dataset: Dataset, modality: str) -> Partition:
    part = dataset.everything.having(modality)
    return part.take(np.arange(min(_FIRST_ITEMS, len(part))))


def check_indexable(model: Method, dataset: Dataset) -> None:
    """Refuse a model that has no single space, or does not compare by cosine.

    A method may override `represent`; where what it compares is not simply the embeddings of both sides, an item has
    one vector for each direction, and no index can hold it.
    """
    name = model.registry_name
    if model.similarity != "cosine":
        raise ConfigError(
            f"this '{name}' model compares embeddings by {model.similarity} product, and an index by cosine; fit it "
            "with a setting that uses cosine."
        )
    for query, gallery in permutations(model.modalities, 2):
        part = dataset.everything.having(query, gallery)
        part = part.take(np.arange(min(_ITEMS, len(part))))
        if not len(part):
            continue
        if not compares_embeddings(model, query, gallery, part.features(query), part.features(gallery)):
            raise ConfigError(
                f"this '{name}' model compares {query} with {gallery} in another space than {gallery} with {query}, so "
                "its items have no single vector to index; use another method, or a setting with one joint space."
            )


def whole_purpose(model: Method) -> Purpose:
    """The purpose for which a model gives all columns of its embeddings."""
    return model.settle_purpose(auto="both") or "auto"


def compares_embeddings(model: Method, query: str, gallery: str, asked: Features, kept: Features) -> bool:
    """Whether what a model compares in one direction is the embeddings of both sides, on some rows of each."""
    if type(model).represent is Method.represent:
        return True
    purpose = whole_purpose(model)
    compared = model.represent(query, gallery, asked, kept, purpose)
    plain = model.embed(query, asked, purpose), model.embed(gallery, kept, purpose)
    return all(np.array_equal(a, b) for a, b in zip(compared, plain, strict=True))
