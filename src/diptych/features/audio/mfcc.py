"""Mel-frequency cepstral coefficients: the shape of the spectrum, and how it moves (Davis & Mermelstein 1980)."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from diptych._core.arrays import Floats, Singles
from diptych._core.errors import ConfigError
from diptych._core.state import stateful
from diptych.features.audio.logmel import check_bands, check_sound, heard
from diptych.features.contract import Block, FixedFeature
from diptych.media.spectrogram import log_mel

REACH = 2
"""Frames on each side of one that its delta looks at."""

_SERIES = ("", "delta ", "second delta ")
_MEANINGS = ("cepstral coefficient c", "slope over time of cepstral coefficient c, a frame", "slope of that slope")


@lru_cache(maxsize=8)
def cosines(bands: int, coefficients: int) -> Floats:
    """Compute the first columns of the orthonormal discrete cosine transform (type II), bands × coefficients."""
    places = np.arange(bands)[:, None] + 0.5
    table: Floats = np.sqrt(2 / bands) * np.cos(np.pi / bands * places * np.arange(coefficients))
    table[:, 0] = np.sqrt(1 / bands)
    return table


def deltas(series: Floats) -> Floats:
    """Compute the slope of every column at every frame: least squares over two frames on each side, ends repeated.

    Δ_t = Σ_k k (x_{t+k} − x_{t−k}) / (2 Σ_k k²) for k = 1, 2, as HTK has it.
    """
    padded = np.pad(series, ((REACH, REACH), (0, 0)), mode="edge")
    count = len(series)
    slope = np.zeros_like(series)
    for step in range(1, REACH + 1):
        slope += step * (padded[REACH + step :][:count] - padded[REACH - step :][:count])
    return slope / (2 * sum(step * step for step in range(1, REACH + 1)))


@stateful
@dataclass(frozen=True)
class Mfcc(FixedFeature[Singles]):
    """Means and standard deviations over time of cepstral coefficients, their deltas and second deltas.

    The coefficients of a frame are the orthonormal cosine transform (DCT-II) of its log-mel levels: c = 0 is √B times
    the mean level, c = 1 the tilt from low to high frequencies, higher ones ever finer shapes. With C coefficients,
    columns c, C + c and 2 C + c are the means of coefficient c, its delta and its second delta over the frames that
    are no pauses, and 3 C + c, 4 C + c and 5 C + c their standard deviations. Loudness changes column 0 alone.

    Attributes:
        coefficients: how many.
        bands: mel bands from 50 to 8,000 Hz that they summarise.
    """

    coefficients: int = 20
    bands: int = 40

    @property
    def blocks(self) -> tuple[Block, ...]:
        """A block for the mean and one for the deviation of the coefficients, their deltas and second deltas."""
        names = [
            (f"{series}MFCC {statistic}", f"{words} of the {meaning}; column c, from 0.")
            for statistic, words in (("mean", "Mean"), ("deviation", "Standard deviation"))
            for series, meaning in zip(_SERIES, _MEANINGS, strict=True)
        ]
        size = self.coefficients
        return tuple(Block(name, size * at, size * (at + 1), meaning) for at, (name, meaning) in enumerate(names))

    def check(self, item: Singles) -> Singles:
        """Return the sound if it is one; see `check_sound`.

        Raises:
            ConfigError: for more coefficients than bands.
        """
        if not 1 <= self.coefficients <= check_bands(self.bands):
            raise ConfigError(f"coefficients is {self.coefficients}; choose from 1 to {self.bands}, the mel bands.")
        return check_sound(item)

    def describe(self, sound: Singles, /) -> Singles:
        """The row of one sound."""
        cepstra = heard(log_mel(sound, self.bands)).astype(np.float64) @ cosines(self.bands, self.coefficients)
        slopes = deltas(cepstra)
        series = np.hstack([cepstra, slopes, deltas(slopes)])
        return np.concatenate([series.mean(axis=0), series.std(axis=0)]).astype(np.float32)
