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
        kind: the kind of its rows.
        extra: the optional dependency group it needs, if any.
    """

    target: str
    summary: str
    argument: Argument | None = None
    kind: Kind = "dense"
    extra: str | None = None


_VOCABULARY = Argument("size", "the number of words in the vocabulary")
_VISUAL_WORDS = Argument("words", "the number of visual words")
_MPEG7 = ("ColourStructure", "ScalableColour", "ColourLayout", "EdgeHistogram")


def _image(target: str, summary: str, argument: Argument | None = None) -> FeatureEntry:
    return FeatureEntry(f"image.{target}", summary, argument, extra="images")


FEATURES: dict[str, dict[str, FeatureEntry]] = {
    "image": {
        "nuswide": _image("nuswide:nuswide", "the six low-level descriptors of NUS-WIDE side by side"),
        "wikipedia": _image("wikipedia_recipe:wikipedia_pictures", "the descriptors of the Wikipedia experiments"),
        "colour-histogram": _image("colour_histogram:ColourHistogram", "which colours there are"),
        "colour-correlogram": _image("colour_correlogram:ColourCorrelogram", "which colours stand near themselves"),
        "edge-direction": _image("edge_direction:EdgeDirection", "how strongly edges run in each direction"),
        "wavelet-texture": _image("wavelet_texture:WaveletTexture", "energy of wavelet bands: what surfaces feel like"),
        "colour-moments": _image("colour_moments:ColourMoments", "roughly which colours are where"),
        "visual-words": _image("visual_words:VisualWords", "a bag of learned dense SIFT words", _VISUAL_WORDS),
        "phow": _image("visual_words:phow", "visual words at four sizes of patch", _VISUAL_WORDS),
        "gist": _image("gist:Gist", "the layout of a scene"),
        "mpeg7": _image("+image.".join(f"mpeg7:{name}" for name in _MPEG7), "colours and edges as MPEG-7 has them"),
        "efficientnet-lite0": _image("cnn:EfficientNetLite0", "a pretrained convolutional network"),
        "onnx": _image(
            "onnx_encoder:OnnxEncoder",
            "an encoder of your own",
            Argument("path", "the path of an ONNX file", whole=False, required=True),
        ),
    },
    "text": {
        "bow": FeatureEntry("text.bow:BagOfWords", "counts of the most frequent words", _VOCABULARY, "counts"),
        "tfidf": FeatureEntry("text.tfidf:TfIdf", "word counts weighted by rarity", _VOCABULARY),
        "lda": FeatureEntry("text.topics:Topics", "a mixture of topics", Argument("topics", "the number of topics")),
        "sentence": FeatureEntry("text.sentence:SentenceEncoder", "a pretrained sentence encoder", extra="sentence"),
    },
}
