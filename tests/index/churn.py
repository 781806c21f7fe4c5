"""Changes without end, each a function of a seed and its number: what a process does until it is killed.

Run as a program it prints the number of a change before it starts and after it is acknowledged.
"""

import os
import sys

from diptych._core.seeding import generator
from diptych.index import open_index

DIMENSION = 5
IDS = [f"i{n:03d}" for n in range(120)]


def change(seed, number):
    """The verb and arguments of one change; one in three deletes."""
    rng = generator(seed, "churn", str(number))
    ids = [str(id) for id in rng.choice(IDS, size=rng.integers(1, 12), replace=False)]
    if rng.random() < 0.33:
        return "delete", ids, None, None, None
    vectors = rng.integers(-3, 4, size=(len(ids), DIMENSION)).astype("float32")
    vectors[:, 0] += 0.5  # no vector is zero
    names = [("image", "text")[int(pick)] for pick in rng.integers(0, 2, len(ids))]
    return "update", ids, vectors, names, [{"by": number, "at": place} for place in range(len(ids))]


def apply(index, seed, number):
    """Make a change to an index."""
    verb, ids, vectors, names, metadata = change(seed, number)
    if verb == "delete":
        index.delete(ids)
    else:
        index.update(ids, vectors, modality=names, metadata=metadata)


def apply_to_model(model, seed, number):
    """Make the same change to the dictionary."""
    verb, ids, vectors, names, metadata = change(seed, number)
    if verb == "delete":
        model.delete(ids)
    else:
        model.put(ids, vectors, names, metadata)


def main(folder, seed, first):
    """Change the index until the end."""
    index, number = open_index(folder), int(first)
    while True:
        os.write(1, f"start {number}\n".encode())
        apply(index, int(seed), number)
        if number % 3 == 0:
            index.search([[1.0] * DIMENSION], 3)
        os.write(1, f"done {number}\n".encode())
        number += 1


if __name__ == "__main__":
    main(*sys.argv[1:])
