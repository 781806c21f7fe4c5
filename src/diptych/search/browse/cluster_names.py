"""Names for the parts of a layout that have no labels: the words that their texts hold more often than all others.

At every zoom the items are parted by k-means on their positions, four times as many parts at each level as at the one
before, as four times as many would be in sight. A word's weight in a part is the log-odds ratio of its documents there
against those elsewhere with an informative Dirichlet prior, divided by its standard deviation (Monroe, Colaresi and
Quinn, "Fightin' Words", Political Analysis 2008): frequent words that are everywhere weigh nothing, and rare ones need
evidence.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from diptych._core.arrays import Booleans, Floats, Integers, Singles, Sparse
from diptych.features.text import tokenise
from diptych.index import Index
from diptych.search.browse import Catalogue

FIRST_PARTS, GROWTH, LEVELS = 10, 4, 4
"""Parts at the first level, how many times as many there are at the next one, and how many levels there are at most."""
LEAST_ITEMS = 6
"""Items that a part has on average, at least."""
WORDS = 2
LEAST_WEIGHT, LEAST_OF_FIRST = 2.0, 0.5
"""What a word that names a part weighs at least, and how much of the weight of the part's first word."""
MOST_TEXTS_WITH = 0.9
"""Of all texts: what more of them hold tells nothing."""
LEAST_SHARE = 0.15
"""Of a part's texts, so many hold a word that names it, at least."""
MOST_TEXTS = 50_000
_MOST_PRIOR, _PRIOR_SHARE = 50.0, 0.1
"""The prior weighs as much as so many texts, or as this share of all, whichever is less."""
_MOST_CHANGED, _PAGE = 0.02, 2_000
_ROUNDS, _LEARNED_BY = 12, 16
"""Of k-means, and how many items of each part it is fitted on."""


@dataclass(frozen=True)
class ClusterName:
    """A name on the layout.

    Attributes:
        level: the zoom it is for: 0 is the whole layout, each further level twice as near.
        x: where it stands.
        y: the same.
        count: how many items it is about.
        words: the name.
    """

    level: int
    x: float
    y: float
    count: int
    words: str


