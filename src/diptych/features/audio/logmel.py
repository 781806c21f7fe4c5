"""Log-mel statistics: how loud each band of frequencies is, how much that varies, and how fast."""

from dataclasses import dataclass

import numpy as np

from diptych._core.arrays import Singles
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
