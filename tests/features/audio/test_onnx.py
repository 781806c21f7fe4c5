"""Audio encoders in ONNX files: graphs whose answer can be computed by hand."""

import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("soundfile", reason="features of sounds need the extra 'audio'")
pytest.importorskip("onnx", reason="graphs are written with the extra 'onnx'")
pytest.importorskip("onnxruntime", reason="graphs are run with the extra 'onnx'")

import onnx
from onnx import TensorProto, helper

from diptych._core.errors import ConfigError, DataError
from diptych.features import make_feature
from diptych.media.spectrogram import RATE
from media.sounds import noise, tone


def write_graph(file, shape=("batch", "samples"), *, mask=False, name="audio_embeds", time=False) -> None:
    """A graph that gives the mean and the largest absolute value; with `time`, an axis of two equal steps."""
    axis = len(shape) - 1
    nodes = [
        helper.make_node("Abs", ["sound"], ["size"]),
        helper.make_node("ReduceMean", ["sound"], ["mean"], axes=[axis], keepdims=1),
        helper.make_node("ReduceMax", ["size"], ["peak"], axes=[axis], keepdims=1),
        helper.make_node("Concat", ["mean", "peak"], ["row" if time else name], axis=axis),
    ]
    if time:
        nodes += [
            helper.make_node("Unsqueeze", ["row", "one"], ["step"]),
            helper.make_node("Concat", ["step", "step"], [name], axis=1),
        ]
    constants = [helper.make_tensor("one", TensorProto.INT64, [1], [1])] if time else []
    inputs = [helper.make_tensor_value_info("sound", TensorProto.FLOAT, list(shape))]
    if mask:
        inputs.append(helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch", "samples"]))
    out = helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "encoder", inputs, [out], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), file)


def expected(sound) -> np.ndarray:
    row = np.array([sound.mean(), np.abs(sound).max()])
    return row / np.linalg.norm(row)


@pytest.mark.parametrize("shape", [("samples",), ("batch", "samples"), (1, "samples"), ("batch", 1, "samples")])
@pytest.mark.parametrize("mask", [False, True])
def test_samples_enter_as_the_graph_takes_them(tmp_path, shape, mask) -> None:
    write_graph(tmp_path / "encoder.onnx", shape, mask=mask)
    extractor = make_feature("audio", f"onnx:{tmp_path / 'encoder.onnx'}").fit([])
    sounds = [noise(0.5) + 0.2, tone(440, 0.3)]
    assert extractor.blocks[0].stop == 2
    np.testing.assert_allclose(extractor(sounds), [expected(sound) for sound in sounds], atol=1e-5)
    assert extractor([]).shape == (0, 2)


def test_time_is_averaged(tmp_path) -> None:
    write_graph(tmp_path / "model.onnx", time=True, name="last_hidden_state")
    extractor = make_feature("audio", f"onnx:{tmp_path}").fit([])
    np.testing.assert_allclose(extractor([noise()])[0], expected(noise()), atol=1e-5)


def test_a_folder_says_at_which_rate_it_listens(tmp_path) -> None:
    write_graph(tmp_path / "audio_model.onnx", ("batch", 4000))
    settings = {"sampling_rate": 8000, "do_normalize": True}
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(settings))
    extractor = make_feature("audio", f"onnx:{tmp_path}").fit([])
    assert (extractor.sample_input.rate, extractor.sample_input.length) == (8000, 4000)
    for seconds in (0.2, 2.0):  # filled up, and cut, to half a second of 8,000
        samples = extractor.sample_input.arrange(tone(440, seconds))
        assert samples.shape == (1, 4000)
        assert samples.mean() == pytest.approx(0, abs=1e-4) and samples.var() == pytest.approx(1, abs=1e-3)


def test_files_that_moved_or_changed(tmp_path) -> None:
    write_graph(tmp_path / "a.onnx")
    extractor = make_feature("audio", f"onnx:{tmp_path / 'a.onnx'}").fit([])
    (tmp_path / "a.onnx").rename(tmp_path / "b.onnx")
    np.testing.assert_allclose(
        replace(extractor, path=str(tmp_path / "b.onnx"))([noise()])[0], expected(noise()), atol=1e-5
    )
    write_graph(tmp_path / "b.onnx", name="other")
    with pytest.raises(DataError, match="has the hash"):
        replace(extractor, path=str(tmp_path / "b.onnx"))([noise()])


def test_what_takes_no_samples_is_refused(tmp_path) -> None:
    for shape in (("batch", 80, 3000), ("batch", 3, 224, 224), ("batch", 128)):
        write_graph(tmp_path / "x.onnx", shape)
        with pytest.raises(ConfigError, match="should take the samples of a sound"):
            make_feature("audio", f"onnx:{tmp_path / 'x.onnx'}").fit([])
    write_graph(tmp_path / "x.onnx")
    with pytest.raises(ConfigError, match="the sampling rate is 5"):
        make_feature("audio", f"onnx:{tmp_path / 'x.onnx'},rate=5").fit([])
    with pytest.raises(ConfigError, match="no output 'y'"):
        make_feature("audio", f"onnx:{tmp_path / 'x.onnx'},output=y").fit([])
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match="no graph for audio"):
        make_feature("audio", f"onnx:{tmp_path / 'empty'}").fit([])
    assert RATE == 16_000
