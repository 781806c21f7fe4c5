"""A showcase: a few searches in an index, a page with pictures that needs nothing else, a server put to the test."""

from diptych.experiments.showcase.emoji_searches import WORDS, Answer, emoji_searches
from diptych.experiments.showcase.page import render_showcase
from diptych.experiments.showcase.trying import TrialError, try_server

__all__ = ["WORDS", "Answer", "TrialError", "emoji_searches", "render_showcase", "try_server"]
