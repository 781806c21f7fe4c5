"""A showcase: a few searches with a fitted model, and one page with pictures that needs nothing else."""

from diptych.experiments.showcase.emoji_searches import WORDS, Answer, emoji_searches
from diptych.experiments.showcase.page import render_showcase
from diptych.experiments.showcase.searching import Hit, best_searcher, search

__all__ = ["WORDS", "Answer", "Hit", "best_searcher", "emoji_searches", "render_showcase", "search"]
