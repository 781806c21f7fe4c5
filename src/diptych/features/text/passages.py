"""Passages of long texts: windows of an encoder's length whose embeddings are averaged, so that nothing is cut off."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from diptych._core.arrays import Singles
from diptych._core.errors import ConfigError
from diptych._core.state import stateful
from diptych.data.modality import Kind
from diptych.features.contract import Block

Tokens = NDArray[np.int64]
_TOKENS_AT_ONCE = 1_024
"""Tokens that pass through an encoder at once: enough to keep it busy, few enough to stay in the cache."""


@stateful
@dataclass(frozen=True)
class Passages:
    """How a long text is cut into passages.

    Attributes:
        length: the most tokens of a passage.
        overlap: the fewest tokens that neighbouring passages share, while `most` allows it.
        most: the most passages of a text; a longer text is read at that many places, evenly spread over it.
    """

    length: int
    overlap: int
    most: int

    def check(self) -> None:
        """Raise a ConfigError for settings that contradict each other."""
        if self.length < 1 or not 0 <= self.overlap < self.length or self.most < 1:
            raise ConfigError(
                f"passages of {self.length} tokens, {self.overlap} of them shared, at most {self.most}; "
                "the overlap must be shorter than a passage, and there must be 1 or more."
            )

    def of(self, tokens: Sequence[int]) -> list[Sequence[int]]:
        """Cut a text into passages: all of one length, from its first token to its last."""
        if len(tokens) <= self.length:
            return [tokens] if tokens else []
        needed = -(-(len(tokens) - self.overlap) // (self.length - self.overlap))
        starts = np.linspace(0, len(tokens) - self.length, min(needed, self.most)).round().astype(int)
        return [tokens[start : start + self.length] for start in starts]


@dataclass(frozen=True)
class PackagedExtractor(ABC):
    """A pretrained encoder known by the hashes of its files, which stay in their package.

    Attributes:
        package: the package and version of the weights, to name in errors.
        weights_sha256: what the file of the weights must hash to.
        tokenizer_sha256: what the file of the tokenizer must hash to.
    """

    package: str
    weights_sha256: str
    tokenizer_sha256: str

    encodes: ClassVar[bool] = True
    name: ClassVar[str]
    dimension: ClassVar[int]
    kind: ClassVar[Kind] = "dense"

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Columns without names of their own."""
        return (Block(self.name, 0, self.dimension, "one direction of the encoder's space"),)

    @abstractmethod
    def tokens(self, text: str) -> Sequence[int]:
        """The pieces of a text's words; none where every word is unknown."""

    def knows(self, word: str) -> bool:
        """Whether the encoder can make anything of a word."""
        return bool(self.tokens(word))

    def has_word(self, word: str) -> bool:
        """Whether a word stands in the encoder's vocabulary as a whole; common words do, misspelled ones do not."""
        return len(self.tokens(word)) == 1


@dataclass(frozen=True)
class PassageExtractor(PackagedExtractor):
    """Such an encoder that reads texts by passages.

    Attributes:
        passages: how long texts are cut.
    """

    passages: Passages


def encode_passages(
    texts: Sequence[Sequence[int]], passages: Passages, encode: Callable[[Tokens], Singles], dimension: int
) -> Singles:
    """Embed texts by their tokens: the mean of the embeddings of their passages, brought to length one.

    Only passages of the same length pass through the encoder together, because padding would change last digits:
    a row does not depend on the others.

    Args:
        texts: the tokens of each text; none give a row of zeros.
        passages: how to cut them.
        encode: gives one row for each row of tokens.
        dimension: the length of a row.
    """
    pieces = [(number, piece) for number, tokens in enumerate(texts) for piece in passages.of(tokens)]
    rows = np.zeros((len(pieces), dimension), dtype=np.float32)
    for batch in _batches([len(piece) for _, piece in pieces]):
        rows[batch] = unit(encode(np.array([pieces[position][1] for position in batch], dtype=np.int64)))
    sums = np.zeros((len(texts), dimension), dtype=np.float32)
    for (number, _), row in zip(pieces, rows, strict=True):
        sums[number] += row
    return unit(sums)


def unit(rows: Singles) -> Singles:
    """Scale rows to length one; rows of zeros stay."""
    lengths = np.sqrt(np.square(rows, dtype=np.float64).sum(axis=1, keepdims=True))
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Positions of pieces of equal length, as many as fit through at once."""
    order = sorted(range(len(lengths)), key=lambda position: lengths[position])
    start = 0
    while start < len(order):
        length = lengths[order[start]]
        stop = start
        while stop < len(order) and lengths[order[stop]] == length and (stop - start) * length < _TOKENS_AT_ONCE:
            stop += 1
        yield order[start:stop]
        start = stop
