"""Say something to a person: plain words, whatever they hold."""

from rich.console import Console
from rich.markup import escape


def say(console: Console, words: str) -> None:
    """Print a sentence as it is: brackets are no markup, numbers are not coloured, lines are not cut."""
    console.print(escape(words), soft_wrap=True, highlight=False)