class ClusterNames:
    """The names on the layout of one index, kept until more than a fiftieth of its items have changed.

    Args:
        index: where the texts of items are.
        catalogue: tells how much has changed.
    """

    def __init__(self, index: Index, catalogue: Catalogue) -> None:
        self._index, self._catalogue = index, catalogue
        self._made: tuple[int, Sequence[ClusterName]] | None = None
        self._lock = threading.Lock()

    def of(self, ids: Sequence[str], positions: Singles, unlabelled: Booleans) -> Sequence[ClusterName]:
        """The names for the items of a layout that have no label."""
        with self._lock:
            last = self._catalogue.last_change
            if self._made is None or last - self._made[0] > _MOST_CHANGED * len(ids):
                self._made = last, self._names(ids, positions, unlabelled)
            return self._made[1]

    def _names(self, ids: Sequence[str], positions: Singles, unlabelled: Booleans) -> Sequence[ClusterName]:
        if unlabelled.sum() < 2 * LEAST_ITEMS:
            return ()
        some = np.arange(0, len(ids), -(-len(ids) // MOST_TEXTS))
        chosen = [ids[at] for at in some.tolist()]
        texts: list[str] = []
        for start in range(0, len(chosen), _PAGE):
            found = self._index.get(chosen[start : start + _PAGE])
            texts += ["" if item is None else str(item.metadata.get("text") or "") for item in found]
        return cluster_names(positions[some], texts, unlabelled[some])


def cluster_names(positions: Singles, texts: Sequence[str], unlabelled: Booleans) -> list[ClusterName]:
    """Name the parts of a layout at every zoom.

    Args:
        positions: of all items, a row of two numbers each.
        texts: of all items, empty where one has none.
        unlabelled: which items the names are for; the others' texts are what theirs differ from, too.
    """
    counts, words = word_counts(texts)
    places = np.flatnonzero(unlabelled)
    if not len(words) or not len(places):
        return []
    found = []
    for level in range(LEVELS):
        parts = min(FIRST_PARTS * GROWTH**level, len(places) // LEAST_ITEMS)
        if parts < 2 or (level and parts < 2 * FIRST_PARTS * GROWTH ** (level - 1)):
            break
        of = parted(positions[places], parts)
        members = sp.csr_array((np.ones(len(places)), (of, places)), shape=(parts, len(texts)))
        sizes = np.bincount(of, minlength=parts)
        centres = (members @ positions.astype(np.float64)) / np.maximum(sizes, 1)[:, None]
        for part, name in enumerate(_named(counts, members, words)):
            if name:
                x, y = centres[part].round(4).tolist()
                found.append(ClusterName(level, x, y, int(sizes[part]), name))
    return found


def word_counts(texts: Sequence[str]) -> tuple[Sparse, list[str]]:
    """Which texts hold which words, as a matrix of ones, and the words: those in two texts or more, but not in all."""
    numbers: dict[str, int] = {}
    columns, lengths = [], []
    for text in texts:
        held = {word for word in tokenise(text) if not word.isdecimal()}
        columns += [numbers.setdefault(word, len(numbers)) for word in sorted(held)]
        lengths.append(len(held))
    starts = np.concatenate([[0], np.cumsum(lengths)])
    counts = sp.csr_array((np.ones(len(columns)), columns, starts), shape=(len(texts), len(numbers)))
    held_by = np.bincount(np.asarray(columns, np.int64), minlength=len(numbers))
    telling = np.flatnonzero((held_by > 1) & (held_by <= MOST_TEXTS_WITH * len(texts)))
    words = list(numbers)
    return sp.csr_array(counts[:, telling]), [words[at] for at in telling]


def parted(positions: Singles, parts: int) -> Integers:
    """The part that each position is in; the same positions are parted alike every time."""
    from sklearn.cluster import KMeans  # slow to import, and few layouts need it

    step = max(1, len(positions) // (_LEARNED_BY * parts))
    rows = np.ascontiguousarray(positions, np.float32)
    found = KMeans(parts, n_init=1, max_iter=_ROUNDS, random_state=0).fit(rows[::step])
    return np.asarray(found.predict(rows), np.int64)


def word_weights(counts: Sparse, members: Sparse) -> Sparse:
    """The weight of each word that a part's texts hold: its log-odds ratio over the standard deviation of that.

    Args:
        counts: which texts hold which words.
        members: which texts each part has.
    """
    inside = sp.coo_array(members @ counts)
    part, word = inside.coords
    here, everywhere = _floats(inside.data), _floats(counts.sum(axis=0))
    texts, sizes = counts.shape[0], _floats(members.sum(axis=1))[part]
    strength = min(_MOST_PRIOR, _PRIOR_SHARE * texts)
    elsewhere, others = everywhere[word] - here, texts - sizes
    prior = strength * everywhere[word] / texts
    ratio = _log_odds(here + prior, sizes + strength) - _log_odds(elsewhere + prior, others + strength)
    weights = ratio / np.sqrt(1 / (here + prior) + 1 / (elsewhere + prior))
    weights[here < np.maximum(2, LEAST_SHARE * sizes)] = 0.0
    return sp.csr_array((weights, (part, word)), shape=inside.shape)


def _floats(values: object) -> Floats:
    return np.asarray(values, np.float64).ravel()


def _log_odds(with_word: Floats, texts: Floats) -> Floats:
    return np.asarray(np.log(with_word) - np.log(np.maximum(texts - with_word, 0.5)))


def _named(counts: Sparse, members: Sparse, words: Sequence[str]) -> list[str]:
    """The words of the largest weights of each part, the largest first; empty where none is large enough."""
    weights = sp.coo_array(word_weights(counts, members))
    part, word = weights.coords
    order = np.lexsort((word, -weights.data, part))
    order = order[weights.data[order] >= LEAST_WEIGHT]
    first = np.searchsorted(part[order], part[order])
    rank, best = np.arange(len(order)) - first, weights.data[order[first]]
    chosen = order[(rank < WORDS) & (weights.data[order] >= LEAST_OF_FIRST * best)]
    names: list[list[str]] = [[] for _ in range(weights.shape[0])]
    for at in chosen.tolist():
        names[part[at]].append(words[word[at]])
    return [" · ".join(some) for some in names]
