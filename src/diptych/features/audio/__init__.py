"""Features of sounds: log-mel statistics and mel-frequency cepstral coefficients; pretrained encoders are in `onnx`."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from diptych._core.arrays import Floats, Singles
from diptych._core.errors import ConfigError, DataError
from diptych._core.state import stateful
from diptych.features.contract import Block, FixedFeature
from diptych.media.spectrogram import log_mel

HEARD_DB = 60.0
"""Frames that are more than this below the loudest one are pauses, and count for nothing."""
LEAST_BANDS, MOST_BANDS = 8, 128
PERCENTILE = 95.0

_STATISTICS = {
    "log-mel mean": "Mean level over time in a mel band, in dB below a full-scale tone; column b is band b from below.",
    "log-mel deviation": "Standard deviation over time of the level in a mel band, in dB.",
    "log-mel peak": f"Level in a mel band that is exceeded for {100 - PERCENTILE:g} % of the time, in dB.",
    "log-mel change": "Mean change of the level in a mel band from one frame to the next 10 ms later, in dB.",
}


def check_sound(sound: Singles) -> Singles:
    """Return the sound if it is one.

    Raises:
        DataError: if it is not a row of float32 samples, or is empty.
    """
    if sound.ndim != 1 or sound.dtype != np.float32 or sound.size == 0:
        raise DataError(
            f"a sound is an array of {sound.dtype} of shape {sound.shape}; give one channel of float32 samples at "
            "16,000 a second, at least one."
        )
    return sound


def check_bands(bands: int) -> int:
    """Return the number of mel bands if it can be had.

    Raises:
        ConfigError: if it is too small or too large for the resolution of the transform.
    """
    if not LEAST_BANDS <= bands <= MOST_BANDS:
        raise ConfigError(f"bands is {bands}; choose from {LEAST_BANDS} to {MOST_BANDS} mel bands.")
    return bands


def heard(levels: Singles) -> Singles:
    """Return the frames that are not pauses: within 60 dB of the loudest; all of them where there is only silence."""
    loudness = levels.max(axis=1)
    kept: Singles = levels[loudness >= loudness.max() - HEARD_DB]
    return kept


@stateful
@dataclass(frozen=True)
class LogMel(FixedFeature[Singles]):
    """Statistics over time of the log-mel spectrogram: four numbers for each band of frequencies.

    With B bands, columns b, B + b, 2 B + b and 3 B + b are of band b, the bands counted from the lowest: the mean of
    its level over the frames that are no pauses, the standard deviation, the 95th percentile, and the mean change
    between neighbouring frames. Levels are in dB (see `diptych.media.spectrogram`); silence is -100 dB throughout,
    and making a sound ten times as loud adds 20 to its means and peaks and leaves the rest as it is.

    Attributes:
        bands: how many, from 50 to 8,000 Hz, equally wide on the mel scale.
    """

    bands: int = 64

    @property
    def blocks(self) -> tuple[Block, ...]:
        """One block for each statistic."""
        return tuple(
            Block(name, self.bands * place, self.bands * (place + 1), meaning)
            for place, (name, meaning) in enumerate(_STATISTICS.items())
        )

    def check(self, item: Singles) -> Singles:
        """Return the sound if it is one; see `check_sound`."""
        check_bands(self.bands)
        return check_sound(item)

    def describe(self, sound: Singles, /) -> Singles:
        """The row of one sound."""
        levels = heard(log_mel(sound, self.bands))
        change = np.abs(np.diff(levels, axis=0)).mean(axis=0) if len(levels) > 1 else np.zeros(self.bands)
        parts = levels.mean(axis=0), levels.std(axis=0), np.percentile(levels, PERCENTILE, axis=0), change
        return np.concatenate(parts).astype(np.float32)


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
