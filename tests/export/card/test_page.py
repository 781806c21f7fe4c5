"""The card that people read holds what the card that programs read holds."""

import re

import pytest

from diptych.export import model_card, render_card

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
