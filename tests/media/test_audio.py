"""Sounds: what is decoded, and what is refused, with which words and at which cost."""

import time
import tracemalloc
from io import BytesIO

import numpy as np
import pytest

pytest.importorskip("soundfile", reason="reading sounds needs the extra 'audio'")

from diptych._core.errors import DataError
from diptych.features import read_items
from diptych.media import KINDS, MediaLimits, content_type, kind_of_content, kind_of_name
from diptych.media.audio import AudioError, AudioTooLargeError, cost, decode, read_header, resample, resample_blocks
from diptych.media.formats import AUDIO_SUFFIXES
from media.sounds import RATE, noise, sound_file, soundfile, tone, wav_header

FORMATS = {
    "WAV": ("audio/wav", None),
    "FLAC": ("audio/flac", None),
    "OGG": ("audio/ogg", "VORBIS"),
    "OPUS": ("audio/ogg", "OPUS"),
    "MP3": ("audio/mpeg", None),
}


def written(name: str, samples, rate: int = RATE) -> bytes:
    return sound_file(samples, rate, "OGG" if name == "OPUS" else name, FORMATS[name][1])


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_tone(name) -> None:
    data = written(name, tone(440, 1.0))
    assert content_type(data[:512]) == FORMATS[name][0]
    assert kind_of_content(data[:512]) == "audio"
    sound = decode(data)
    assert sound.dtype == np.float32 and abs(len(sound) - RATE) < RATE / 8
    middle = sound[RATE // 4 : 3 * RATE // 4]
    assert np.sqrt(np.mean(middle**2)) == pytest.approx(0.5 / np.sqrt(2), rel=0.05)
    peak = np.abs(np.fft.rfft(middle)).argmax() * RATE / len(middle)
    assert peak == pytest.approx(440, abs=3)


@pytest.mark.parametrize("rate", [8_000, 11_025, 22_050, 44_100, 44_101, 48_000, 192_000])
def test_rates_are_brought_to_one(rate) -> None:
    sound = decode(sound_file(tone(1000, 0.5, rate), rate))
    assert len(sound) == pytest.approx(RATE / 2, abs=2)
    want = tone(1000, 0.5)[: len(sound)]
    assert np.abs(sound[200:-200] - want[200 : len(sound) - 200]).max() < 0.01


@pytest.mark.parametrize("rate", [4_000, 8_000, 11_025, 15_999, 16_000, 44_100, 44_101, 192_000])
@pytest.mark.parametrize("count", [1, 5_000, 90_000])
def test_blocks_leave_no_seam(rate, count, monkeypatch) -> None:
    monkeypatch.setattr("diptych.media.audio._BLOCK_SAMPLES", 7_000)
    samples = np.random.default_rng(rate).uniform(-1, 1, count).astype(np.float32)
    blocks = np.split(samples, range(3_333, count, 3_333))
    np.testing.assert_array_equal(resample_blocks(blocks, rate), resample(samples, rate))


def test_a_small_file_of_minutes_takes_little_more_memory_than_its_sound() -> None:
    data = sound_file(np.zeros(60 * 192_000, np.int16), 192_000, "FLAC")
    tracemalloc.start()
    sound = decode(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(data) < 100_000 and len(sound) == 60 * RATE
    assert peak < 40e6  # a block in some forms, not the 46 MB of all samples, twice


def test_what_the_lower_rate_cannot_hold_is_filtered_out() -> None:
    sound = resample(tone(11_000, 0.5, 44_100), 44_100)
    assert np.abs(sound[500:-500]).max() < 0.01  # else it would come out as a tone of 5,000 Hz


def test_channels_are_averaged() -> None:
    left, right = tone(440), noise()
    both = decode(sound_file(np.stack([left, right], axis=1), subtype="FLOAT"))
    np.testing.assert_allclose(both, (left + right) / 2, atol=1e-6)


def test_loud_floats_are_clipped_and_others_refused() -> None:
    assert decode(sound_file(np.float32([0, 5.0, -1e30]), subtype="FLOAT")).tolist() == [0.0, 1.0, -1.0]
    with pytest.raises(AudioError, match="no numbers"):
        decode(sound_file(np.float32([0, np.nan]), subtype="FLOAT"))


def flac_that_claims(frames: int) -> bytes:
    """A FLAC whose header tells another number of samples: 36 bits after the rate, channels and depth."""
    data = bytearray(sound_file(noise(0.1), kind="FLAC"))
    assert data[:4] == b"fLaC" and data[4] & 0x7F == 0
    place = 8 + 13
    data[place] = data[place] & 0xF0 | frames >> 32 & 0x0F
    data[place + 1 : place + 5] = (frames & 0xFFFFFFFF).to_bytes(4, "big")
    return bytes(data)


HOSTILE = {
    "empty": (b"", AudioError, "the file is empty"),
    "no samples": (wav_header(), AudioError, "no length"),
    "24 hours claimed": (flac_that_claims(24 * 3600 * RATE), AudioTooLargeError, "24 hours; at most 10 minutes"),
    "a lying length": (flac_that_claims(RATE * 60), AudioError, "cut off|cannot be decoded"),
    "96 channels": (wav_header(channels=96, length=1920) + b"\0" * 1920, AudioTooLargeError, "96 channels; at most 16"),
    "1 sample a second": (wav_header(rate=1, length=20) + b"\0" * 20, AudioError, "1 samples a second"),
    "huge rate": (wav_header(rate=4_000_000, length=20) + b"\0" * 20, AudioError, "4,000,000 samples a second"),
    "a wav that promises 2 GB": (wav_header(length=2**31) + b"\0" * 99, AudioError, "cut off: its header promises"),
    "truncated WAV": (sound_file(tone(440))[:5000], AudioError, "cut off: its header promises"),
    "truncated FLAC": (sound_file(noise(), kind="FLAC")[:5000], AudioError, "cut off|cannot be decoded"),
    "truncated OGG": (sound_file(noise(3), kind="OGG")[:-2000], AudioError, "cut off"),
    "an image": (b"\x89PNG\r\n\x1a\n" + b"\0" * 99, AudioError, "not a sound: it holds an image"),
    "a text": (b"hello there", AudioError, "not a sound: it holds text"),
    "random bytes": (np.random.default_rng(4).bytes(4000), AudioError, "not a sound: its first bytes"),
    "random bytes with a signature": (b"fLaC" + np.random.default_rng(2).bytes(4000), AudioError, "cannot be decoded"),
    "random bytes in OGG": (b"OggS" + np.random.default_rng(3).bytes(4000), AudioError, "cut off|cannot be decoded"),
    "AAC": (b"\0\0\0\x20ftypM4A " + b"\0" * 99, AudioError, "is AAC, which is not decoded; convert it to WAV or FLAC"),
    "frames of MP3 that are none": (b"\xff\xfb\x90\x00" + b"\x55" * 3000, AudioError, "cannot be decoded"),
    "MIDI": (b"MThd\0\0\0\6" + b"\0" * 99, AudioError, "is MIDI, notes without a sound"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_get_their_reason_at_little_cost(name) -> None:
    data, kind, words = HOSTILE[name]
    started = time.perf_counter()
    tracemalloc.start()
    with pytest.raises(kind, match=words) as told:
        decode(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert time.perf_counter() - started < 2 and peak < 20e6
    assert "\n" not in str(told.value)


def test_a_day_of_silence_is_refused_before_it_is_decoded() -> None:
    """A small FLAC that is really 24 hours long: the header is true, and nothing is decoded."""
    block, target = np.zeros(4000 * 3600, np.int16), BytesIO()
    with soundfile.SoundFile(target, "w", 4000, 1, format="FLAC", subtype="PCM_16") as file:
        for _ in range(24):
            file.write(block)
    written = target.getvalue()
    assert len(written) < 2_000_000
    started = time.perf_counter()
    with pytest.raises(AudioTooLargeError, match="claims to last 24 hours; at most 10 minutes are read"):
        decode(written)
    with pytest.raises(AudioTooLargeError, match="claims to last 24 hours"):
        cost(written, MediaLimits())
    assert time.perf_counter() - started < 0.2


def test_limits_are_heeded() -> None:
    data = sound_file(tone(440, 3.0))
    assert read_header(data).seconds == 3.0 and cost(data, MediaLimits()) == 3 * RATE
    with pytest.raises(AudioTooLargeError, match="3 seconds; at most 2 seconds"):
        decode(data, MediaLimits(max_seconds=2))
    with pytest.raises(AudioTooLargeError, match="bytes; at most 1,000"):
        decode(data, MediaLimits(max_bytes=1000))


def test_an_unknown_length_is_no_lie() -> None:
    """Programs that write a WAV to a pipe leave the length open."""
    samples = (noise(0.2) * 32767).astype("<i2").tobytes()
    assert len(decode(wav_header(length=2**32 - 1) + samples)) == len(samples) // 2


def test_a_file_is_known_by_its_content_not_by_its_name(tmp_path) -> None:
    (tmp_path / "x.wav").write_bytes(sound_file(tone(440), kind="FLAC"))
    assert len(read_items("audio", tmp_path / "x.wav")[0]) == RATE
    (tmp_path / "y.wav").write_bytes(b"\xff\xd8\xff\xe0" + b"\0" * 50)
    with pytest.raises(DataError, match=r"y\.wav: not a sound: it holds an image; give a sound\."):
        read_items("audio", tmp_path / "y.wav")
    with pytest.raises(DataError, match="cannot be read"):
        read_items("audio", tmp_path / "none.wav")
    with pytest.raises(DataError, match="a sound is a int"):
        read_items("audio", 3)


def test_names_tell_kinds_apart() -> None:
    assert all(kind_of_name(f"a/B{suffix.upper()}") == "audio" for suffix in AUDIO_SUFFIXES)
    assert kind_of_name("x.png") == "image" and kind_of_name("x.txt") is None
    assert "convert it to WAV or FLAC" in KINDS["audio"].name_problem("x.m4a")
    assert KINDS["audio"].name_problem("x.wav") is None
    endings = [suffix for kind in KINDS.values() for suffix in (*kind.suffixes, *kind.unsupported)]
    assert len(endings) == len(set(endings))
    assert KINDS["image"].content_problem(sound_file(tone(440))[:512]) == "not an image: it holds a sound"
