"""A text encoder in a folder, as Optimum and open_clip export it, with its tokenizer."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from diptych._core.arrays import Singles
from diptych._core.errors import ConfigError
from diptych._core.progress import Progress, silent
from diptych._core.state import stateful
from diptych.features.encoder_files import (
    FLOATS,
    INTEGERS,
    EncoderFolder,
    GraphExtractor,
    choose_output,
    describe_inputs,
    graph_hash,
    open_graph,
)
from diptych.features.text.onnx_tokens import TokenRule, read_token_rule
from diptych.features.text.passages import Passages, encode_passages

Pooling = Literal["none", "mean", "first"]
_OUTPUTS = (
    *("text_embeds", "text_embedding", "text_features", "sentence_embedding", "embeddings"),
    *("pooler_output", "last_hidden_state", "token_embeddings"),
)
_IDS = ("input_ids", "text", "tokens", "input")
_MASKS = ("attention_mask", "mask")
_TOKEN_TYPES = ("token_type_ids",)


@stateful
@dataclass(frozen=True)
class FolderTextExtractor(GraphExtractor):
    """An exported text encoder, its tokenizer by path and hash, and how texts enter.

    Attributes:
        rule: how texts become tokens.
        pooling: how a row is made of an output with one for each token.
        passages: how long texts are cut.
        image: the shape of the black image that a graph which reads images too is given; none where it does not.
    """

    rule: TokenRule
    pooling: Pooling
    passages: Passages
    image: tuple[int, ...]

    media_type: ClassVar[str] = "text"
    encodes: ClassVar[bool] = True

    def __call__(self, items: Sequence[str]) -> Singles:
        """One row of length one for each text; a text without a known token gives zeros."""
        session = self.open()

        def encode(passages: NDArray[np.int64]) -> Singles:
            # One by one: together, last digits would differ.
            return np.concatenate([self.encode_tokens(session, each[None]) for each in passages])

        tokens = [self.rule.tokens(text) for text in items]
        return encode_passages(tokens, self.passages, encode, self.dimension)

    def encode_tokens(self, session: Any, passages: NDArray[np.int64]) -> Singles:  # noqa: ANN401
        """Run the graph on passages of one length."""
        ids, mask = self.rule.rows(passages)
        inputs: dict[str, NDArray[Any]] = {}
        for each in session.get_inputs():
            if each.type in FLOATS:
                inputs[each.name] = np.zeros(self.image, dtype=FLOATS[each.type])
                continue
            values = mask if each.name in _MASKS else np.zeros_like(ids) if each.name in _TOKEN_TYPES else ids
            inputs[each.name] = values.astype(INTEGERS[each.type])
        (rows,) = session.run([self.output], inputs)
        if self.pooling == "first":
            rows = rows[:, 0]
        elif self.pooling == "mean":
            rows = (rows * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return np.asarray(rows, dtype=np.float32)

    def knows(self, word: str) -> bool:
        """Whether the encoder can make anything of a word."""
        return bool(self.rule.tokens(word))


@dataclass(frozen=True)
class FolderTextEncoder:
    """A text encoder exported to a folder: rows are its embeddings at length one. Nothing is learned from items.

    Texts longer than the encoder takes are read by overlapping passages.

    Attributes:
        path: the folder.
        output: which output to read; the text embedding if not given.
        passages: the most passages of a text; a longer one is read at that many places, evenly spread over it.
    """

    path: str
    output: str | None = None
    passages: int = 16

    learns: ClassVar[bool] = False

    def fit(self, items: Iterable[str], *, seed: int = 0, progress: Progress = silent) -> FolderTextExtractor:
        """Read the folder and send one token through the graph to learn a row's length; no item is read.

        Raises:
            ConfigError: when something is missing from the folder, or does not fit; the message names it.
            DataError: when a file cannot be read.
        """
        folder = EncoderFolder.at(self.path)
        graph = folder.graph("text")
        sha256 = graph_hash(graph)
        session = open_graph(graph, sha256)
        ids, takes_mask = _text_input(session, graph)
        fixed = ids.shape[1] if isinstance(ids.shape[1], int) else None
        rule = read_token_rule(folder, fixed, takes_mask=takes_mask)
        output = choose_output(session, graph, self.output, _OUTPUTS)
        pooling = _pooling(session, graph, output, folder)
        passages = Passages(rule.room, rule.room // 8, self.passages)
        passages.check()
        image = _image_shape(session, folder)
        extractor = FolderTextExtractor(str(graph.resolve()), sha256, output, 0, rule, pooling, passages, image)
        row = extractor.encode_tokens(session, np.zeros((1, 1), dtype=np.int64))
        return replace(extractor, dimension=row.shape[1])


def _text_input(session: Any, graph: Path) -> tuple[Any, bool]:  # noqa: ANN401
    """The input that takes tokens, and whether another takes a mask."""
    inputs = session.get_inputs()
    numbers = [each for each in inputs if each.type in INTEGERS]
    images = [each for each in inputs if each.type in FLOATS and len(each.shape) == 4]
    named = [each for each in numbers if each.name in _IDS] or numbers[:1]
    known = [each for each in numbers if each in named[:1] or each.name in (*_MASKS, *_TOKEN_TYPES)]
    if not named or len(named[0].shape) != 2 or len(known) + len(images) != len(inputs):
        raise ConfigError(
            f"{graph} should take tokens (input_ids, texts × tokens), with or without attention_mask and "
            f"token_type_ids, and nothing but an image beside; it takes {describe_inputs(session)}."
        )
    return named[0], any(each.name in _MASKS for each in numbers)


def _image_shape(session: Any, folder: EncoderFolder) -> tuple[int, ...]:  # noqa: ANN401
    """The shape of one image for a graph that reads images too; none for others."""
    shapes = [each.shape for each in session.get_inputs() if each.type in FLOATS]
    if not shapes:
        return ()
    _, _, height, width = shapes[0]
    if isinstance(height, int) and isinstance(width, int):
        return 1, 3, height, width
    from diptych.features.image.preprocessing import read_preprocessing  # needs what reads images

    prepared = read_preprocessing(folder)
    return 1, 3, prepared.height, prepared.width


def _pooling(session: Any, graph: Path, output: str, folder: EncoderFolder) -> Pooling:  # noqa: ANN401
    """How a row is made of an output: as it is, or over tokens as the folder of a sentence encoder says."""
    axes = len(next(each.shape for each in session.get_outputs() if each.name == output))
    if axes == 2:
        return "none"
    if axes != 3:
        raise ConfigError(f"{graph}: the output '{output}' has {axes} axes; name one that gives a row for each text.")
    settings = folder.json("1_Pooling/config.json") or {}
    return "first" if settings.get("pooling_mode_cls_token") else "mean"
