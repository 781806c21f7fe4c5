"""How many propagated labels are right: `python -m benchmarks.propagated_labels DATASET...`.

Only here the labels that a protocol withholds are looked at, after propagation, to count. The second table is what the
defaults of `diptych.methods.propagation` were chosen by.
"""

import argparse
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from diptych.data import Dataset, Protocol, training_data
from diptych.methods.propagation import ALPHA, NEIGHBOURS, affinity_graph, pair_embeddings, spread_labels

COUNTS = (1, 2, 5, 10, 20, 50)
GRID = [(k, alpha) for k in (5, 10, 20, 50) for alpha in (0.9, 0.95, 0.99)]


class Measured:
    """One dataset's training pairs, and what propagation makes of them."""

    def __init__(self, dataset: Dataset, seeds: Iterable[int]) -> None:
        self._dataset = dataset
        self._seeds = tuple(seeds)
        data = training_data(dataset)
        self._paired = np.logical_and.reduce([data.train.has(name) for name in data.modalities])
        self._true = data.train.labels.take(self._paired).codes
        self._codes = pair_embeddings(data)
        self._graphs = {k: affinity_graph(self._codes, k) for k in {k for k, _ in GRID} | {NEIGHBOURS}}

    def share_right(self, count: int, neighbours: int = NEIGHBOURS, alpha: float = ALPHA) -> tuple[float, float, float]:
        """Over seeds: the mean share of propagated labels that are right, its deviation, the mean confidence."""
        right, confidence = [], []
        for seed in self._seeds:
            kept = training_data(self._dataset, Protocol(labels_per_class=count, seed=seed)).train.labels
            given = kept.take(self._paired).shares
            shares = spread_labels(self._graphs[neighbours], given, alpha)
            fresh = shares.any(axis=1) & ~given.any(axis=1) & (self._true >= 0)
            right.append((shares.argmax(axis=1) == self._true)[fresh].mean())
            confidence.append(shares[fresh].max(axis=1).mean())
        return float(np.mean(right)), float(np.std(right, ddof=1)), float(np.mean(confidence))


def main() -> None:
    """Print both tables for every dataset named."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("datasets", nargs="+", type=Path)
    arguments.add_argument("--seeds", type=int, default=5, help="how many draws of labels")
    asked = arguments.parse_args()
    for folder in asked.datasets:
        dataset = Dataset.open(folder)
        measured = Measured(dataset, range(asked.seeds))
        print(f"\n{dataset.name}, {asked.seeds} seeds\n\n| labels per class | right | confidence |\n|---:|---:|---:|")
        for count in COUNTS:
            right, spread, confidence = measured.share_right(count)
            print(f"| {count} | {right:.3f} ± {spread:.3f} | {confidence:.3f} |")
        print(f"\n| k, α | {' | '.join(map(str, COUNTS))} |\n|---|{'---:|' * len(COUNTS)}")
        for neighbours, alpha in GRID:
            cells = [f"{measured.share_right(count, neighbours, alpha)[0]:.3f}" for count in COUNTS]
            print(f"| {neighbours}, {alpha} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
