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
    categories = {unicodedata.category(character) for character in "".join(tokens) if character != "\u200d"}
    assert not {category for category in categories if category[0] in "CZP" and category != "Cn"}  # Cn: emoji to come
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert tokenise(unicodedata.normalize(form, text)) == tokens


@given(st.lists(st.text(alphabet="abcdefghijklmnopqrstuvwxyzäöüéñ", min_size=2)))
def test_spaced_words_are_their_own_tokens(words) -> None:
    assert tokenise(" ".join(words)) == words
    assert tokenise(", ".join(words).upper()) == words


def test_korean_words_meet_whatever_particle_they_carry() -> None:
    assert tokenise("커피를 마시는 고양이") == ["커피", "피를", "마시", "시는", "고양", "양이"]
    assert set(tokenise("커피")) & set(tokenise("커피를")) == {"커피"}
    assert tokenise("손 USB케이블") == ["손", "usb", "케이", "이블"]
    assert tokenise("커피를 마시는", korean_pairs=False) == ["커피를", "마시는"]
    decomposed = "\u110f\u1165\u1111\u1175"  # the same word as separate letters
    assert tokenise(decomposed) == ["커피"]


def test_every_unspaced_script_is_cut_in_pairs() -> None:
    assert tokenise("東京都") == ["東京", "京都"]
    assert tokenise("コーヒー") == ["コー", "ーヒ", "ヒー"]
    thai = tokenise("กาแฟเย็น")
    assert len(thai) > 3 and set(tokenise("กาแฟ")) <= set(thai)
