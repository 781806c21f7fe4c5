"""Spectrograms against naive loops, closed forms and SciPy, and the image of them."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image
from scipy.signal import stft

from diptych.media.spectrogram import (
    FFT,
    FLOOR_DB,
    FRAME,
    HOP,
    RATE,
    band_edges,
    draw_spectrogram,
    frames_of,
    hertz,
    log_mel,
    mel,
    mel_filters,
)


def tone(frequency: float, seconds: float = 1.0, amplitude: float = 1.0):
    return (amplitude * np.sin(2 * np.pi * frequency * np.arange(int(seconds * RATE)) / RATE)).astype(np.float32)


def naive_filter(band: int, bands: int) -> list[float]:
    """One triangle, bin by bin, as the textbook draws it."""
    low, centre, high = band_edges(bands)[band : band + 3]
    weights = []
    for number in range(FFT // 2 + 1):
        frequency = number * RATE / FFT
        if low < frequency <= centre:
            weights.append((frequency - low) / (centre - low))
        elif centre < frequency < high:
            weights.append((high - frequency) / (high - centre))
        else:
            weights.append(0.0)
    return weights


@pytest.mark.parametrize("bands", [20, 40])
def test_filters_are_triangles_on_the_mel_scale(bands) -> None:
    filters = mel_filters(bands)
    np.testing.assert_allclose(filters.T, [naive_filter(band, bands) for band in range(bands)], atol=1e-12)
    steps = np.diff(mel(np.array(band_edges(bands))))
    np.testing.assert_allclose(steps, steps[0])
    np.testing.assert_allclose(hertz(mel(np.array([50.0, 440.0, 8000.0]))), [50.0, 440.0, 8000.0])


@pytest.mark.parametrize("bands", [64, 96, 128])
def test_no_band_is_empty(bands) -> None:
    assert (mel_filters(bands).sum(axis=0) > 0.01).all()


def test_power_agrees_with_scipy_and_with_a_loop() -> None:
    samples = np.random.default_rng(0).standard_normal(4000).astype(np.float32) / 10
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(FRAME) / FRAME)
    _, _, spectrum = stft(samples, RATE, window, FRAME, FRAME - HOP, FFT, boundary=None, padded=False)
    power = np.abs(spectrum.T * window.sum()) ** 2 / (window.sum() / 2) ** 2
    want = 10 * np.log10(power @ mel_filters(40))
    found = log_mel(samples, 40)
    np.testing.assert_allclose(found[: len(want)], want, atol=1e-3)
    naive = np.abs(np.fft.rfft(samples[3 * HOP : 3 * HOP + FRAME] * window, FFT)) ** 2 / (window.sum() / 2) ** 2
    np.testing.assert_allclose(found[3], 10 * np.log10(naive @ mel_filters(40)), atol=1e-3)


def test_blocks_of_frames_leave_no_seam(monkeypatch) -> None:
    samples = np.random.default_rng(0).standard_normal(RATE).astype(np.float32)
    whole = log_mel(samples, 40)
    monkeypatch.setattr("diptych.media.spectrogram._FRAMES_AT_ONCE", 7)
    np.testing.assert_allclose(log_mel(samples, 40), whole, atol=1e-5)


@pytest.mark.parametrize(("length", "count"), [(1, 1), (400, 1), (401, 2), (560, 2), (561, 3)])
def test_every_sample_is_in_a_frame(length, count) -> None:
    frames = frames_of(np.arange(1, length + 1, dtype=np.float32))
    assert frames.shape == (count, FRAME)
    assert set(frames.ravel()) - {0.0} == set(range(1, length + 1))


def test_silence_is_the_floor_and_a_tone_stands_in_its_band() -> None:
    assert (log_mel(np.zeros(1000, np.float32), 64) == FLOOR_DB).all()
    for frequency in (300.0, 1000.0, 4000.0):
        levels = log_mel(tone(frequency), 64)[10:-10].mean(axis=0)
        loudest = int(levels.argmax())
        assert band_edges(64)[loudest] < frequency < band_edges(64)[loudest + 2]
        assert -6 < levels[loudest] < 3  # a full scale tone is 0 dB; its main lobe covers three bins
    louder = log_mel(tone(1000.0), 64)[20] - log_mel(tone(1000.0, amplitude=0.1), 64)[20]
    assert louder.max() == pytest.approx(20, abs=0.2)


def test_the_image_shows_time_to_the_right_and_frequency_upwards() -> None:
    low_then_high = np.concatenate([tone(200.0), tone(6000.0)])
    with Image.open(BytesIO(draw_spectrogram(low_then_high))) as image:
        assert image.format == "PNG" and image.size == (256, 96)
        light = np.asarray(image.convert("L")).astype(int)
    rows = light.argmax(axis=0)
    assert (rows[20:100] > 70).all() and (rows[150:230] < 30).all()


@pytest.mark.parametrize("length", [1, 300, 5000])
def test_short_and_silent_sounds_are_drawn_too(length) -> None:
    data = draw_spectrogram(np.zeros(length, np.float32))
    assert data.startswith(b"\x89PNG") and len(data) < 2000
