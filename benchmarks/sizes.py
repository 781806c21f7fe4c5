"""Write datasets of RSICD with fewer training and validation pairs and the whole test split.

After `python -m benchmarks.sizes OUT`, `diptych compare OUT/rsicd-300 …` shows how methods do with few rows, as in
docs/results/cdmlmr.md.
"""

import sys
from pathlib import Path

import numpy as np

from benchmarks.bench_cdmlmr import read_items, write_rows

SIZES = (300, 1_000, 3_000)


def main() -> int:
    """Draw the items of each size and write them."""
    out = Path(sys.argv[1])
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
    return 0


if __name__ == "__main__":
    sys.exit(main())
