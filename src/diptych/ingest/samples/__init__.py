"""Samples: pairs of images and texts that installed packages hold, written as files to ingest."""

from diptych.ingest.samples.emoji import EmojiSample, make_emoji
from diptych.ingest.samples.emoji_catalogue import LANGUAGES

__all__ = ["LANGUAGES", "EmojiSample", "make_emoji"]
