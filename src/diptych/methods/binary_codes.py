"""Binary codes: the signs of centred, rotated embeddings, as an output of any fitted model."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from diptych._core.arrays import Features, Floats, Singles
from diptych._core.errors import ConfigError, DataError, NotFittedError
from diptych._core.seeding import generator
from diptych._core.state import stateful
from diptych.data import Arrays, Dataset, as_dataset
from diptych.methods.purposes import Purpose

Codes = NDArray[np.uint8]

FEWEST_BITS, MOST_BITS = 32, 1_024
_ROUNDS = 50
_MOST_ROWS = 10_000
_LEAST_VARIANCE = 1e-10


def check_bits(bits: int) -> None:
    """Refuse a number of bits that no code has.

    Raises:
        ConfigError: naming it.
    """
    if isinstance(bits, bool) or not isinstance(bits, int) or bits % 8 or not FEWEST_BITS <= bits <= MOST_BITS:
        raise ConfigError(f"bits is {bits!r}; it must be a multiple of 8 between {FEWEST_BITS} and {MOST_BITS}.")


@stateful
@dataclass(frozen=True)
class BinaryCodes:
    """How an embedding becomes bits, and what a code stands for.

    Bit b of an embedding e is 1 where (e / ‖e‖ − centre) · rotation_b > 0. Bits are packed eight to a byte, the first
    in the lowest place, so that 256 bits are 32 bytes.

    Attributes:
        centre: the mean of unit embeddings.
        rotation: columns of the embedding × bits.
        decoder: bits × columns of the embedding: a code stands for the embedding centre + (2 bits − 1) · decoder.
    """

    centre: Singles
    rotation: Singles
    decoder: Singles

    @property
    def bits(self) -> int:
        """How many bits a code has."""
        return int(self.rotation.shape[1])

    def encode(self, embeddings: Floats | Singles) -> Codes:
        """The codes of embeddings of any length but zero: one row of bytes each."""
        return np.packbits((unit_rows(embeddings) - self.centre) @ self.rotation > 0, axis=1, bitorder="little")

    def decode(self, codes: Codes) -> Singles:
        """The unit embeddings that codes stand for: the least-squares guess from the signs."""
        # In double precision, so that equal codes give equal numbers however many are decoded together.
        signs = 2.0 * np.unpackbits(codes, axis=1, bitorder="little").astype(np.float64) - 1.0
        vectors = self.centre.astype(np.float64) + signs @ self.decoder.astype(np.float64)
        norms = np.sqrt(np.square(vectors).sum(axis=1, keepdims=True))
        return np.asarray(vectors / np.maximum(norms, 1e-12), dtype=np.float32)


def check_codes(model: "Binarisable", width: int | None = None) -> None:
    """Refuse codes from a file whose parts do not fit together.

    Raises:
        TypeError, ValueError: for whoever reads the file to make a sentence of.
    """
    codes = getattr(model, "codes_", None)
    if codes is None:
        return
    columns, bits = np.shape(codes.rotation)
    if not isinstance(codes, BinaryCodes) or bits % 8 or width not in (None, columns):
        raise TypeError("the binary codes are not those of its embeddings")
    if np.shape(codes.centre) != (columns,) or np.shape(codes.decoder) != (bits, columns):
        raise ValueError("the parts of the binary codes differ in size")


def unit_rows(rows: Floats | Singles) -> Singles:
    """Rows at length one, in single precision; a row of zeros stays one."""
    values = np.asarray(rows, dtype=np.float32)
    norms = np.linalg.norm(values, axis=1, keepdims=True)
    return np.asarray(np.divide(values, norms, out=np.zeros_like(values), where=norms > 0))


def learn_codes(embeddings: Floats | Singles, bits: int, *, seed: int = 0) -> BinaryCodes:
    """Learn codes by iterative quantisation (Gong and Lazebnik, CVPR 2011).

    Unit embeddings are centred and projected on as many principal axes as there are bits; the rotation of these that
    makes coordinates most like their signs is found by turns of rounding and orthogonal Procrustes. Where there are
    more bits than axes, the further bits come from random rotations of the axes: each is one more vote on the angle.

    Args:
        embeddings: of all modalities, one row each; of more than 10,000 so many are drawn.
        bits: how long a code is.
        seed: of the first rotation, and of what is drawn.
    """
    check_bits(bits)
    rows = unit_rows(embeddings)
    random = generator(seed, "binary codes")
    if len(rows) > _MOST_ROWS:
        rows = rows[np.sort(random.choice(len(rows), _MOST_ROWS, replace=False))]
    centre = rows.mean(axis=0)
    centred = rows - centre
    variances, axes = np.linalg.eigh(centred.T.astype(np.float64) @ centred)
    kept = np.flatnonzero(variances > _LEAST_VARIANCE * max(float(variances[-1]), 1e-300))[::-1][:bits]
    if len(rows) < 2 or not len(kept):
        raise DataError("all embeddings are the same, so there is nothing to make binary codes of.")
    leading = axes[:, kept]
    projected = centred @ leading
    starts = [random_rotation(len(kept), random)]
    if len(kept) == len(axes):  # columns that were trained to be signs should stay as they are
        starts.append(leading.T)
    rotations = [itq_rotation(projected, start) for start in starts]
    blocks = [leading @ min(rotations, key=lambda rotation: _sign_loss(projected @ rotation))]
    while sum(block.shape[1] for block in blocks) < bits:
        blocks.append(leading @ random_rotation(len(kept), random))
    rotation = np.hstack(blocks)[:, :bits].astype(np.float32)
    signs = np.where(centred @ rotation > 0, 1.0, -1.0)
    ridge = 1e-3 * len(rows) * np.eye(bits)
    decoder = np.linalg.solve(signs.T @ signs + ridge, signs.T @ centred)
    return BinaryCodes(centre, rotation, decoder.astype(np.float32))


def random_rotation(size: int, random: np.random.Generator) -> Floats:
    """A rotation drawn at random."""
    orthogonal, triangle = np.linalg.qr(random.standard_normal((size, size)))
    return np.asarray(orthogonal * np.sign(np.diag(triangle)))


def itq_rotation(rows: Floats, start: Floats, rounds: int = _ROUNDS) -> Floats:
    """The rotation R that makes ‖sign(V R) − V R‖² small, from a start, by alternating minimisation.

    Args:
        rows: V, centred.
        start: an orthogonal matrix.
        rounds: how often signs and rotation are updated.
    """
    rotation = start
    for _ in range(rounds):
        signs = np.where(rows @ rotation > 0, 1.0, -1.0)
        left, _, right = np.linalg.svd(rows.T @ signs, full_matrices=False)
        rotation = left @ right
    return np.asarray(rotation)


def _sign_loss(rows: Floats) -> float:
    """How far rows are from their signs, at the length that suits them best."""
    return float(np.square(rows).sum() - np.abs(rows).sum() ** 2 / rows.size)


class Binarisable(ABC):
    """Something fitted whose embeddings can be given as binary codes.

    Attributes:
        codes_: how; there once `binarise` has run, and saved with the model.
    """

    codes_: BinaryCodes

    @property
    @abstractmethod
    def modalities(self) -> tuple[str, ...]:
        """The modalities it was fitted on."""

    @abstractmethod
    def embed(self, modality: str, features: Features, purpose: Purpose = "auto") -> Singles:
        """Embed rows of one modality."""

    @property
    def bits(self) -> int:
        """How long its binary codes are; 0 where it has none."""
        codes = getattr(self, "codes_", None)
        return 0 if codes is None else int(codes.bits)

    def binarise(
        self,
        bits: int,
        data: Dataset | Arrays,
        *,
        pairs: Any = None,  # noqa: ANN401 - a table of row numbers
        seed: int = 0,
    ) -> Self:
        """Learn binary codes of the embeddings from training items of all modalities; no label or pair is looked at.

        Of a model with several spaces it is the one that `embed` gives by default. Save the model again afterwards.

        Args:
            bits: how long a code is: a multiple of 8, such as 64, 128, 256 or 512.
            data: the dataset it was fitted on, whose training items are used; or arrays by modality.
            pairs: which rows of the arrays belong together, as in `fit`.
            seed: of the first rotation.

        Example:
            >>> import numpy as np, diptych
            >>> random = np.random.default_rng(0)
            >>> X = random.normal(size=(300, 40)); Y = X @ random.normal(size=(40, 40))
            >>> model = diptych.CCA(components=32, ridge=0.1).fit({"image": X, "text": Y})
            >>> model.binarise(64, {"image": X, "text": Y}).embed_bits("image", X).shape
            (300, 8)
        """
        check_bits(bits)
        splits = None if isinstance(data, Dataset) else "train"
        train = as_dataset(f"{type(self).__name__}.binarise", data, None, splits=splits, pairs=pairs).split("train")
        parts = {name: train.having(name) for name in self.modalities}
        rows = [self.embed(name, part.features(name)) for name, part in parts.items() if len(part)]
        if not rows:
            raise DataError("there is no training item to learn binary codes from; give the dataset of the fit.")
        self.codes_ = learn_codes(np.concatenate(rows), bits, seed=seed)
        getattr(self, "saved_as", self).codes_ = self.codes_
        return self

    def embed_bits(self, modality: str, features: Features) -> Codes:
        """The binary codes of rows of one modality: one row of bytes each, to be compared by Hamming distance.

        Raises:
            NotFittedError: when `binarise` has not run.
        """
        if not self.bits:
            raise NotFittedError("this model has no binary codes; call binarise first, or fit with --bits.")
        return self.codes_.encode(self.embed(modality, features))
