"""Features of sounds, by sounds whose answer is known and by naive loops."""

import math
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("soundfile", reason="features of sounds need the extra 'audio'")

from diptych._core.errors import ConfigError, DataError
from diptych.features import describe_features, fit_pipeline, load_pipeline, make_feature, save_pipeline, width
from diptych.features.audio import LogMel, Mfcc, cosines, deltas
from diptych.media.spectrogram import FLOOR_DB, FRAME, HOP, RATE, band_edges, log_mel, mel_filters
from media.sounds import noise, tone

BANDS, SIZE = 64, 20


def logmel(sound) -> dict[str, np.ndarray]:
    row = LogMel()([sound])[0]
    return {name: row[BANDS * at : BANDS * (at + 1)] for at, name in enumerate(("mean", "deviation", "peak", "change"))}


def mfcc(sound) -> np.ndarray:
    return Mfcc()([sound])[0].reshape(2, 3, SIZE)


def band_of(frequency: float, bands: int = BANDS) -> int:
    """The band whose centre is nearest on the mel scale."""
    centres = np.array(band_edges(bands))[1:-1]
    return int(np.abs(np.log(1 + centres / 700) - math.log(1 + frequency / 700)).argmin())


def test_silence_is_flat() -> None:
    found = logmel(np.zeros(RATE, np.float32))
    assert (found["mean"] == FLOOR_DB).all() and (found["peak"] == FLOOR_DB).all()
    assert not found["deviation"].any() and not found["change"].any()
    means, spreads = mfcc(np.zeros(RATE, np.float32))
    assert means[0, 0] == pytest.approx(FLOOR_DB * math.sqrt(40), rel=1e-6)
    np.testing.assert_allclose(means[0, 1:], 0, atol=1e-4)
    np.testing.assert_allclose(means[1:], 0, atol=1e-6)
    np.testing.assert_allclose(spreads, 0, atol=1e-4)


@pytest.mark.parametrize("frequency", [220.0, 440.0, 880.0, 1760.0, 3520.0])
def test_a_tone_stands_in_its_band_and_an_octave_higher_in_the_next_one(frequency) -> None:
    low, high = logmel(tone(frequency)), logmel(tone(2 * frequency))
    assert abs(int(low["mean"].argmax()) - band_of(frequency)) <= 1
    assert abs(int(high["mean"].argmax()) - band_of(2 * frequency)) <= 1
    assert low["mean"].max() > np.median(low["mean"]) + 30
    assert low["deviation"][low["mean"].argmax()] < 2  # it does not vary, but for the frame that is filled up


def test_white_noise_has_the_level_that_theory_says() -> None:
    """The mean of a chi-square in dB: power σ² Σw² Σf, less 2.5 dB where one bin fills a band, less little for many."""
    level = 0.1
    found = logmel(noise(20.0, level=level))["mean"]
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(FRAME) / FRAME)
    power = level**2 * (window**2).sum() / (window.sum() / 2) ** 2
    want = 10 * np.log10(power * mel_filters(BANDS).sum(axis=0))
    np.testing.assert_allclose(found[40:], want[40:], atol=1.0)
    assert ((want - found > -0.5) & (want - found < 3.0)).all()


def test_loudness_moves_levels_and_nothing_else() -> None:
    quiet, loud = logmel(noise(level=0.01)), logmel(noise(level=0.1))
    for name, shift in (("mean", 20), ("peak", 20), ("deviation", 0), ("change", 0)):
        np.testing.assert_allclose(loud[name] - quiet[name], shift, atol=0.01)
    change = mfcc(noise(level=0.1)) - mfcc(noise(level=0.01))
    assert change[0, 0, 0] == pytest.approx(20 * math.sqrt(40), rel=1e-3)
    change[0, 0, 0] = 0
    np.testing.assert_allclose(change, 0, atol=0.02)


def test_pauses_do_not_count() -> None:
    sound = noise(1.0)
    padded = np.concatenate([np.zeros(RATE, np.float32), sound, np.zeros(2 * RATE, np.float32)])
    for name, values in logmel(padded).items():
        assert np.abs(values - logmel(sound)[name]).max() < 3, name


