"""Languages are guessed by script and by small words."""

import pytest

from diptych.ingest.languages import UNCLEAR, language_of, languages_of

TEXTS = {
    "English": "a red mug with a handle for the kitchen",
    "German": "eine rote Tasse mit Henkel für die Küche",
    "French": "une tasse rouge avec une anse pour la cuisine",
    "Spanish": "una taza roja con asa para la cocina de los niños",
    "Italian": "una tazza rossa con il manico per la cucina della nonna",
    "Dutch": "een rode mok met een handvat voor de keuken van het huis",
    "Polish": "czerwony kubek do kawy jest dla dzieci oraz na prezent",
    "Russian": "красная кружка для кухни",
    "Ukrainian": "червона чашка для кухні і чаю",
    "Japanese": "赤い取っ手のマグカップ",
    "Chinese": "红色的马克杯",
    "Korean": "빨간 머그컵 USB",
    "Thai": "แก้วกาแฟสีแดง",
    "Greek": "κόκκινη κούπα",
    "Arabic": "كوب أحمر",
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_sentence_tells_its_language(name) -> None:
    assert language_of(TEXTS[name]) == name


def test_names_and_numbers_are_unclear() -> None:
    assert language_of("Nikon D90") == language_of("12") == language_of("") == UNCLEAR


def test_languages_of_many_texts() -> None:
    texts = [TEXTS["English"]] * 6 + [TEXTS["German"]] * 3 + ["Nikon"]
    assert languages_of(texts) == {"English": 6, "German": 3, UNCLEAR: 1}
    assert languages_of([]) == {}
    few = ["a house of the lord", "the cat is in the hat"] * 40 + ["no"]
    assert languages_of(few) == {"English": 80, UNCLEAR: 1}
