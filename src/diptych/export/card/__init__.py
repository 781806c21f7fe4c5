"""A model's card: what it is, what it learned from, how well it does and what it cannot do."""

from diptych.export.card.content import model_card
from diptych.export.card.page import render_card

__all__ = ["model_card", "render_card"]
