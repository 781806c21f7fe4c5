"""Sound files for tests, made of numbers: tones, noise, silence, and headers that lie."""

import struct
from io import BytesIO

import numpy as np
import pytest

soundfile = pytest.importorskip("soundfile", reason="reading sounds needs the extra 'audio'")

RATE = 16_000


def tone(hertz: float, seconds: float = 1.0, rate: int = RATE, amplitude: float = 0.5):
    """A sine tone."""
    return (amplitude * np.sin(2 * np.pi * hertz * np.arange(int(seconds * rate)) / rate)).astype(np.float32)


def noise(seconds: float = 1.0, rate: int = RATE, level: float = 0.1, seed: int = 0):
    """White noise of a standard deviation."""
    return (level * np.random.default_rng(seed).standard_normal(int(seconds * rate))).astype(np.float32)


def sound_file(samples, rate: int = RATE, kind: str = "WAV", subtype: str | None = None) -> bytes:
    """The bytes of a sound file; samples × channels, or one channel."""
    written = BytesIO()
    soundfile.write(written, samples, rate, format=kind, subtype=subtype)
    return written.getvalue()


def wav_header(rate: int = RATE, channels: int = 1, length: int = 0, bits: int = 16) -> bytes:
    """The header of a WAV file that promises so many bytes of samples."""
    width = channels * bits // 8
    form = struct.pack("<HHIIHH", 1, channels, rate, rate * width, width, bits)
    riff = struct.pack("<4sI4s", b"RIFF", min(36 + length, 2**32 - 1), b"WAVE")
    return riff + struct.pack("<4sI", b"fmt ", len(form)) + form + struct.pack("<4sI", b"data", length)
