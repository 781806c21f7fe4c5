"""Sounds as a kind of media: WAV, FLAC, OGG (Vorbis, Opus) and MP3, decoded within limits; needs the extra "audio".

A decoded sound is one channel of 16,000 samples a second between -1 and 1: what voices, animals and machines are told
apart by lies below 8 kHz, and most audio encoders take it so. Memory and time are bounded: the header is read and
checked first, samples are decoded a block at a time, mixed to one channel and brought to that rate at once, and never
more of them than the header's limits allow, whatever the header claims.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from io import BytesIO
from typing import Any

import numpy as np
import soundfile  # type: ignore[import-untyped]
from scipy.signal import resample_poly

from diptych._core.arrays import Singles
from diptych.media.formats import content_type
from diptych.media.kinds import MediaError, MediaLimits, MediaTooLargeError, audio_problem
from diptych.media.spectrogram import RATE, draw_spectrogram

MOST_CHANNELS = 16
MOST_SAMPLES = 2**26
"""Of one file, all channels together: ten minutes of stereo at 48 kHz, and a little more."""
LEAST_RATE, MOST_RATE = 4_000, 192_000

_BLOCK_SAMPLES = 2**20
_LARGEST_RATIO = 1_000
"""Of the whole numbers by which rates are changed: no rate is missed by more than a millionth."""
_FILTER_HALF = 10
"""Of the filter of `resample_poly`, on either side, in samples of the lower of both rates."""
_UNKNOWN_LENGTHS = (0, 0xFFFFFFFF)
"""What a program that writes a WAV as it goes puts where the length belongs."""
_OGG_HEADER = 27


class AudioError(MediaError):
    """A sound that cannot be decoded, with the reason."""


class AudioTooLargeError(AudioError, MediaTooLargeError):
    """A sound that exceeds the limits, with the reason."""


@dataclass(frozen=True)
class AudioHeader:
    """What the header of a sound file says.

    Attributes:
        rate: samples a second, of each channel.
        channels: how many.
        frames: samples of each channel.
    """

    rate: int
    channels: int
    frames: int

    @property
    def seconds(self) -> float:
        """How long it is."""
        return self.frames / self.rate


def read_header(data: bytes, limits: MediaLimits | None = None) -> AudioHeader:
    """Read the header of a sound file; no sample is decoded.

    Raises:
        AudioTooLargeError: when the sound exceeds the limits.
        AudioError: when it is no sound.
    """
    with _opened(data, limits or MediaLimits()) as (_, header):
        return header


def decode(data: bytes, limits: MediaLimits | None = None) -> Singles:
    """Decode the content of a sound file: one channel, the mean of all, at `RATE` samples a second.

    Raises:
        AudioTooLargeError: when the sound exceeds the limits.
        AudioError: when it is no sound, or a damaged one.
    """
    with _opened(data, limits or MediaLimits()) as (file, header):
        return resample_blocks(_mixed(file, header), header.rate)


def resample_blocks(blocks: Iterable[Singles], rate: int) -> Singles:
    """Bring samples that come block by block to `RATE`: what `resample` makes of all, in the memory of the result.

    A piece of the samples is filtered together with so many before and after it as the filter is long. Pieces begin
    where a sample of the result does, so that its phases are those of the whole.
    """
    ratio = _ratio(rate, RATE)
    up, down = ratio.numerator, ratio.denominator
    margin = down * -(-(_FILTER_HALF * max(up, down) // up + 1) // down)
    step = max(margin, down * (_BLOCK_SAMPLES // down))
    done: list[Singles] = []
    held, before = np.empty(0, np.float32), 0
    for block in blocks:
        held = np.concatenate([held, block])
        while len(held) >= before + step + margin:
            piece = resample(held[: before + step + margin], rate)
            done.append(piece[before * up // down : (before + step) * up // down].copy())
            held, before = held[before + step - margin :].copy(), margin
    done.append(resample(held, rate)[before * up // down :])
    return np.concatenate(done)


def resample(samples: Singles, rate: int, to: int = RATE) -> Singles:
    """Bring samples of one rate to another by a polyphase filter, which keeps what both rates can hold."""
    if rate == to:
        return samples
    ratio = _ratio(rate, to)
    return np.asarray(resample_poly(samples, ratio.numerator, ratio.denominator), dtype=np.float32)


def _ratio(rate: int, to: int) -> Fraction:
    return Fraction(to, rate).limit_denominator(_LARGEST_RATIO)


def cost(data: bytes, limits: MediaLimits) -> int:
    """Return how many samples will be decoded, all channels together, by the header alone."""
    header = read_header(data, limits)
    return header.frames * header.channels


def thumbnail(item: Singles) -> bytes:
    """Draw a decoded sound as a small spectrogram, a PNG."""
    return draw_spectrogram(item)


def blank() -> Singles:
    """Return a quarter of a second of silence."""
    return np.zeros(RATE // 4, dtype=np.float32)


@contextmanager
def _opened(data: bytes, limits: MediaLimits) -> Iterator[tuple[Any, AudioHeader]]:
    """A sound whose header is within the limits; what the library raises inside becomes an `AudioError`."""
    if len(data) > limits.max_bytes:
        raise AudioTooLargeError(f"the file has {len(data):,} bytes; at most {limits.max_bytes:,} are allowed")
    problem = audio_problem(data) or _cut_off(data)
    if problem is not None:
        raise AudioError(problem)
    try:
        with soundfile.SoundFile(BytesIO(data)) as file:
            header = AudioHeader(int(file.samplerate), int(file.channels), int(file.frames))
            _check(header, limits)
            yield file, header
    except MediaError:
        raise
    except (soundfile.SoundFileError, RuntimeError, ValueError, MemoryError) as error:
        reason = str(getattr(error, "error_string", None) or error).strip().rstrip(".")
        # The library reads from memory, so that what it says of files and pipes means that it knows no reason.
        damaged = not reason or "not a regular file" in reason
        raise AudioError(f"cannot be decoded: {'its content is damaged' if damaged else reason}") from None


def _check(header: AudioHeader, limits: MediaLimits) -> None:
    if header.channels > MOST_CHANNELS:
        raise AudioTooLargeError(f"the sound has {header.channels} channels; at most {MOST_CHANNELS} are read")
    if not LEAST_RATE <= header.rate <= MOST_RATE:
        raise AudioError(f"the sound has {header.rate:,} samples a second; {LEAST_RATE:,} to {MOST_RATE:,} are read")
    if header.frames <= 0:
        raise AudioError("the sound has no length")
    if header.seconds > limits.max_seconds:
        raise AudioTooLargeError(
            f"the sound claims to last {_length(header.seconds)}; at most {_length(limits.max_seconds)} are read"
        )
    if header.frames * header.channels > MOST_SAMPLES:
        raise AudioTooLargeError(
            f"the sound claims {header.frames * header.channels:,} samples; at most {MOST_SAMPLES:,} are read"
        )


def _length(seconds: float) -> str:
    """A length of time in the unit that suits it."""
    for unit, size in (("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:,.0f} seconds"


def _mixed(file: Any, header: AudioHeader) -> Iterator[Singles]:  # noqa: ANN401 - the library has no types
    """All samples, a block at a time; fewer than the header promised are a file that was cut off."""
    done = 0
    while done < header.frames:
        count = min(header.frames - done, max(1, _BLOCK_SAMPLES // header.channels))
        block = file.read(count, dtype="float32", always_2d=True)
        if not len(block):
            break
        mono = block.mean(axis=1, dtype=np.float32)
        if not np.isfinite(mono).all():
            raise AudioError("the sound holds values that are no numbers")
        yield mono.clip(-1.0, 1.0)
        done += len(block)
    # An MP3 states no length: what the library tells is a guess that may be off by a frame.
    if done == 0 or (done < header.frames and file.format != "MP3"):
        raise AudioError(f"the file is cut off: its header promises {header.frames:,} samples and it holds {done:,}")


def _cut_off(data: bytes) -> str | None:
    """Say where a file ends in the middle, for those formats whose decoder passes over that; None where it does not."""
    content = content_type(data)
    if content == "audio/wav" and data[:4] == b"RIFF":
        promised = _wav_samples(data)
        if promised is not None and promised > len(data):
            return f"the file is cut off: its header promises {promised:,} bytes and it has {len(data):,}"
    if content == "audio/ogg":
        page = data.rfind(b"OggS")
        lengths = data[page + _OGG_HEADER : page + _OGG_HEADER + data[page + 26]] if len(data) > page + 26 else b""
        if page + _OGG_HEADER + len(lengths) + sum(lengths) > len(data):
            return "the file is cut off: its last page is not whole"
    return None


def _wav_samples(data: bytes) -> int | None:
    """Where the samples of a WAV end, by its header; None where that says nothing."""
    place = 12
    while place + 8 <= len(data):
        length = int.from_bytes(data[place + 4 : place + 8], "little")
        if data[place : place + 4] == b"data":
            return None if length in _UNKNOWN_LENGTHS else place + 8 + length
        place += 8 + length + length % 2
    return None
