"""Which models can be indexed: those whose codes are comparable whoever asks."""

from itertools import permutations

import numpy as np

from diptych._core.arrays import Features
from diptych._core.errors import ConfigError
from diptych.data import Dataset
from diptych.methods import Method
from diptych.methods.purposes import Purpose

_ITEMS = 8


def check_indexable(model: Method, dataset: Dataset) -> None:
    """Refuse a model that has no single space, or does not compare by cosine.

    A method may override `represent`; where what it compares is not simply the codes of both sides, an item has one
    vector for each direction, and no index can hold it.
    """
    name = model.registry_name
    if model.similarity != "cosine":
        raise ConfigError(
            f"this '{name}' model compares codes by {model.similarity} product, and an index by cosine; fit it with a "
            "setting that uses cosine."
        )
    for query, gallery in permutations(model.modalities, 2):
        part = dataset.everything.having(query, gallery)
        part = part.take(np.arange(min(_ITEMS, len(part))))
        if not len(part):
            continue
        if not compares_codes(model, query, gallery, part.features(query), part.features(gallery)):
            raise ConfigError(
                f"this '{name}' model compares {query} with {gallery} in another space than {gallery} with {query}, so "
                "its items have no single vector to index; use another method, or a setting with one joint space."
            )


def whole_purpose(model: Method) -> Purpose:
    """The purpose for which a model gives all columns of its codes."""
    return model.settle_purpose(auto="both") or "auto"


def compares_codes(model: Method, query: str, gallery: str, asked: Features, kept: Features) -> bool:
    """Whether what a model compares in one direction is the codes of both sides, on some rows of each."""
    if type(model).represent is Method.represent:
        return True
    purpose = whole_purpose(model)
    compared = model.represent(query, gallery, asked, kept, purpose)
    plain = model.embed(query, asked, purpose), model.embed(gallery, kept, purpose)
    return all(np.array_equal(a, b) for a, b in zip(compared, plain, strict=True))
