"""Spectrograms of sounds: power by time and frequency, the mel scale, and a small image of them.

Written out in NumPy so that rows depend on no other library's defaults. The steps and their constants are those of
speech recognition: frames of 25 ms every 10 ms, a Hann window, and triangular filters that are even on the mel scale
(O'Shaughnessy 1987: mel(f) = 2595 log10(1 + f / 700)). Levels are in decibels below a sine tone of full scale.
"""

from functools import lru_cache
from io import BytesIO

import numpy as np

from diptych._core.arrays import Floats, Singles

RATE = 16_000
"""Samples a second of a decoded sound."""
FRAME, HOP, FFT = 400, 160, 512
"""Samples of a frame, between the starts of two frames, and of a Fourier transform."""
LOWEST, HIGHEST = 50.0, RATE / 2
"""Hertz of the first and the last edge of the mel filters."""
FLOOR_DB = -100.0
"""The level of silence: less than what 16 bits can hold."""

_FRAMES_AT_ONCE = 4_096
_WIDTH, _HEIGHT, _RANGE_DB = 256, 96, 70.0
_COLOURS = ((0, 0, 4), (40, 11, 84), (101, 21, 110), (159, 42, 99), (212, 72, 66), (245, 125, 21), (252, 255, 164))
"""From silence to the loudest: dark to light, so that it reads without colours too."""


def mel(hertz: Floats) -> Floats:
    """Convert frequencies to the mel scale.

    >>> mel(np.array([700.0])).round(1).tolist()
    [781.2]
    """
    return 2595 * np.log10(1 + np.asarray(hertz, dtype=np.float64) / 700)


def hertz(mels: Floats) -> Floats:
    """Convert from the mel scale to frequencies; the inverse of `mel`."""
    return 700 * (10 ** (np.asarray(mels, dtype=np.float64) / 2595) - 1)


@lru_cache(maxsize=8)
def band_edges(bands: int) -> tuple[float, ...]:
    """Return the edges of the mel filters in hertz: filter b rises from edge b to b + 1 and falls to b + 2."""
    ends = mel(np.array([LOWEST, HIGHEST]))
    return tuple(hertz(np.linspace(ends[0], ends[1], bands + 2)).tolist())


@lru_cache(maxsize=8)
def mel_filters(bands: int) -> Floats:
    """Compute the triangular filters, bins × bands, each with the peak 1.

    A band too narrow to hold a bin of the transform takes what lies between its two neighbours in frequency, so that
    no column is always empty.
    """
    edges = np.array(band_edges(bands))
    low, centre, high = edges[:-2], edges[1:-1], edges[2:]
    bins = np.fft.rfftfreq(FFT, 1 / RATE)[:, None]
    filters: Floats = np.minimum((bins - low) / (centre - low), (high - bins) / (high - centre)).clip(min=0.0)
    for band in np.flatnonzero(filters.sum(axis=0) == 0):
        place = centre[band] * FFT / RATE
        below = int(place)
        filters[below, band], filters[below + 1, band] = below + 1 - place, place - below
    return filters


def frames_of(samples: Singles) -> Singles:
    """Cut a sound into frames that overlap; the last is filled up with silence, and there is at least one."""
    count = max(1, 1 + -(-(len(samples) - FRAME) // HOP))
    padded = np.zeros((count - 1) * HOP + FRAME, dtype=np.float32)
    padded[: min(len(samples), len(padded))] = samples[: len(padded)]
    return np.lib.stride_tricks.sliding_window_view(padded, FRAME)[::HOP]


def log_mel(samples: Singles, bands: int) -> Singles:
    """Compute the level of each mel band in each frame: frames × bands, in dB, `FLOOR_DB` at least."""
    window = np.hanning(FRAME + 1)[:FRAME].astype(np.float32)
    scale = (window.sum() / 2) ** 2  # the power of a sine tone of full scale in its own bin
    frames, filters = frames_of(samples), mel_filters(bands).astype(np.float32)
    levels = np.empty((len(frames), bands), dtype=np.float32)
    least = 10 ** (FLOOR_DB / 10)
    for start in range(0, len(frames), _FRAMES_AT_ONCE):
        spectrum = np.fft.rfft(frames[start : start + _FRAMES_AT_ONCE] * window, FFT, axis=1)
        power = (spectrum.real**2 + spectrum.imag**2).astype(np.float32) / scale
        levels[start : start + len(power)] = np.maximum(10 * np.log10(np.maximum(power @ filters, least)), FLOOR_DB)
    return levels


def draw_spectrogram(samples: Singles) -> bytes:
    """Draw a sound as a PNG of at most 256 × 96 pixels: time to the right, frequency (mel) upwards, loud is light."""
    from PIL import Image

    levels = log_mel(samples, _HEIGHT)
    columns = np.array_split(levels, min(_WIDTH, len(levels)))
    picture = np.stack([part.max(axis=0) for part in columns], axis=1)[::-1]
    top = max(float(picture.max()), FLOOR_DB + _RANGE_DB)
    shares = ((picture - top + _RANGE_DB) / _RANGE_DB).clip(0.0, 1.0)
    stops = np.linspace(0.0, 1.0, len(_COLOURS))
    colours = np.stack([np.interp(shares, stops, channel) for channel in zip(*_COLOURS, strict=True)], axis=2)
    drawn = Image.fromarray(np.rint(colours).astype(np.uint8))
    encoded = BytesIO()
    drawn.resize((_WIDTH, _HEIGHT), Image.Resampling.NEAREST).save(encoded, "PNG", optimize=True)
    return encoded.getvalue()