def test_change_tells_a_steady_sound_from_one_that_flickers() -> None:
    steady = noise(2.0)
    flickering = steady * np.repeat(np.tile([1.0, 0.03], 20), RATE // 20).astype(np.float32)
    assert logmel(flickering)["deviation"].mean() > 2 * logmel(steady)["deviation"].mean()
    assert mfcc(flickering)[1, 1, 0] > 2 * mfcc(steady)[1, 1, 0]  # the deviation of the slope of the level


def test_a_rising_tone_has_a_slope() -> None:
    louder = tone(440, 2.0) * np.geomspace(0.01, 1, 2 * RATE).astype(np.float32)
    means, _ = mfcc(louder)
    frames = len(log_mel(louder, 40))
    assert means[1, 0] == pytest.approx(40 / frames * math.sqrt(40), rel=0.3)  # 40 dB in so many frames


def test_cosines_and_deltas_agree_with_loops() -> None:
    for bands, size in ((8, 8), (40, 20)):
        table = cosines(bands, size)
        for c in range(size):
            for b in range(bands):
                scale = math.sqrt((1 if c == 0 else 2) / bands)
                assert table[b, c] == pytest.approx(scale * math.cos(math.pi * c * (b + 0.5) / bands))
        np.testing.assert_allclose(table.T @ table, np.eye(size), atol=1e-12)
    series = np.random.default_rng(0).standard_normal((9, 3))
    for t in range(9):
        for column in range(3):
            at = lambda place: series[min(max(place, 0), 8), column]  # noqa: B023, E731
            want = sum(k * (at(t + k) - at(t - k)) for k in (1, 2)) / 10
            assert deltas(series)[t, column] == pytest.approx(want)


def test_cosines_agree_with_scipy() -> None:
    from scipy.fft import dct

    levels = log_mel(noise(), 40)
    np.testing.assert_allclose(levels @ cosines(40, 13), dct(levels, norm="ortho")[:, :13], atol=1e-3)


def test_rows_agree_with_a_loop_over_frames() -> None:
    sound = noise(0.5) + tone(600, 0.5)
    frames = [np.pad(sound[at : at + FRAME], (0, FRAME - len(sound[at : at + FRAME]))) for at in range(0, 7681, HOP)]
    assert len(frames) == len(log_mel(sound, BANDS))
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(FRAME) / FRAME)
    levels = []
    for frame in frames:
        power = np.abs(np.fft.rfft(frame * window, 512)) ** 2 / (window.sum() / 2) ** 2
        levels.append([10 * math.log10(max(power @ column, 1e-10)) for column in mel_filters(BANDS).T])
    loudest = max(map(max, levels))
    heard = np.array([frame for frame in levels if max(frame) >= loudest - 60])
    found = logmel(sound)
    np.testing.assert_allclose(found["mean"], heard.mean(axis=0), atol=1e-3)
    np.testing.assert_allclose(found["deviation"], heard.std(axis=0), atol=1e-3)
    np.testing.assert_allclose(found["change"], np.abs(np.diff(heard, axis=0)).mean(axis=0), atol=1e-3)


@pytest.mark.parametrize("written", ["logmel", "logmel:32", "mfcc", "mfcc:13", "mfcc:13,bands=64", "logmel+mfcc"])
@pytest.mark.parametrize("length", [1, 100, RATE])
def test_every_sound_has_a_row_as_long_as_its_blocks(written, length) -> None:
    extractor = make_feature("audio", written).fit([])
    sound = noise()[:length]
    rows = extractor([sound, sound])
    assert rows.shape == (2, width(extractor.blocks)) and rows.dtype == np.float32
    assert np.isfinite(rows).all() and (rows[0] == rows[1]).all()
    ends = [(block.start, block.stop) for block in extractor.blocks]
    assert ends[0][0] == 0 and all(one[1] == other[0] for one, other in pairwise(ends))


def test_the_catalogue_tells_the_truth() -> None:
    listed = {each["name"]: each for each in describe_features("audio")}
    assert [name for name, each in listed.items() if each["default"]] == ["logmel", "mfcc"]
    for name in ("logmel", "mfcc"):
        assert width(make_feature("audio", name).blocks) == listed[name]["dimension"]


def test_what_is_no_sound_is_refused() -> None:
    for wrong in (np.zeros(0, np.float32), np.zeros((2, 9), np.float32), np.zeros(9)):
        with pytest.raises(DataError, match="a sound is an array of"):
            LogMel()([wrong])
    with pytest.raises(ConfigError, match="bands is 4; choose from 8 to 128"):
        LogMel(4)([noise()])
    with pytest.raises(ConfigError, match="coefficients is 50; choose from 1 to 40"):
        Mfcc(50)([noise()])


def test_a_pipeline_of_sounds_is_saved_and_read_again(tmp_path) -> None:
    pipeline = fit_pipeline({"audio": ("audio", "logmel+mfcc:13")}, {"audio": []})
    save_pipeline(pipeline, tmp_path / "pipeline")
    again = load_pipeline(tmp_path / "pipeline")
    assert again.fingerprint == pipeline.fingerprint
    np.testing.assert_array_equal(again("audio", [noise()]), pipeline("audio", [noise()]))


def test_speech_libraries_compute_the_same_coefficients() -> None:
    """Against librosa, where it is installed: the same filters and transform of the same power."""
    librosa = pytest.importorskip("librosa", reason="librosa is compared with where it is installed")
    want = librosa.filters.mel(sr=RATE, n_fft=512, n_mels=40, fmin=50, fmax=RATE / 2, htk=True, norm=None)
    np.testing.assert_allclose(mel_filters(40).T, want, atol=1e-6)
    levels = log_mel(noise(), 40)
    np.testing.assert_allclose(levels @ cosines(40, 13), librosa.feature.mfcc(S=levels.T, n_mfcc=13).T, atol=1e-3)
