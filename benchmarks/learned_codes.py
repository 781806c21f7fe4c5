"""What `quantisation` gives to binary codes: `python -m benchmarks.learned_codes DATASET...`.

Average MAP on the test split of rankings by Hamming distance, with codes of several lengths, beside that of the
embeddings they were made of by cosine. `retrieved="codes"` embeds by the outputs of the branches, which the term draws
towards signs; the last row is what is embedded by default, class probabilities.
"""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from diptych.data import Dataset
from diptych.evaluation import mean_average_precision
from diptych.methods.registry import create

BITS = (64, 128, 256)
WEIGHTS = (0.0, 0.1, 0.3, 1.0)


def main() -> None:
    """Print one table for every dataset named."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("datasets", nargs="+", type=Path)
    arguments.add_argument("--methods", nargs="+", default=["triplet", "cdmlmr"])
    arguments.add_argument("--seeds", type=int, default=3)
    asked = arguments.parse_args()
    for folder in asked.datasets:
        dataset = Dataset.open(folder)
        print(f"\n{dataset.name}, {asked.seeds} seeds\n\n| | embeddings | {' | '.join(f'{n} bits' for n in BITS)} |")
        print("| --- |" + " ---: |" * (1 + len(BITS)))
        for method in asked.methods:
            for named, params in _settings():
                scores = np.array([_scores(dataset, method, params | {"seed": seed}) for seed in range(asked.seeds)])
                means, spreads = scores.mean(axis=0), scores.std(axis=0, ddof=1)
                cells = [f"{mean:.3f} ± {spread:.3f}" for mean, spread in zip(means, spreads, strict=True)]
                print(f"| `{method}`, {named} | {' | '.join(cells)} |", flush=True)


def _settings() -> Iterator[tuple[str, Mapping[str, Any]]]:
    for weight in WEIGHTS:
        yield f"`quantisation={weight:g}`", {"retrieved": "codes", "quantisation": weight, "partner_space": False}
    yield "class probabilities", {"partner_space": False}


def _scores(dataset: Dataset, method: str, params: Mapping[str, Any]) -> list[float]:
    """Average MAP of the embeddings and of the codes of every length."""
    model = create(method, **params).fit(dataset)
    test = dataset.split("test")
    parts = {name: test.having(name) for name in model.modalities}

    def average(rows: Mapping[str, Any]) -> float:
        directions = [(a, b) for a in rows for b in rows if a != b]
        return float(
            np.mean([mean_average_precision(rows[a], rows[b], parts[a].labels, parts[b].labels) for a, b in directions])
        )

    found = [average({name: model.embed(name, part.features(name)) for name, part in parts.items()})]
    for bits in BITS:
        model.binarise(bits, dataset)
        coded = {name: model.embed_bits(name, part.features(name)) for name, part in parts.items()}
        # The cosine of signs falls with their Hamming distance.
        found.append(average({name: 2.0 * np.unpackbits(rows, axis=1) - 1.0 for name, rows in coded.items()}))
    return found


if __name__ == "__main__":
    main()
