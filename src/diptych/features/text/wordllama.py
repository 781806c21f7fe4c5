"""WordLlama: a table of pretrained token embeddings, averaged; its weights come in a package."""

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
from diptych.data.modality import Kind
from diptych.features.contract import Block
from diptych.features.encoder_files import check_hash, file_hash, packaged_file
from diptych.features.text.passages import unit

DIMENSION = 256
PACKAGE = "wordllama"
EXTRA = "wordllama"
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"


@dataclass(frozen=True)
class WordLlama:
    """256 numbers of length one: the mean of a text's token embeddings, a hundred times faster than a transformer.

    The embeddings were taken from large language models and trained further so that their mean says what a text is
    about (D. L. Miller, "WordLlama", 2024). Order is lost; texts of any length are read whole.
    """

    learns: ClassVar[bool] = False

    def fit(self, items: Iterable[str], *, seed: int = 0, progress: Progress = silent) -> "WordLlamaExtractor":
        """Look up table and tokenizer; no item is read."""
        weights, tokenizer = file_hash(_file(_WEIGHTS)), file_hash(_file(_TOKENIZER))
        return WordLlamaExtractor(f"{PACKAGE}=={version(PACKAGE)}", weights, tokenizer)


@stateful
@dataclass(frozen=True)
class WordLlamaExtractor:
    """The encoder by the hashes of its files, which stay in their package.

    Attributes:
        package: the package and version, to name in errors.
        weights_sha256: what the file of the table must hash to.
        tokenizer_sha256: what the file of the tokenizer must hash to.
    """

    package: str
    weights_sha256: str
    tokenizer_sha256: str

    encodes: ClassVar[bool] = True

    @property
    def kind(self) -> Kind:
        """Real numbers."""
        return "dense"

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Columns without names of their own."""
        return (Block("wordllama", 0, DIMENSION, "one direction of the table's space"),)

    def __call__(self, items: Sequence[str]) -> Singles:
        """One row for each text; an empty text gives zeros."""
        table = _table(self.weights_sha256, self.package)
        means = np.zeros((len(items), DIMENSION), dtype=np.float32)
        for mean, text in zip(means, items, strict=True):
            tokens = self._tokens(text)
            if tokens:
                mean[:] = table[tokens].astype(np.float32).mean(axis=0)
        return unit(means)

    def knows(self, word: str) -> bool:
        """Whether the tokenizer makes anything of a word; it spells out what it does not know, byte by byte."""
        return bool(self._tokens(word))

    def has_word(self, word: str) -> bool:
        """Whether a word stands in the encoder's vocabulary as a whole; common words do, misspelled ones do not."""
        return len(self._tokens(word)) == 1

    def _tokens(self, text: str) -> list[int]:
        encoded = _tokenizer(self.tokenizer_sha256, self.package).encode(
            " ".join(text.split()), add_special_tokens=False
        )
        return list(encoded.ids)


def _file(name: str) -> Path:
    return packaged_file(PACKAGE, name, EXTRA)


@lru_cache(maxsize=1)
def _tokenizer(sha256: str, package: str) -> Any:  # noqa: ANN401
    check_hash(_file(_TOKENIZER), sha256, package)
    return optional_package("tokenizers", "this encoder", EXTRA).Tokenizer.from_file(str(_file(_TOKENIZER)))


@lru_cache(maxsize=1)
def _table(sha256: str, package: str) -> Any:  # noqa: ANN401
    """Tokens × dimension, float16 as it is stored."""
    from safetensors.numpy import load_file

    check_hash(_file(_WEIGHTS), sha256, package)
    return load_file(_file(_WEIGHTS))["embedding.weight"]
