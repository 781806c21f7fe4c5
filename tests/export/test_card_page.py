"""The card as Markdown, and the sentences about what a model cannot do."""

import copy
import re

import pytest

from diptych.export import model_card, render_card
from diptych.export.card_page import limits

SECTIONS = [
    "Parameters",
    "Data",
    "What training saw",
    "How well it retrieves",
    "Probabilities",
    "Limits",
    "Versions",
    "How to use it",
]


@pytest.fixture
def card(saved, counts_dataset):
    return model_card(saved("cca", counts_dataset), dataset=counts_dataset)


def test_every_part_is_on_the_page(card) -> None:
    page = render_card(card)
    assert re.findall(r"^## (.*)$", page, re.MULTILINE) == SECTIONS
    assert page.startswith("# Model card: cca on synthetic\n")
    for words in (
        card["model"]["citation"],
        card["model"]["fingerprint"],
        card["data"]["fingerprint"],
        card["protocol"]["might_see"],
        card["protocol"]["saw"],
        f"best of {card['parameters']['trials']} trials on validation",
        f"numpy {card['versions']['numpy']}",
        *card["limits"],
    ):
        assert words in page, words


def test_figures_stand_beside_chance(card) -> None:
    page = render_card(card)
    rows = card["figures"]["directions"] | {"average": card["figures"]["average"]}
    for name, block in rows.items():
        low, high = block["map_ci95"]
        cells = name.replace("->", " → "), f"{block['map']:.3f} ({low:.3f}–{high:.3f})", f"{block['chance']['map']:.3f}"
        assert f"| {' | '.join(cells)} |" in page


def test_tables_are_whole(card) -> None:
    """Each row of a table has as many cells as its head."""
    blocks = re.findall(r"(?:^\|.*\n)+", render_card(card), re.MULTILINE)
    assert len(blocks) == 3  # parameters, splits, figures
    for block in blocks:
        assert len({line.count("|") for line in block.splitlines()}) == 1


def test_what_is_not_known_is_said(saved, counts_dataset) -> None:
    page = render_card(model_card(saved("cca", counts_dataset)))
    assert "Not known: the card was written without a dataset to score on" in page
    assert "Not known: the card was written without an index" in page
    assert "sizes are not known" in page


def test_names_are_not_read_as_markup(card) -> None:
    card["data"]["name"] = "a|b`c\n# d"
    card["data"]["classes"] = ["<script>", "x|y"]
    card["parameters"]["given"]["scaling"] = "a|b"
    page = render_card(card)
    assert "# Model card: cca on a b c # d\n" in page
    assert "<script>" not in page and "x|y" not in page and "a|b" not in page


def test_what_validation_chose_is_marked_as_open(card) -> None:
    page = render_card(card)
    assert "| `ridge` | left open |" in page
    assert f"`ridge` = `{card['parameters']['chosen']['ridge']}`" in page


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
ALWAYS = ["It was taught 2 classes (art, sport)", "Of 'words' it has seen the words", "weakest on 'sport' (MAP 0.300)"]

CASES = {
    "learned from pairs alone": {"protocol.saw": "pairs"},
    "reads no images and texts": {"data.features": None},
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
