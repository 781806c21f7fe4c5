"""Methods that learn nothing: features as they are, and random embeddings."""

from collections.abc import Mapping
from hashlib import shake_256

import numpy as np

from diptych._core.arrays import Features, Floats
from diptych._core.errors import ConfigError, FitError
from diptych._core.progress import Progress
from diptych.data import TrainingData
from diptych.evaluation.similarity import unit_rows
from diptych.methods.base import Method


class Identity(Method):
    """Zero-shot retrieval: the embedding of a row is the row itself, at unit length.

    For encoders that were trained together, such as the image and text encoders of CLIP or SigLIP
    (`--image-features onnx:DIR --text-features onnx:DIR`), whose features can be compared across modalities without any
    training. It uses neither labels nor pairs; all modalities must have the same number of columns. In a comparison it
    shows what the other methods add to the encoders.

    Equal widths do not imply a shared space: `auto` and the partner space of `cdmlmr` test it on validation.

    Example:
        >>> from diptych.methods import create
        >>> create("identity")
        Identity()
    """

    uses_pairs = False
    max_modalities = None
    citation = "A. Radford et al. Learning Transferable Visual Models from Natural Language Supervision. ICML 2021."

    def __init__(self) -> None:
        """There is nothing to set."""

    @classmethod
    def unsuited(cls, widths: Mapping[str, int]) -> str | None:
        """Why it cannot serve modalities of these widths; None where it can."""
        if len(set(widths.values())) < 2:
            return None
        found = ", ".join(f"{name} has {width}" for name, width in widths.items())
        return f"it compares features as they are, so all modalities need as many columns; {found}"

    def _fit(self, data: TrainingData, progress: Progress) -> None:
        widths = {name: data.train.columns[name].values.shape[1] for name in data.modalities}
        problem = self.unsuited(widths)
        if problem is not None:
            raise FitError(
                f"'identity' cannot be used here: {problem}. Describe the items with encoders that share a space "
                "(--image-features onnx:DIR --text-features onnx:DIR), or use a method that learns one, such as 'auto'."
            )
        self.spaces_ = {"partner": next(iter(widths.values()))}
        self.record_["chosen"] = {}

    def _embed(self, modality: str, rows: Features) -> Floats:
        return unit_rows(rows if isinstance(rows, np.ndarray) else rows.toarray())


class Chance(Method):
    """Give every row a pseudo-random embedding in [−1, 1) drawn from its content, its modality and the seed.

    Equal rows get equal embeddings, so the method is deterministic, but an embedding is independent of its row's class,
    pair and neighbours. Its retrieval scores vary around the chance level; the spread over seeds shows how much of a
    score can be due to chance.

    Args:
        dimensions: the length of an embedding.
        seed: which embeddings are drawn.

    Example:
        >>> from diptych.methods import create
        >>> create("chance", seed=3)
        Chance(seed=3)
    """

    stochastic = True
    max_modalities = None

    def __init__(self, dimensions: int = 16, seed: int = 0) -> None:
        self.dimensions = dimensions
        self.seed = seed

    def _fit(self, data: TrainingData, progress: Progress) -> None:
        if self.dimensions < 1:
            raise ConfigError(f"dimensions is {self.dimensions}; it must be at least 1.")
        self.record_["chosen"] = {}

    def _embed(self, modality: str, rows: Features) -> Floats:
        dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
        with np.errstate(over="ignore"):
            plain = np.ascontiguousarray(dense, dtype=np.float32) + np.float32(0)  # no -0.0, whose bytes differ
        key = f"{self.seed}\0{modality}\0".encode()
        words = b"".join(shake_256(key + row.tobytes()).digest(4 * self.dimensions) for row in plain)
        integers = np.frombuffer(words, dtype="<u4").reshape(len(plain), self.dimensions)
        return np.asarray(integers / 2.0**31 - 1.0)
