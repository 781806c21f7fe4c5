"""Guess the languages of texts from their scripts and their commonest small words: cheap, and right for most."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final

from diptych.ingest.header_names import word_set

UNCLEAR = "unclear"
"""Texts without any word that tells: names, numbers, a word or two."""

_LONGEST = 400
_RARE = 8
_SCRIPTS: Final = (
    ("Japanese", re.compile(r"[\u3040-\u30ff]")),
    ("Korean", re.compile(r"[\uac00-\ud7af\u1100-\u11ff]")),
    ("Chinese", re.compile(r"[\u3400-\u9fff]")),
    ("Thai", re.compile(r"[\u0e00-\u0e7f]")),
    ("Arabic", re.compile(r"[\u0600-\u06ff]")),
    ("Hebrew", re.compile(r"[\u0590-\u05ff]")),
    ("Greek", re.compile(r"[\u0370-\u03ff]")),
    ("Hindi", re.compile(r"[\u0900-\u097f]")),
    ("Ukrainian", re.compile(r"[іїєґІЇЄҐ]")),
    ("Russian", re.compile(r"[\u0400-\u04ff]")),
)
"""In this order: Japanese texts hold Chinese characters, Ukrainian ones Cyrillic letters."""

_SMALL_WORDS: Final = {
    "English": word_set("the and of with for is in this to a on are from your it by that an you at has have"),
    "German": word_set("der die das und mit für ist ein eine einer von den im auf aus zu nicht auch dem sich bei"),
    "French": word_set("le la les et des avec pour une est dans du un sur au qui par en pas ce cette aux"),
    "Spanish": word_set("el la los las con para una es de en un por del que se al su como más"),
    "Italian": word_set("il la gli con per una di in un del della che al dei nel sono le da"),
    "Portuguese": word_set("os as com para uma de em um por do da que no na ao dos não"),
    "Dutch": word_set("de het een en met voor van is op in te dat niet aan zijn ook bij naar uit deze"),
    "Polish": word_set("na do jest się nie dla to od po przez oraz jak który tym ze"),
    "Swedish": word_set("och att det som en på är av för med den till inte om ett har de"),
    "Danish": word_set("og at det en på er af for med den til ikke et har de der som"),
    "Turkish": word_set("ve bir bu için ile da de çok olarak daha en gibi olan ne kadar"),
    "Czech": word_set("na se je do pro že jako to od po které byl ze"),
}
_WORD = re.compile(r"[^\W\d_]+")


def language_of(text: str, among: Collection[str] = tuple(_SMALL_WORDS)) -> str:
    """The likeliest language of a text, by its English name.

    Args:
        text: the text; its beginning is enough.
        among: the languages in Latin letters that may be meant, the likeliest first.

    >>> language_of("a mug with a red handle"), language_of("Tasse mit rotem Henkel für uns"), language_of("赤い靴")
    ('English', 'German', 'Japanese')
    """
    start = text[:_LONGEST]
    letters = sum(map(len, _WORD.findall(start)))
    for name, pattern in _SCRIPTS:
        # Korean and Thai texts quote Latin names; a Latin text with one foreign letter stays Latin.
        if len(pattern.findall(start)) * 4 >= max(letters, 1) or (name == "Ukrainian" and _is_ukrainian(start)):
            return name
    scores = _small_words(start)
    best = max(among, key=lambda name: scores[name], default=UNCLEAR)
    return best if scores[best] else UNCLEAR


def languages_of(texts: Sequence[str]) -> dict[str, int]:
    """How many of some texts are in each language, the commonest first; what is unclear comes last.

    Languages share small words, so one that is rare among all texts is not believed of a single one.
    """
    total: Counter[str] = Counter()
    for text in texts:
        total.update(_small_words(text[:_LONGEST]))
    likely = [name for name, count in total.most_common() if count * _RARE >= max(total.values())]
    counts = Counter(language_of(text, likely) for text in texts)
    believed = {name: count for name, count in counts.most_common() if name != UNCLEAR and count * 50 >= len(texts)}
    unclear = len(texts) - sum(believed.values())
    return believed | ({UNCLEAR: unclear} if unclear else {})


def _small_words(text: str) -> Counter[str]:
    """How many small words of each language a text holds."""
    words = _WORD.findall(text.lower())
    return Counter({name: sum(word in small for word in words) for name, small in _SMALL_WORDS.items()})


def _is_ukrainian(text: str) -> bool:
    return bool(re.search(r"[іїєґІЇЄҐ]", text)) and len(re.findall(r"[\u0400-\u04ff]", text)) * 2 > len(text) / 2
