"""Words, stems and spellings by themselves."""

import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diptych._core.errors import ConfigError, optional_package
from diptych.index import words
from diptych.index.lexical import Spellings, edits_allowed
from diptych.index.terms import MOST_TIMES, entry_words, query_words, weighted
from diptych.index.words import LONGEST, lexical_tokens, matched_words, plain, stem, without_accents, words_of

ANY_TEXT = st.text(st.characters(), max_size=60) | st.text("aZ9-/.+&_ '\u00e9東한ทс👍,#=\"", max_size=30)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("A dog, two Dogs!", ["a", "dog", "two", "dogs"]),
        ("AB-1234/X", ["ab", "1234", "x", "ab1234x"]),
        ("wh1000xm4", ["wh", "1000", "xm", "4", "wh1000xm4"]),
        ("AB_12", ["ab", "12", "ab12"]),
        ("1,000 and 1,000,000 but 1,5", ["1000", "and", "1000000", "but", "1", "5"]),
        ("3.5mm", ["3", "5", "mm", "5mm", "3.5mm"]),
        ("and/or e.g. end.Start", ["and", "or", "e", "g", "end", "start"]),
        ("dog's l’arbre", ["dog", "l", "arbre"]),
        ("東京都", ["東京", "京都"]),
        ("한국어를", ["한국", "국어", "어를", "한국어를"]),
        ("МР-654К", ["мр", "654", "к", "654к", "мр654к"]),
        ("http://a.example/x?y=1", ["http", "a", "example", "x", "y", "1"]),
        ("👍🏽👍", ["👍", "👍"]),
        ("", []),
        ("... - /", []),
    ],
)
def test_texts_are_cut_so(text, tokens):
    assert lexical_tokens(text) == tokens


@given(ANY_TEXT)
def test_tokens_hold_no_sign_that_has_a_meaning_for_an_engine(text):
    for word in words_of(text):
        assert word.term
        assert len(word.term) <= LONGEST
        assert not set(word.term) & set(" \t\n\"'=#*\0()&|!:\\")
        assert word.term.encode()
        assert stem(word.term)


@given(ANY_TEXT)
def test_a_text_is_found_by_itself(text):
    entry, asked = entry_words(text), weighted(query_words(text))
    if entry is None:
        assert asked == {}
        assert matched_words(text, text) == ()
    else:
        assert set(asked) == set(entry.times)
        assert matched_words(text, text)
        assert abs(sum(asked.values()) - len(query_words(text))) < 1e-9


def test_the_same_word_counts_at_most_so_often():
    entry = entry_words("dog " * 40 + "dogs")
    assert (entry.length, entry.times["dog"], entry.times["=dog"], entry.times["dogs"]) == (
        41,
        MOST_TIMES,
        MOST_TIMES,
        1,
    )
    assert "dog#16" in entry.names()
    assert "dog#17" not in entry.names()
    assert entry_words(None) is entry_words("?!") is None


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("dogs", "dog"),
        ("shoes", "shoe"),
        ("running", "run"),
        ("cafés", "cafe"),
        ("is", "is"),
        ("собаки", "собак"),
        ("ёлка", "елк"),
        ("東京", "東京"),
        ("1234", "1234"),
        ("ab1234s", "ab1234s"),
        ("हिन्दी", "हिन्दी"),
        ("がぎ", "がぎ"),
    ],
)
def test_stems(word, expected):
    assert stem(word) == expected


def test_a_missing_library_names_its_extra(monkeypatch):
    near = Spellings()
    monkeypatch.setattr(words, "_stemmers", {})
    for use, name in (
        (lambda: stem("neverstemmedbefore"), "snowballstemmer"),
        (lambda: near.near("word", 1, lambda last: []), "rapidfuzz"),
    ):
        optional_package.cache_clear()
        monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.setitem(sys.modules, f"{name}.distance", None)
        with pytest.raises(ConfigError, match=rf"needs {name}.*pip install 'diptych\[search\]'"):
            use()
        optional_package.cache_clear()


def test_accents_go_and_other_marks_stay():
    assert without_accents("crème brûlée øre łódź ärger ά") == "creme brulee ore lodz arger α"
    assert without_accents("है ぱ й") == "है ぱ й"
    assert plain(' "T-Shirt", ') == "tshirt"


def test_threads_stem_alike():
    words = [f"{letter}unning{letter}ers" for letter in "abcdefghijklmnopqrstuvwxyz"]
    expected = [stem(word) for word in words]
    stem.cache_clear()
    wrong = []

    def work():
        for word, known in zip(words * 20, expected * 20, strict=True):
            if stem.__wrapped__(word) != known:
                wrong.append(word)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize(
    ("query", "text", "words"),
    [
        ("Red Shoes", "a red shoe", ("Red", "Shoes")),
        ("red, red dog!", "Red.", ("red",)),
        ("ab1234x", "the AB-1234/X", ("ab1234x",)),
        ("AB-1234", "the AB 1234", ("AB-1234",)),
        ("t-shirt", "a shirt", ("shirt",)),
        ("café", "CAFE", ("café",)),
        ("dying flies", "he died of a fly", ("dying", "flies")),
        ("東京都庁", "東京都", ("東京", "京都")),
        ("東京都", "東京都", ("東京都",)),
        ("한국어를", "한국어", ("한국", "국어")),
        ("cat", "category", ()),
        ("", "a", ()),
        ("a", "", ()),
    ],
)
def test_typed_words_that_stand_in_a_text(query, text, words):
    assert matched_words(query, text) == words


def naive_distance(first, second):
    """Optimal string alignment, by its recursion."""
    if not first or not second:
        return len(first) + len(second)
    options = [naive_distance(first[1:], second) + 1, naive_distance(first, second[1:]) + 1]
    options.append(naive_distance(first[1:], second[1:]) + (first[0] != second[0]))
    if len(first) > 1 < len(second) and first[:2] == second[1::-1]:
        options.append(naive_distance(first[2:], second[2:]) + 1)
    return min(options)


@given(st.text("abc", max_size=5), st.lists(st.text("abcd", max_size=6), max_size=20), st.integers(1, 2))
def test_near_words_are_all_near_words(word, words, edits):
    spellings, listed = Spellings(), list(enumerate(words, start=1))
    half = len(listed) // 2
    spellings.near(word, edits, lambda last: listed[last:half])
    found = spellings.near(word, edits, lambda last: listed[last:])
    assert {number: distance for number, (distance, _) in found.items()} == {
        number: distance for number, other in listed if (distance := naive_distance(word, other)) <= edits
    }


@pytest.mark.parametrize(
    ("word", "edits"), [("dog", 1), ("do", 0), ("perfume", 2), ("ab12", 0), ("東京都庁", 0), ("собака", 2), ("", 0)]
)
def test_how_far_a_misspelling_may_be(word, edits):
    assert edits_allowed(word) == edits
