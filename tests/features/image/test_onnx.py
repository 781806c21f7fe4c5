"""Encoders in ONNX files: small graphs whose answer is known by arithmetic, in every layout."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from diptych._core.errors import ConfigError, DataError
from diptych._core.seeding import generator
from diptych._core.state import pack, unpack
from diptych.features.image.onnx import IMAGENET_MEAN, IMAGENET_STD, OnnxEncoder

onnx = pytest.importorskip("onnx", reason="onnx writes the test's graphs")
pytest.importorskip("onnxruntime", reason="the optional onnxruntime is not installed")

PICTURES = [generator(seed, "onnx").integers(0, 256, (6, 5, 3), dtype=np.uint8) for seed in range(5)]


def write(path: Path, shape: list, *, maps: bool = False, kind: int = 1, inputs: int = 1) -> str:
    """A graph that gives the mean of each colour over the image, or the image itself as maps."""
    helper = onnx.helper
    axes = [2, 3] if shape[1] == 3 else [1, 2]
    mean = helper.make_node("ReduceMean", ["pixels", "axes"], ["means"], keepdims=0)
    same = helper.make_node("Identity", ["pixels"], ["maps"])
    outputs = [
        helper.make_tensor_value_info("means", kind, [shape[0], 3]),
        helper.make_tensor_value_info("maps", kind, shape),
    ]
    graph = helper.make_graph(
        [mean, same],
        "encoder",
        [helper.make_tensor_value_info(name, kind, shape) for name in ("pixels", "more")[:inputs]],
        outputs[::-1] if maps else outputs,
        [helper.make_tensor("axes", onnx.TensorProto.INT64, [2], axes)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, str(path))
    return str(path)


def expected(mean=IMAGENET_MEAN, std=IMAGENET_STD) -> np.ndarray:
    return np.stack([(image.mean(axis=(0, 1)) / 255 - mean) / std for image in PICTURES])


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        (["n", 3, 6, 5], {}),
        (["n", 6, 5, 3], {}),
        ([1, 3, 6, 5], {}),
        ([4, 6, 5, 3], {}),
        (["n", 3, 6, 5], {"batch_size": 2}),
        (["n", 3, 6, 5], {"output": "maps"}),
        (["n", 6, 5, 3], {"output": "maps"}),
    ],
)
def test_layout_size_and_batch_are_read_from_the_graph(tmp_path, shape: list, options: dict) -> None:
    extractor = OnnxEncoder(write(tmp_path / "small.onnx", shape), **options).fit(iter(()))
    rows = extractor(PICTURES)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, expected(), atol=1e-5)
    assert extractor([]).shape == (0, 3)
    assert [(block.name, block.start, block.stop) for block in extractor.blocks] == [("small", 0, 3)]


def test_half_precision_and_the_users_own_normalisation(tmp_path) -> None:
    path = write(tmp_path / "half.onnx", ["n", 3, 6, 5], kind=10)
    rows = OnnxEncoder(path, mean=(0.5, 0.5, 0.5), std=(0.5, 1.0, 2.0)).fit([])(PICTURES)
    np.testing.assert_allclose(rows, expected(np.full(3, 0.5), np.array([0.5, 1, 2])), atol=5e-3)


def test_open_sizes_are_the_users_or_the_usual(tmp_path) -> None:
    path = write(tmp_path / "open.onnx", ["n", 3, "h", "w"])
    assert OnnxEncoder(path).fit([]).image_input.height == 224
    assert OnnxEncoder(path, side=32).fit([]).image_input.width == 32
    fixed = write(tmp_path / "fixed.onnx", ["n", 3, 6, 6])
    with pytest.raises(ConfigError, match="side is 32, but the encoder takes images of 6 pixels"):
        OnnxEncoder(fixed, side=32).fit([])


def test_state_comes_back_without_weights_and_refuses_another_file(tmp_path) -> None:
    path = write(tmp_path / "encoder.onnx", ["n", 3, 6, 5])
    extractor = OnnxEncoder(path).fit([])
    described, arrays = pack(extractor)
    assert arrays == {}
    again = unpack(described, arrays)
    assert again == extractor
    np.testing.assert_array_equal(again(PICTURES), extractor(PICTURES))
    moved = write(tmp_path / "moved.onnx", ["n", 3, 6, 5])
    np.testing.assert_array_equal(replace(again, path=moved)(PICTURES), extractor(PICTURES))
    write(tmp_path / "encoder.onnx", ["n", 3, 6, 5], maps=True)
    with pytest.raises(DataError, match="put the former file back"):
        again(PICTURES)
    Path(path).unlink()
    with pytest.raises(DataError, match="there is no file"):
        again(PICTURES)


def test_graphs_that_take_no_pictures_are_refused(tmp_path) -> None:
    with pytest.raises(ConfigError, match=r"inputs \['pixels', 'more'\]"):
        OnnxEncoder(write(tmp_path / "a.onnx", ["n", 3, 6, 5], inputs=2)).fit([])
    with pytest.raises(ConfigError, match="3 colours as second or last"):
        OnnxEncoder(write(tmp_path / "b.onnx", ["n", 4, 6, 5])).fit([])
    with pytest.raises(ConfigError, match="no output 'logits'; it has means, maps"):
        OnnxEncoder(write(tmp_path / "c.onnx", ["n", 3, 6, 5]), output="logits").fit([])
    with pytest.raises(ConfigError, match=r"tensor\(double\)"):
        OnnxEncoder(write(tmp_path / "d.onnx", ["n", 3, 6, 5], kind=11)).fit([])
    with pytest.raises(ConfigError, match="each must be above 0"):
        OnnxEncoder("unread.onnx", std=(1.0, 0.0, 1.0)).fit([])
    (tmp_path / "e.onnx").write_bytes(b"no graph")
    with pytest.raises(ConfigError, match="no ONNX file"):
        OnnxEncoder(str(tmp_path / "e.onnx")).fit([])
    with pytest.raises(DataError, match="there is no file"):
        OnnxEncoder(str(tmp_path / "absent.onnx")).fit([])
