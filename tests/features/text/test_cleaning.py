"""Texts that arrive as HTML: what a reader would see remains, and nothing else is lost."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diptych.features import clean_text


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("a plain text", "a plain text"),
        ("Salt &amp; pepper&#x27;s &#39;mill&#39;", "Salt & pepper's 'mill'"),
        ("Salt &amp;amp;amp; pepper", "Salt & pepper"),
        ("&lt;b&gt;bold&lt;/b&gt;", "bold"),
        ("<p>One</p><p>Two <b>th</b>ree</p>", "One\nTwo three"),
        ("one<br>two<br/>three", "one\ntwo\nthree"),
        ("<ul>\n  <li>one</li>\n  <li>two</li>\n</ul>", "one\ntwo"),
        ("<table><tr><td>1</td><td>2</td></tr><tr><td>3</td></tr></table>", "1 2\n3"),
        ("<script>if (a < b) { x('</p>') }</script>seen<style>p { color: red }</style>", "seen"),
        ("before<!-- hidden <b>words</b> -->after", "beforeafter"),
        ("<!DOCTYPE html><html><head><title>T</title></head><body>x</body></html>", "T\nx"),
        ("<![CDATA[ quoted ]]> text", "quoted text"),
        ("<![if !mso]>kept<![endif]>", "kept"),
        ("<o:p>from a word processor</o:p>", "from a word processor"),
        ('<A HREF="x>y" TARGET=_blank>link</A>', "link"),
        ("<img src=a.png alt='b'>z<input disabled>", "z"),
        ("two\xa0\xa0 spaces\tand\x00 bytes &nbsp; here", "two spaces and bytes here"),
        ("one\r\ntwo\n\n\n\nthree", "one\ntwo\n\nthree"),
        ("", ""),
        (" \n ", ""),
    ],
)
def test_what_is_read(written: str, read: str) -> None:
    assert clean_text(written) == read


@pytest.mark.parametrize(
    "text",
    [
        "a < b and c > d",
        "a<b and c>d",
        "I <3 you, you </3 me > all",
        "<jo@example.org> writes",
        "<unknown>kept</unknown>",
        "see <https://example.org/a?b=1&copy=2>",
        "AT&T and R&D; x&y",
        "5 <",
        "unfinished <b",
        "unfinished <!-- comment",
        "x <![ y",
        "map<string, int>",
    ],
)
def test_what_only_looks_like_markup_stays(text: str) -> None:
    assert clean_text(text) == text


def test_comparisons_stay_when_they_arrive_escaped() -> None:
    assert clean_text("5 &lt; 6 &amp;&amp; 7 &gt; 3") == "5 < 6 && 7 > 3"


def test_an_element_that_is_never_closed_swallows_nothing() -> None:
    assert clean_text("mug <script> the rest") == "mug the rest"
    assert clean_text("<style>p { }") == "p { }"


@given(st.text("<>&;/!-ab 3\n\"'=[]p#x", max_size=60))
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    once = clean_text(text)
    assert clean_text(once) == once


@given(st.text(st.characters(exclude_characters="<&", exclude_categories=("C", "Z")), max_size=80))
def test_text_without_markup_is_left_alone(text: str) -> None:
    assert clean_text(text) == text.strip()


@pytest.mark.parametrize(
    "piece",
    ["<", "<a ", "<!--", '<a href="', "<a b='", "</a ", "<script>", "<![CDATA[", "<![if", "<?php", " \n", "&amp;"],
)
def test_hostile_texts_are_read_in_time(piece: str) -> None:
    text = piece * 20_000
    before = time.process_time()
    clean_text(text)
    assert time.process_time() - before < 5, "the time grows with the square of the length"
