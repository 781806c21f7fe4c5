import re
from html.parser import HTMLParser

import pytest

from diptych.experiments.showcase import Answer, render_showcase
from diptych.experiments.showcase.emoji_searches import Found
from diptych.ingest.samples.emoji_licence import CREDIT, LICENCE_URL

NASTY = "<script>alert('x')</script> & \"quoted\""
RESULTS = {
    "dataset": {"name": "emoji", "items": 1898, "classes": ["a", "b"]},
    "methods": {NASTY: {"text->image": {"map": 0.5}, "average": {"map": 0.25}, "fit_seconds": 3.0}},
    "chance": {"map": 0.1, "text->image": {"map": 0.125}},
    "comparisons": {"best": NASTY},
}


class Tags(HTMLParser):
    """Collects every element with its attributes."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def found(name, is_new=False):
    return Found("😀", name, "Smileys & Emotion", is_new, b"\x89PNG")


@pytest.fixture
def page():
    asked = found("asked")
    answers = [
        Answer(NASTY, None, (found(NASTY), found("new", is_new=True))),
        Answer(None, asked, (asked, found("other")), own_place=1234),
    ]
    return render_showcase(answers, RESULTS, NASTY)


def test_what_was_asked_and_found_is_shown_as_text(page):
    tags = Tags()
    tags.feed(page)
    assert not [tag for tag, _ in tags.found if tag == "script"]
    pictures = [attributes for tag, attributes in tags.found if tag == "img"]
    assert len(pictures) == 3
    assert pictures[0]["alt"] == NASTY
    assert all(picture["src"] == "data:image/png;base64,iVBORw==" for picture in pictures)
    assert "place 1,234 of 1,898" in page
    assert "0.500" in page
    assert "0.125" in page


def test_the_page_gives_credit_and_fetches_nothing(page):
    assert CREDIT in page
    assert LICENCE_URL in page
    assert "default-src 'none'" in page
    assert "url(" not in page
    assert not re.search(r"<(link|script|iframe)\b", page)
    assert "prefers-color-scheme: dark" in page
    assert 'name="viewport"' in page
