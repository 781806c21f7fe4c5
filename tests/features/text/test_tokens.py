"""Tokens of many languages, and of text that is no language at all."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diptych.features.text import tokenise


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("  \n\t…!?", []),
        ("The dog's 2 bowls, 1914", ["the", "dog", "bowls", "1914"]),
        ("new_york", ["new", "york"]),
        ("Straße STRASSE ﬁne Ａｂ", ["strasse", "strasse", "fine", "ab"]),
        ("l'été, où?", ["été", "où"]),
        ("İstanbul ISTANBUL", ["istanbul", "istanbul"]),
        ("и в книге", ["книге"]),
        ("हिन्दी में लिखा", ["हिन्दी", "में", "लिखा"]),
        ("مُحَمَّد محمد", ["محمد", "محمد"]),
        ("کتـــاب می\u200cخواهم", ["کتاب", "میخواهم"]),
        ("שָׁלוֹם־שלום", ["שלום", "שלום"]),
        ("東京都", ["東京", "京都"]),
        ("食べる。猫", ["食べ", "べる", "猫"]),
        ("東京tower42", ["東京", "tower42"]),
        ("ｶﾀｶﾅ", ["カタ", "タカ", "カナ"]),
        ("책 물건", ["책", "물건"]),
        ("กินข้าว", ["กิน", "นข้", "ข้า", "าว"]),
        ("soft\u00adhyphen a\ufeffb", ["softhyphen", "ab"]),
        ("👍🏽👍 ❤️❤", ["👍", "👍", "❤", "❤"]),
        ("👩\u200d💻🇩🇪🇫🇷", ["👩\u200d💻", "🇩🇪", "🇫🇷"]),
        ("x\ud800yz", ["yz"]),
    ],
)
def test_known_texts(text, expected) -> None:
    assert tokenise(text) == expected


@given(st.text())
def test_any_text_gives_clean_tokens_whatever_its_normal_form(text) -> None:
    tokens = tokenise(text)
    assert all(token and not any(character.isspace() for character in token) for token in tokens)
    assert all(
        unicodedata.category(character)[0] not in "CZP" or character == "\u200d" for character in "".join(tokens)
    )
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert tokenise(unicodedata.normalize(form, text)) == tokens


@given(st.lists(st.text(alphabet="abcdefghijklmnopqrstuvwxyzäöüéñ", min_size=2)))
def test_spaced_words_are_their_own_tokens(words) -> None:
    assert tokenise(" ".join(words)) == words
    assert tokenise(", ".join(words).upper()) == words
