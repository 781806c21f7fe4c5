"""Visual words: centres of descriptors, learned once from a sample of them, and the nearest one of any descriptor."""

from collections.abc import Iterable

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from diptych._core.arrays import Integers, Singles
from diptych._core.errors import FitError
from diptych._core.seeding import generator

_CHUNK = 4096
_BATCH = 4096
_PASSES = 15


def sample_descriptors(batches: Iterable[Singles], size: int, *, seed: int = 0) -> Singles:
    """Keep a uniform sample of a stream of rows, in memory that the stream's length does not change.

    Vitter's algorithm R: row t (from 0) takes a random place of 0…t, and stays if that place is one of the sample's.
    """
    random = generator(seed, "descriptor sample")
    sample: Singles | None = None
    seen = 0
    for batch in batches:
        if sample is None:
            sample = np.empty((size, batch.shape[1]), dtype=np.float32)
        first = min(max(size - seen, 0), len(batch))
        sample[seen : seen + first] = batch[:first]
        late = np.arange(seen + first, seen + len(batch))
        places = (random.random(len(late)) * (late + 1)).astype(np.int64)
        stays = places < size
        sample[places[stays]] = batch[first:][stays]
        seen += len(batch)
    return np.empty((0, 0), dtype=np.float32) if sample is None else sample[:seen]


def learn_words(sample: Singles, words: int, *, seed: int = 0) -> Singles:
    """Cluster a sample into words by mini-batch k-means (Sculley 2010); the centres are the words.

    Where patches without contrast (rows of zeros) occur, they are a word of their own, the last: there are too many
    of them to leave to the clustering, which would spend several words on the same point.

    Raises:
        FitError: when there are fewer descriptors than words.
    """
    textured = sample[sample.any(axis=1)]
    flat_words = int(len(textured) < len(sample) and words > 1)
    if len(textured) < words - flat_words:
        raise FitError(
            f"{len(textured)} descriptors cannot make {words} visual words; give more pictures or fewer words."
        )
    kmeans = MiniBatchKMeans(
        n_clusters=words - flat_words,
        batch_size=_BATCH,
        max_iter=_PASSES,
        init_size=max(3 * words, _BATCH),
        n_init=1,
        random_state=int(generator(seed, "visual words").integers(2**31)),
    )
    centres = kmeans.fit(textured).cluster_centers_
    return np.pad(np.asarray(centres, dtype=np.float32), ((0, flat_words), (0, 0)))


def nearest_words(descriptors: Singles, words: Singles) -> Integers:
    """The index of each descriptor's nearest word: argmin |x − c|² = argmax (x·c − |c|²/2), a chunk at a time."""
    half_norms = 0.5 * np.einsum("ij,ij->i", words, words)
    nearest = np.empty(len(descriptors), dtype=np.int64)
    for start in range(0, len(descriptors), _CHUNK):
        closeness = descriptors[start : start + _CHUNK] @ words.T
        closeness -= half_norms
        nearest[start : start + _CHUNK] = closeness.argmax(axis=1)
    return nearest
