"""Write the datasets that only results pages need: `python -m benchmarks.datasets OUT`.

RSICD with fewer training and validation pairs and its whole test split, and the handwritten digits of scikit-learn with
their upper halves as images and their lower halves as texts. What methods reach on them is in docs/results/cdmlmr.md.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.bench_cdmlmr import SOURCE, read_items, write_rows
from diptych.data.modality import ModalityRows
from diptych.data.writing import Draft, write_dataset

SIZES = (300, 1_000, 3_000)
TRAIN, VALIDATION = 0.6, 0.2
"""Shares of the digits."""


def main() -> int:
    """Write them all; those of RSICD where it is beside the checkout."""
    out = Path(sys.argv[1])
    write_digits(out / "digits")
    if SOURCE.exists():
        write_sizes(out)
    return 0


def write_sizes(out: Path) -> None:
    """Draw the items of each size and write them."""
    splits = np.array([item["split"] for item in read_items()])
    generator = np.random.default_rng(0)
    for size in SIZES:
        share = size / np.count_nonzero(splits == "train")
        kept: list[int] = []
        for split in ("train", "val"):
            rows = np.flatnonzero(splits == split)
            kept += sorted(generator.permutation(rows)[: round(share * len(rows))].tolist())
        kept += np.flatnonzero(splits == "test").tolist()
        written = write_rows(out / f"rsicd-{size}", kept)
        print(f"{out / f'rsicd-{size}'}: {written:,} training pairs")


def write_digits(folder: Path) -> None:
    """Write the halves of digits as pairs, drawn into splits."""
    rows, digits = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(digits))
    halves, labels = rows[order].reshape(-1, 2, 32).astype(np.float32), digits[order].astype(str).tolist()
    train, validation = int(TRAIN * len(labels)), int(VALIDATION * len(labels))
    splits = ["train"] * train + ["val"] * validation + ["test"] * (len(labels) - train - validation)
    modalities = {name: ModalityRows("dense", halves[:, half]) for half, name in enumerate(("image", "text"))}
    ids = [str(number) for number in range(len(labels))]
    write_dataset(folder, Draft("digits", ids, splits, labels, sorted(set(labels)), modalities))
    print(f"{folder}: {train:,} training pairs")


if __name__ == "__main__":
    sys.exit(main())
