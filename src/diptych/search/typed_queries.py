"""Queries like those that people type: a few words, where the text of an item may be a page."""

import numpy as np

from diptych._core.errors import DiptychError
from diptych._core.seeding import generator
from diptych.data import Dataset, Partition
from diptych.methods import Method
from diptych.methods.purposes import Purpose
from diptych.search.pairs import Side
from diptych.search.raw_parts import has_content

_MOST_QUERIES = 2_000
_MOST_WORDS = 12


def typed(modality: str) -> str:
    """What words of a person are called among those who ask; no modality has a blank in its name."""
    return f"typed {modality}"


def typed_side(
    model: Method, dataset: Dataset, part: Partition, modality: str, seed: int, purpose: Purpose = "auto"
) -> Side | None:
    """The first few words of the texts of some items, embedded as a query is.

    Returns:
        None where the modality is not one of texts, or these are not known.
    """
    if model.pipeline_folder is None or "text" not in dataset.metadata_columns:
        return None
    if model.pipeline.of(modality).medium != "text":
        return None
    order = generator(seed, "typed queries").permutation(len(part))[:_MOST_QUERIES]
    asked = part.having(modality) if len(part) <= _MOST_QUERIES else part.take(np.sort(order)).having(modality)
    texts = dataset.items.column("text").take(asked.index).to_pylist()
    words = [opening(text or "") for text in texts]
    asked = asked.take(np.array([bool(found) for found in words], dtype=np.bool_))
    words = [found for found in words if found]
    if not words:
        return None
    try:
        rows = model.pipeline(modality, words)
        known = np.array(has_content(rows), dtype=np.bool_)
        return Side.of(modality, asked.take(known), model.embed(modality, rows, purpose)[known])
    except DiptychError:
        return None


def opening(text: str) -> str:
    """The first line or sentence of a text, twelve words at most.

    >>> opening("Many planes are parked here. It rains.")
    'Many planes are parked here'
    """
    lines = text.strip().splitlines()
    first = lines[0].split(". ")[0].strip(" .") if lines else ""
    return " ".join(first.split()[:_MOST_WORDS])
