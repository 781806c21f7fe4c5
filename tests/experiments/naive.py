"""Mean average precision by plain loops, as anybody would write it; knows nothing of the library."""

import numpy as np


def naive_map(queries, gallery, query_labels, gallery_labels, k=None) -> float:
    """MAP@k, divided by the hits inside the list; labels are sets, and whatever has none is left out."""
    gallery_kept = [j for j, labels in enumerate(gallery_labels) if labels]
    scores = []
    for i, labels in enumerate(query_labels):
        if not labels:
            continue
        cosines = [cosine(queries[i], gallery[j]) for j in gallery_kept]
        order = sorted(range(len(gallery_kept)), key=lambda place: -cosines[place])
        hits, total = 0, 0.0
        for rank, place in enumerate(order[:k], start=1):
            if labels & gallery_labels[gallery_kept[place]]:
                hits += 1
                total += hits / rank
        scores.append(total / hits if hits else 0.0)
    return float(np.mean(scores))


def cosine(a, b) -> float:
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    length = np.sqrt(a @ a) * np.sqrt(b @ b)
    return float(a @ b / length) if length else 0.0


def label_sets(part) -> list[set[str]]:
    """The class names of a partition's items."""
    matrix = part.labels.matrix.toarray()
    return [{part.labels.classes[c] for c in np.flatnonzero(row)} for row in matrix]
