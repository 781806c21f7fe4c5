"""The kinds of media files: how each is recognised, decoded, drawn small, named in tables and shown on the page.

A kind is one line in `KINDS` and one module that decodes it (`MediaReader`). Everything between the file and the
features (ingest, up, search, serving) asks this registry and speaks of kinds by name. Texts are no kind: they are not
decoded, and come from cells of tables as well as from files.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, cast

from numpy.typing import NDArray

from diptych._core.errors import ConfigError, DataError
from diptych.media.formats import (
    AUDIO_SUFFIXES,
    IMAGE_SUFFIXES,
    UNSUPPORTED_AUDIO_SUFFIXES,
    UNSUPPORTED_SUFFIXES,
    content_problem,
    content_type,
    conversion_advice,
    is_of_type,
    unsupported_format,
)


class MediaError(DataError):
    """A file that cannot be decoded, with the reason."""


class MediaTooLargeError(MediaError):
    """A file that exceeds the limits, with the reason."""


@dataclass(frozen=True)
class MediaLimits:
    """Limits to one file; a reader heeds those that concern its kind.

    Attributes:
        max_bytes: of the file.
        max_pixels: of an image.
        max_seconds: of a sound.
        max_side: of an image, in pixels.
        max_memory: bytes that decoding an image may take at its peak; None for no limit besides the others.
    """

    max_bytes: int = 200 * 2**20
    max_pixels: int = 100_000_000
    max_seconds: float = 600.0
    max_side: int = 30_000
    max_memory: int | None = None


class MediaReader(Protocol):
    """What the module of a kind holds."""

    def decode(self, data: bytes, limits: MediaLimits) -> NDArray[Any]:
        """Decode the content of a file into what feature extractors take.

        Raises:
            MediaTooLargeError: when it exceeds the limits, before more than these is decoded.
            MediaError: when it is no such file, or a damaged one.
        """

    def cost(self, data: bytes, limits: MediaLimits) -> int:
        """Read the header alone and say how many values the decoded item will have, in the unit of pixels.

        Raises:
            MediaTooLargeError: when the header exceeds the limits.
            MediaError: when it is no such file.
        """

    def thumbnail(self, item: NDArray[Any]) -> bytes:
        """Draw a decoded item as a small image, encoded."""

    def blank(self) -> NDArray[Any]:
        """A small item without content, to try feature extractors with."""


@dataclass(frozen=True)
class MediaKind:
    """One kind of media file.

    Attributes:
        name: of the kind, and of the modality that is made of it; its features are registered under it.
        noun: one file of it with its article, for sentences: "a sound".
        plural: several: "sounds".
        reader: the module that decodes it, a `MediaReader`.
        extra: of diptych, which installs what the reader imports.
        suffixes: how names of files end that can be decoded.
        unsupported: how names of files of the kind end that cannot be, and what these files are.
        convert_to: what such files are best converted to.
        column_names: usual names of columns that hold it, the most telling first, words of one joined by hyphens.
        signatures: first bytes of its files, where `content_type` does not know them.
        problem: says by first bytes why a file cannot be decoded; by default all that is not of the kind is refused.
        served: content types that a browser shows or plays safely; all others are handed over as files.
        page: the file under `serving/page` that shows one.
    """

    name: str
    noun: str
    plural: str
    reader: str
    extra: str
    suffixes: Sequence[str]
    unsupported: Mapping[str, str] = field(default_factory=dict)
    convert_to: str = ""
    column_names: str = ""
    signatures: tuple[bytes, ...] = ()
    problem: Callable[[bytes], str | None] | None = None
    served: frozenset[str] = frozenset()
    page: str | None = None

    def has_name(self, name: str) -> bool:
        """Return whether a file's name ends like that of one which can be decoded."""
        return name.lower().endswith(tuple(self.suffixes))

    def name_problem(self, name: str) -> str | None:
        """Say why a file of this kind cannot be decoded, by its name's end; None where that says nothing."""
        found = next((what for suffix, what in self.unsupported.items() if name.lower().endswith(suffix)), None)
        return None if found is None else conversion_advice(found, self.convert_to)

    def has_content(self, start: bytes) -> bool:
        """Return whether a file is of this kind by its first bytes."""
        return is_of_type(content_type(start), self.name) or start.startswith(self.signatures)

    def content_problem(self, start: bytes) -> str | None:
        """Say why a file cannot be decoded, by its first bytes; None where it may be sound."""
        if self.problem is not None:
            return self.problem(start)
        if not start:
            return "the file is empty"
        return None if self.has_content(start) else f"not {self.noun}: its first bytes are of no known format"

    def load(self) -> MediaReader:
        """Import the reader.

        Raises:
            ConfigError: when an optional package is missing; the message says what to type.
        """
        try:
            return cast(MediaReader, import_module(self.reader))
        except ModuleNotFoundError as error:
            if str(error.name).startswith("diptych"):
                raise
            raise ConfigError(
                f"reading {self.plural} needs the optional package '{error.name}'; run: "
                f"pip install 'diptych[{self.extra}]'"
            ) from None


