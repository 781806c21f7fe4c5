"""Draw pairs of a query and a gallery item, from which calibration learns."""

from dataclasses import dataclass

import numpy as np

from diptych._core.arrays import Booleans, Floats, Integers, Singles
from diptych.data import Labels, Partition

MOST_PAIRS = 200_000
_MOST_QUERIES = 2_000
_TABLE = 4_000_000


@dataclass(frozen=True)
class Side:
    """The items of one modality, as queries or as what is searched.

    Attributes:
        modality: which one.
        embeddings: one row of length 1 an item.
        labels: items that share one belong together.
        items: which item of the dataset each row is; none is paired with itself in its own modality.
    """

    modality: str
    embeddings: Floats
    labels: Labels
    items: Integers

    @classmethod
    def of(cls, modality: str, part: Partition, embeddings: Singles) -> "Side":
        """The items that have a direction and at least one label."""
        lengths = np.linalg.norm(embeddings.astype(np.float64), axis=1)
        usable = (lengths > 0) & np.isfinite(lengths) & part.labels.is_labelled
        rows = embeddings[usable].astype(np.float64) / lengths[usable, None]
        return cls(modality, rows, part.labels.take(usable), part.index[usable])

    def narrowed(self, columns: slice) -> "Side":
        """The items in the space of some columns; those without a direction there are left out."""
        if columns == slice(None):
            return self
        rows = self.embeddings[:, columns]
        lengths = np.linalg.norm(rows, axis=1)
        usable = lengths > 0
        rows = rows[usable] / lengths[usable, None]
        return Side(self.modality, rows, self.labels.take(usable), self.items[usable])

    def judged_by(self, part: Partition) -> "Side":
        """The items that have a label in a partition of them, with these labels."""
        order = np.argsort(part.index)
        labels = part.labels.take(order[np.searchsorted(part.index, self.items, sorter=order)])
        labelled = labels.is_labelled
        return Side(self.modality, self.embeddings[labelled], labels.take(labelled), self.items[labelled])

    def __len__(self) -> int:
        return len(self.items)

    def take(self, chosen: Integers | Booleans) -> "Side":
        """Some of the items."""
        return Side(self.modality, self.embeddings[chosen], self.labels.take(chosen), self.items[chosen])


@dataclass(frozen=True)
class Pairs:
    """Pairs of a query and an item, drawn so that their weights stand for all pairs.

    Attributes:
        cosines: of each pair.
        relevant: whether its two belong together.
        weights: how many pairs it stands for.
    """

    cosines: Floats
    relevant: Booleans
    weights: Floats

    def __len__(self) -> int:
        return len(self.cosines)

    def joined(self, others: "Pairs", scale: float) -> "Pairs":
        """These pairs, their weights scaled, and others."""
        return Pairs(
            np.concatenate([others.cosines, self.cosines]),
            np.concatenate([others.relevant, self.relevant]),
            np.concatenate([others.weights, self.weights * scale]),
        )

    @property
    def relevant_share(self) -> float:
        """The share of all pairs that belong together."""
        return float(np.average(self.relevant, weights=self.weights)) if len(self) else 0.0

    @property
    def tell_anything(self) -> bool:
        """Whether there are both: pairs that belong together and pairs that do not."""
        return bool(self.relevant.any() and not self.relevant.all())


def draw_pairs(queries: Side, gallery: Side, random: np.random.Generator, most: int = MOST_PAIRS) -> Pairs:
    """Draw pairs of a query and a gallery item, half of them relevant where there are so many.

    At most 2,000 queries are drawn, each with the whole gallery. Relevant and other pairs are drawn apart and weighed
    by how many there were of each, so that rare partners are all seen and the shares stay right.
    """
    asked = queries.take(random.permutation(len(queries))[:_MOST_QUERIES])
    step = max(1, _TABLE // max(1, len(gallery)))
    blocks = range(0, len(asked), step)
    quota = max(2, most // max(1, len(blocks)))
    drawn = [_of_block(asked.take(np.arange(i, min(i + step, len(asked)))), gallery, random, quota) for i in blocks]
    if not drawn:
        return Pairs(np.zeros(0), np.zeros(0, np.bool_), np.zeros(0))
    return Pairs(
        np.concatenate([pairs.cosines for pairs in drawn]),
        np.concatenate([pairs.relevant for pairs in drawn]),
        np.concatenate([pairs.weights for pairs in drawn]),
    )


def itself(queries: Side, gallery: Side) -> Booleans:
    """The pairs of an item with itself, which nobody asks about: only where both are of one modality."""
    if queries.modality != gallery.modality:
        return np.zeros((len(queries), len(gallery)), np.bool_)
    return np.asarray(queries.items[:, None] == gallery.items[None, :])


def _of_block(queries: Side, gallery: Side, random: np.random.Generator, quota: int) -> Pairs:
    shared, own = queries.labels.shared_with(gallery.labels), itself(queries, gallery)
    relevant, others = np.flatnonzero(shared & ~own), np.flatnonzero(~shared & ~own)
    with_partner = min(len(relevant), max(quota // 2, quota - len(others)))
    without = min(len(others), quota - with_partner)
    picked = [_some(relevant, with_partner, random), _some(others, without, random)]
    table = (queries.embeddings @ gallery.embeddings.T).ravel()
    counts = np.array([len(relevant), len(others)]) / np.maximum(1, [with_partner, without])
    return Pairs(
        table[np.concatenate(picked)],
        np.repeat([True, False], [with_partner, without]),
        np.repeat(counts, [with_partner, without]),
    )


def _some(places: Integers, count: int, random: np.random.Generator) -> Integers:
    if count == len(places):
        return places
    return np.asarray(random.choice(places, count, replace=False, shuffle=False))
