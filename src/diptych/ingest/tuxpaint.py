"""The stamps of Tux Paint: images with a line of text in many languages, sounds of the things, and spoken descriptions.

A stamp is `NAME.png` or `NAME.svg`. `NAME.txt` describes it, its first line in English and the others as
`xx.utf8=…`; `NAME.ogg` is the sound of the thing, and `NAME_desc_xx.ogg` the description spoken in a language
(`NAME_desc.ogg` in English). Debian has them in the package `tuxpaint-stamps-default`, under the GPL 2.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Literal

from diptych._core.errors import ConfigError, DataError
from diptych.data.tables import Problem
from diptych.features import DEFAULT_FEATURES, clean_text
from diptych.ingest.items import GatheredItems, Item
from diptych.ingest.options import IngestOptions
from diptych.ingest.releases import Release
from diptych.media import FolderSource, RefusedNameError

Sound = Literal["effect", "spoken"]

ENGLISH = "en"
OTHER = "other"
"""The class of stamps whose folder holds too few."""
LEAST_OF_A_CLASS = 20
ATTRIBUTION = (
    "Stamps of Tux Paint, by its contributors (tuxpaint.org), from Debian's package tuxpaint-stamps-default. "
    "Licence: GNU General Public License, version 2 or later."
)
_INSTALL = "install Debian's package tuxpaint-stamps-default, or name the folder 'stamps' of Tux Paint."
_IMAGES = (".svg", ".png")
"""In the order of preference, as Tux Paint has it."""
_SOUNDS = (".ogg", ".wav")
_VARIANT = re.compile(r"_(?:mirror|flip|mirrorflip|flipmirror)$")
"""Images that Tux Paint shows in the place of a stamp that is mirrored or turned over."""
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:_[A-Za-z]{2})?(?:@[a-z]+)?")
_TRANSLATION = re.compile(r"([A-Za-z_@]+)\.utf8=(.*)")
_MOST_TEXT = 2**16


def read_tuxpaint(
    folder: str | Path,
    out: str | Path,
    *,
    language: str = ENGLISH,
    sound: Sound = "effect",
    sound_language: str | None = None,
    features: Mapping[str, str] | None = None,
    seed: int = 0,
    overwrite: bool = False,
) -> Release:
    """Read the list of stamps below a folder; no image and no sound is opened.

    Stamps that lack a text in the language, or a sound, are items all the same. Classes are the folders at the top;
    those with fewer than 20 stamps are one class, "other". Splits are drawn by the seed, balanced over the classes.

    Args:
        folder: the folder `stamps` of Tux Paint, or the one above it.
        out: the folder to make.
        language: of the texts, as Tux Paint writes it: "en", "fr", "pt_BR".
        sound: "effect" for the sound of the thing, "spoken" for the spoken description.
        sound_language: of spoken descriptions; that of the texts if not given.
        features: of "image", "audio" and "text", as a user writes them; the defaults if not given.
        seed: of all that is drawn.
        overwrite: replace a dataset that is already there.

    Raises:
        DataError: when there is no stamp below the folder.
        ConfigError: for what is no language or no choice of sounds.
    """
    spoken_in = sound_language or language
    for written in (language, spoken_in):
        if not _LANGUAGE.fullmatch(written):
            raise ConfigError(f"the language is {written!r}; write it as Tux Paint does, such as en, fr or pt_BR.")
    if sound not in ("effect", "spoken"):
        raise ConfigError(f"the sound is {sound!r}; choose effect or spoken.")
    root = _root(Path(folder))
    gathered = _gather(root, language, sound, spoken_in)
    about = {
        "release": "tuxpaint-stamps",
        "language": language,
        "sound": sound,
        "sound_language": spoken_in if sound == "spoken" else None,
        "attribution": ATTRIBUTION,
    }
    chosen = dict(DEFAULT_FEATURES) | dict(features or {})
    options = IngestOptions(
        root, Path(out), root, chosen, name="tuxpaint-stamps", seed=seed, overwrite=overwrite, about=about
    )
    return Release(options, gathered)


def _root(folder: Path) -> Path:
    for root in (folder / "stamps", folder):
        if root.is_dir():
            return root
    raise DataError(f"there is no folder {folder}; {_INSTALL}")


def _gather(root: Path, language: str, sound: Sound, spoken_in: str) -> GatheredItems:
    source = FolderSource(root)
    names = set(source.names())
    stamps = _stamps(names)
    if not stamps:
        raise DataError(f"{root} holds no stamp; {_INSTALL}")
    classes = _classes(list(stamps))
    gathered = GatheredItems()
    for stem, image in stamps.items():
        files = {"image": image}
        heard = _sound(stem, names, sound, spoken_in)
        if heard is not None:
            files["audio"] = heard
        text = _text(source, f"{stem}.txt", language, gathered.problems) if f"{stem}.txt" in names else None
        folders = PurePosixPath(stem).parts[:-1]
        metadata = {"stamp": PurePosixPath(stem).name, "folder": "/".join(folders) or None}
        gathered.items[stem] = Item(
            stem, stem, stem, files, () if text is None else (text,), classes[stem], metadata=metadata
        )
    return gathered


def _stamps(names: set[str]) -> dict[str, str]:
    """The image of each stamp by its name without the ending, in order."""
    found: dict[str, str] = {}
    for suffix in reversed(_IMAGES):
        for name in names:
            stem = name.removesuffix(suffix)
            if stem != name and not _VARIANT.search(stem):
                found[stem] = name
    return dict(sorted(found.items()))


def _classes(stems: Sequence[str]) -> dict[str, str]:
    """The class of each stamp: the folder at the top, or "other" where that holds few."""
    tops = {stem: PurePosixPath(stem).parts[0] if "/" in stem else OTHER for stem in stems}
    sizes = Counter(tops.values())
    return {stem: top if sizes[top] >= LEAST_OF_A_CLASS else OTHER for stem, top in tops.items()}


def _sound(stem: str, names: set[str], sound: Sound, language: str) -> str | None:
    """The sound of a stamp: in the language, in that without its country, or, of an effect, in none."""
    languages = dict.fromkeys([language, language.partition("@")[0], language.partition("_")[0]])
    endings = [f"_{each}" for each in languages]
    if sound == "spoken":
        endings = [f"_desc{ending}" for ending in endings]
        endings += ["_desc"] if ENGLISH in languages else []
    else:
        endings = ["", *endings]
    candidates = (f"{stem}{ending}{suffix}" for ending in endings for suffix in _SOUNDS)
    return next((name for name in candidates if name in names), None)


def _text(source: FolderSource, name: str, language: str, problems: list[Problem]) -> str | None:
    """The description of a stamp in a language; None where it has none."""
    try:
        content = source.peek(source.locate(name), _MOST_TEXT).decode("utf-8", "replace")
    except (OSError, RefusedNameError) as error:
        problems.append(Problem("text", name, f"cannot be read ({getattr(error, 'strerror', None) or error})"))
        return None
    lines = content.removeprefix("\ufeff").splitlines()
    found = {ENGLISH: clean_text(lines[0])} if lines else {}
    for line in lines[1:]:
        translation = _TRANSLATION.fullmatch(line.strip())
        if translation is not None and (text := clean_text(translation[2])):
            found[translation[1]] = text
    for each in (language, language.partition("@")[0], language.partition("_")[0]):
        if found.get(each):
            return found[each]
    return None
