"""Each limit is said when it holds, and only then."""

import copy

import pytest

from diptych.export.card.limits import limits

DIRECTION = {
    "map": 0.5,
    "map_ci95": [0.45, 0.55],
    "chance": {"map": 0.2},
    "queries": 5_000,
    "per_class": {"art": 0.7, "sport": 0.3},
}
FINE = {
    "data": {
        "classes": ["art", "sport"],
        "fingerprint": "d",
        "features": {
            "image": {"medium": "image", "features": "gist"},
            "words": {"medium": "text", "features": "bow:9"},
        },
    },
    "protocol": {
        "saw": "pairs + labels + unlabelled training features",
        "might_see": "all training pairs",
        "unlabelled": "train",
        "labels_per_class": None,
        "label_share": None,
    },
    "parameters": {"trials": 0, "given": {}},
    "figures": {
        "dataset": {"name": "d", "fingerprint": "d"},
        "split": "test",
        "directions": {"image->words": DIRECTION},
    },
    "calibration": None,
    "export": None,
}
ALWAYS = ["It was taught 2 classes (art, sport)", "Of 'words' it knows the words", "weakest on 'sport' (MAP 0.300)"]

CASES = {
    "learned from pairs alone": {"protocol.saw": "pairs"},
    "reads no pictures and texts": {"data.features": None},
    "trained on English": {"data.features.words.features": "sentence"},
    "(transductive)": {"protocol.unlabelled": "test-features"},
    "No unlabelled items took part": {"protocol.saw": "pairs + labels"},
    "Labels were withheld (all training pairs)": {"protocol.labels_per_class": 3},
    "Many of its training labels were propagated": {"protocol.saw": "pairs + propagated labels + unlabelled pairs"},
    "the best of 12 on validation": {"parameters.trials": 12},
    "one fit with one seed": {"parameters.given": {"seed": 0}},
    "No figures are known": {"figures": None},
    "The figures are of 'e', another dataset": {"figures.dataset": {"name": "e", "fingerprint": "e"}},
    "the split 'val', which the fit has used": {"figures.split": "val"},
    "cannot be told from a random ranking": {"figures.directions.image->words.map_ci95": [0.19, 0.6]},
    "only 462 queries": {"figures.directions.image->words.queries": 462},
    "gives no probabilities": {"calibration": {"directions": []}},
    "Probabilities hold for items like": {"calibration": {"directions": [{}]}},
    "still need torch: because": {"export": {"by_direction": False, "needs_torch": {"words": "because"}}},
    "it cannot be scored": {"export": {"by_direction": True, "needs_torch": {}}},
}


def changed(changes):
    card = copy.deepcopy(FINE)
    for place, value in changes.items():
        *way, last = place.split(".")
        part = card
        for step in way:
            part = part[step]
        part[last] = value
    return card


def test_a_fine_card_has_only_what_always_holds() -> None:
    found = limits(FINE)
    assert len(found) == len(ALWAYS)
    for words, expected in zip(found, ALWAYS, strict=True):
        assert expected in words


@pytest.mark.parametrize("words", CASES)
def test_a_limit_is_said_where_it_holds(words) -> None:
    assert sum(words in one for one in limits(changed(CASES[words]))) == 1
    assert not any(words in one for one in limits(FINE))
