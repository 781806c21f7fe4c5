"""What the name of an image file says about the image, if anything."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import PurePosixPath

from diptych.ingest.header_names import word_set

_CAMERAS = word_set(
    "img dsc dscn dscf dsci pxl mvi gopr dji dcim pict imgp sdc cimg kodak canon nikon sony wp whatsapp telegram "
    "signal screenshot screen shot screenshots capture bildschirmfoto snapshot image images imgs picture pictures pic "
    "pics "
    "photo photos foto fotos bild bilder frame frames scan scans thumb thumbnail thumbnails untitled unnamed unbenannt "
    "file files copy kopie copie final edited edit export temp tmp default original orig "
    "jpg jpeg png gif webp svg heic tiff bmp vid video sample samples item data dataset "
    "изображение картинка фото 画像 写真 图片 照片 이미지 사진"
)
"""Words that cameras and programs put into names, and words that say no more than that there is an image."""

_RARE = 25
"""Where fewer than one name in so many holds a word, the words are accidents of codes."""

_UUID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)
_PIECES = re.compile(r"[^\W\d_]+|\d+")
_LATIN_VOWELS = frozenset("aeiouyàáâãäåæèéêëìíîïòóôõöøùúûüýœ")


def text_of_name(name: str, folders: Iterable[str] = ()) -> str | None:
    """The words in the name of a file and of some folders above it; None where they say nothing.

    >>> text_of_name("a/red-running-shoe_01.jpg"), text_of_name("IMG_1234.jpg"), text_of_name("9f8a7b6c5d4e3f2a.png")
    ('red running shoe', None, None)
    """
    words = [word for part in (*folders, PurePosixPath(name).stem) for word in words_of_name(part)]
    kept = list(dict.fromkeys(words))
    return " ".join(kept) or None


def words_of_name(name: str) -> list[str]:
    """The words of one name that say something: no numbers, no codes, nothing a camera wrote."""
    plain = _UUID.sub(" ", unicodedata.normalize("NFC", name))
    words: list[str] = []
    for chunk in re.split(r"[\W_]+", plain):
        if chunk.casefold() not in _CAMERAS and not _is_code(chunk):
            parted = re.sub(r"(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", chunk)
            words += [word for word in re.findall(r"[^\W\d_]+", parted) if _says_something(word)]
    return words


def texts_of_names(names: Sequence[str], folders: Sequence[Sequence[str]]) -> list[str | None]:
    """The texts in the names of several files; none at all where every name says the same, or hardly any a word.

    Args:
        names: of the files.
        folders: for each file the names of those folders that say something about it.
    """
    texts = [text_of_name(name, above) for name, above in zip(names, folders, strict=True)]
    counts = Counter(text for text in texts if text is not None)
    same, rare = len(counts) == 1 and counts.total() > 1, counts.total() * _RARE < len(names)
    if same or rare:
        return [None] * len(names)
    return texts


def _is_code(chunk: str) -> bool:
    """Whether letters and digits alternate, or letters look like a hash or a random key."""
    pieces = _PIECES.findall(chunk)
    letters = "".join(piece for piece in pieces if not piece[0].isdigit())
    mixed = len(pieces) > 2 and any(piece[0].isdigit() for piece in pieces) and len(letters) < 3 * len(pieces)
    hexadecimal = re.fullmatch(r"[0-9a-f]{8,}|[0-9A-F]{8,}|(?=.*\d)(?:[0-9a-f]{4,}|[0-9A-F]{4,})", chunk) is not None
    changes = sum(one.islower() and other.isupper() for one, other in pairwise(chunk))
    return mixed or hexadecimal or (changes > 2 and changes * 4 > len(chunk))


def _says_something(word: str) -> bool:
    if word.casefold() in _CAMERAS:
        return False
    if not word.isascii():
        return len(word) >= 2 or "\u3040" <= word <= "\u9fff"
    return len(word) >= 3 and (bool(_LATIN_VOWELS.intersection(word.lower())) or word.isupper())
