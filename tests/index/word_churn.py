"""Changes of words without end, each a function of its number: what a process does until it is killed."""

import os
import sys

import numpy as np

from diptych._core.seeding import generator
from diptych.index import EmbedderId, Identity, open_index

IDENTITY = Identity(EmbedderId("m"), 2)
WORDS = ("dog", "dogs", "cat", "river", "red", "AB-12/X", "東京都", "the", "running")


def apply(index, number):
    """One change; the text of an entry stands in its metadata, too, so that the two can be compared."""
    draw = generator(5, "words", str(number))
    ids = [f"i{n:02d}" for n in draw.choice(60, size=draw.integers(1, 10), replace=False)]
    if draw.random() < 0.3:
        index.delete(ids)
        return
    texts = [" ".join(draw.choice(WORDS, size=draw.integers(0, 6))) or None for _ in ids]
    index.update(ids, np.ones((len(ids), 2)), modality="text", words=texts, metadata=[{"text": text} for text in texts])


def main(folder, first):
    """Change the index until the end, and print a line after each change."""
    index, number = open_index(folder), int(first)
    while True:
        apply(index, number)
        os.write(1, b"done\n")
        number += 1


if __name__ == "__main__":
    main(*sys.argv[1:])