def audio_problem(start: bytes) -> str | None:
    """Say what is wrong with a sound by its first bytes; None where it may be one that can be decoded.

    Unlike images, all sounds that are decoded have a signature, so that what has none is refused.
    """
    if not start:
        return "the file is empty"
    content, unsupported = content_type(start), unsupported_format(start)
    if unsupported is not None:
        return conversion_advice(unsupported, "WAV or FLAC")
    if is_of_type(content, "audio"):
        return None
    held = "text" if content == "text/plain" else "an image" if is_of_type(content, "image") else None
    return f"not a sound: it holds {held}" if held else "not a sound: its first bytes are of no known format"


KINDS: dict[str, MediaKind] = {
    "image": MediaKind(
        name="image",
        noun="an image",
        plural="images",
        reader="diptych.media.decoding",
        extra="images",
        suffixes=IMAGE_SUFFIXES,
        unsupported=UNSUPPORTED_SUFFIXES,
        convert_to="JPEG or PNG",
        column_names=(
            "image images picture pictures photo photos img imgs image-path image-file image-name image-filename "
            "image-url image-link photo-url img-url picture-url image-src main-image thumbnail "
            "file path filename file-name filepath file-path media media-url "
            "bild bilder foto fotos bilddatei bildpfad bildname bild-url abbildung "
            "photographie fichier chemin imagen imagenes fotografia archivo ruta immagine immagini "
            "imagem imagens arquivo caminho afbeelding afbeeldingen plaatje zdjecie zdjecia obraz obrazek plik "
            "kuva bilde billede resim gorsel fotograf obrazok kep "
            "изображение изображения картинка картинки фото фотография файл путь зображення світлина "
            "画像 写真 イメージ 図 图片 图像 照片 圖片 圖像 이미지 사진 그림 "
            "รูปภาพ ภาพ รูป صورة الصورة תמונה εικονα hinh-anh"
        ),
        problem=content_problem,
        served=frozenset({"image/avif", "image/bmp", "image/gif", "image/jpeg", "image/png", "image/webp"}),
    ),
    "audio": MediaKind(
        name="audio",
        noun="a sound",
        plural="sounds",
        reader="diptych.media.audio",
        extra="audio",
        suffixes=AUDIO_SUFFIXES,
        unsupported=UNSUPPORTED_AUDIO_SUFFIXES,
        convert_to="WAV or FLAC",
        column_names=(
            "audio audios sound sounds recording recordings clip clips wav audio-path audio-file audio-name "
            "audio-filename audio-url audio-link sound-file sound-path sound-url recording-file track voice speech "
            "utterance song music "
            "ton tone audiodatei tondatei klang gerausch gerausche aufnahme aufnahmen stimme lied "
            "son sons enregistrement enregistrements voix bruit sonido sonidos grabacion grabaciones voz cancion "
            "suono suoni registrazione voce som gravacao geluid geluiden opname dzwiek nagranie ljud inspelning lyd "
            "opptak aani aanite ses kayit zvuk nahravka "
            "звук звуки аудио запись записи голос песня аудіо запис "
            "音声 音 録音 オーディオ 音频 声音 录音 音頻 聲音 錄音 오디오 소리 음성 녹음 "
            "เสียง صوت الصوت קול ηχος am-thanh"
        ),
        problem=audio_problem,
        served=frozenset({"audio/flac", "audio/mpeg", "audio/ogg", "audio/wav"}),
        page="audio.js",
    ),
}
"""By name; the order is that in which modalities are listed and one of them stands for an item."""


def media_kind(name: str) -> MediaKind:
    """Return the kind of a name.

    Raises:
        ConfigError: when there is none.
    """
    if name not in KINDS:
        raise ConfigError(f"there is no kind of media '{name}'; there are {', '.join(KINDS)}.")
    return KINDS[name]


def media_column(kind: str) -> str:
    """Return the column of a dataset that names the files of a kind.

    >>> media_column("image"), media_column("audio")
    ('media', 'media_audio')
    """
    return "media" if kind == "image" else f"media_{kind}"


def kind_of_name(name: str) -> str | None:
    """Return the kind of a file that can be decoded, by its name's end; None where it is of none."""
    return next((kind.name for kind in KINDS.values() if kind.has_name(name)), None)


def kind_of_content(start: bytes) -> str | None:
    """Return the kind of a file by its first bytes; None where they do not tell."""
    return next((kind.name for kind in KINDS.values() if kind.has_content(start)), None)


def is_media_name(name: str) -> bool:
    """Return whether a file's name ends like that of any kind of media, one that cannot be decoded included."""
    return any(kind.has_name(name) or kind.name_problem(name) is not None for kind in KINDS.values())


def read_raw(item: str | PathLike[str] | bytes, noun: str) -> tuple[str, bytes]:
    """Read the file at a path, at most as much of it as is ever decoded; bytes are taken as they are.

    Returns:
        What to call it in messages, and its content.

    Raises:
        DataError: when the file cannot be read, or the item is neither a path nor bytes.
    """
    if isinstance(item, bytes):
        return "the given bytes", item
    if not isinstance(item, str | PathLike):
        raise DataError(f"{noun} is a {type(item).__name__}; give a path, the bytes of a file or an array.")
    try:
        with Path(item).open("rb") as file:
            return str(item), file.read(MediaLimits().max_bytes + 1)
    except OSError as error:
        raise DataError(f"{item} cannot be read ({error.strerror}); give the path of {noun}.") from None
