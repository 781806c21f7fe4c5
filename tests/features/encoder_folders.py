"""Small encoders in folders, laid out as Optimum and open_clip write them; the tests know what they compute."""

import json
from pathlib import Path

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper, save

WORDS = ("<pad>", "<s>", "</s>", "<unk>", "red", "mug", "blue", "cup", "dog")
DIMENSION = 4
TABLE = np.random.default_rng(0).normal(size=(len(WORDS), DIMENSION)).astype(np.float32)
COLOURS = np.random.default_rng(1).normal(size=(3, DIMENSION)).astype(np.float32)
CLIP_PROCESSOR = {
    "do_resize": True,
    "size": {"shortest_edge": 16},
    "resample": 3,
    "do_center_crop": True,
    "crop_size": {"height": 12, "width": 12},
    "do_rescale": True,
    "rescale_factor": 1 / 255,
    "do_normalize": True,
    "image_mean": [0.5, 0.4, 0.3],
    "image_std": [0.2, 0.3, 0.4],
}


def _model(nodes, inputs, outputs, constants):
    graph = helper.make_graph(
        nodes, "encoder", inputs, outputs, [numpy_helper.from_array(value, name) for name, value in constants.items()]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    checker.check_model(model)
    return model


def _float(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def _whole(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.INT64, shape)


def image_nodes(output="image_embeds"):
    """The mean colour of an image times a matrix."""
    return [
        helper.make_node("ReduceMean", ["pixel_values"], ["colour"], axes=[2, 3], keepdims=0),
        helper.make_node("MatMul", ["colour", "colours"], [output]),
    ]


def text_nodes(output="text_embeds", *, mask=True, pooled=True):
    """The sum of the vectors of a text's tokens, or the vectors themselves."""
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["vectors" if pooled or mask else output], axis=0)]
    last = "vectors"
    if mask:
        nodes += [
            helper.make_node("Cast", ["attention_mask"], ["counted"], to=TensorProto.FLOAT),
            helper.make_node("Unsqueeze", ["counted", "last_axis"], ["weights"]),
            helper.make_node("Mul", ["vectors", "weights"], ["kept" if pooled else output]),
        ]
        last = "kept"
    return [*nodes, helper.make_node("ReduceSum", [last, "tokens_axis"], [output], keepdims=0)] if pooled else nodes


TEXT_CONSTANTS = {"table": TABLE, "last_axis": np.array([-1]), "tokens_axis": np.array([1])}


def write_image_graph(file: Path, *, side=None, output="image_embeds") -> None:
    shape = ["batch", 3, side or "height", side or "width"]
    file.parent.mkdir(parents=True, exist_ok=True)
    model = _model(
        image_nodes(output),
        [_float("pixel_values", shape)],
        [_float(output, ["batch", DIMENSION])],
        {"colours": COLOURS},
    )
    save(model, file)


def write_text_graph(file: Path, *, length=None, mask=True, output="text_embeds", pooled=True) -> None:
    shape = ["batch", length or "sequence"]
    inputs = [_whole("input_ids", shape), *([_whole("attention_mask", shape)] if mask else [])]
    outputs = [_float(output, ["batch", DIMENSION] if pooled else [*shape, DIMENSION])]
    used = {"table"} | ({"last_axis"} if mask else set()) | ({"tokens_axis"} if pooled else set())
    constants = {name: value for name, value in TEXT_CONSTANTS.items() if name in used}
    file.parent.mkdir(parents=True, exist_ok=True)
    save(_model(text_nodes(output, mask=mask, pooled=pooled), inputs, outputs, constants), file)


def write_joint_graph(file: Path) -> None:
    """Both sides in one graph, as Optimum exports CLIP, every axis open."""
    nodes = [
        *image_nodes(),
        *text_nodes(),
        helper.make_node("Transpose", ["text_embeds"], ["turned"], perm=[1, 0]),
        helper.make_node("MatMul", ["image_embeds", "turned"], ["logits_per_image"]),
    ]
    inputs = [
        _whole("input_ids", ["texts", "sequence"]),
        _float("pixel_values", ["images", "channels", "height", "width"]),
        _whole("attention_mask", ["texts", "sequence"]),
    ]
    outputs = [
        _float("logits_per_image", ["images", "texts"]),
        _float("text_embeds", ["texts", DIMENSION]),
        _float("image_embeds", ["images", DIMENSION]),
    ]
    save(_model(nodes, inputs, outputs, {"colours": COLOURS, **TEXT_CONSTANTS}), file)


def write_tokenizer(folder: Path, **settings) -> None:
    """Words between <s> and </s>, and what else a tokenizer's folder says."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)])
    tokenizer.save(str(folder / "tokenizer.json"))
    write_json(folder / "tokenizer_config.json", {"model_max_length": 10, "pad_token": "<pad>", **settings})


def write_json(file: Path, content) -> None:
    file.write_text(json.dumps(content))


def clip_folder(folder: Path) -> Path:
    """A pair of encoders in the layout of Optimum's separate graphs."""
    folder.mkdir()
    write_image_graph(folder / "vision_model.onnx")
    write_text_graph(folder / "text_model.onnx")
    write_tokenizer(folder)
    write_json(folder / "preprocessor_config.json", CLIP_PROCESSOR)
    return folder


def expected_text(words, extra=()) -> np.ndarray:
    """The embedding of words as the graph computes it, at length one."""
    ids = [1, *(WORDS.index(word) for word in words), 2, *extra]
    row = TABLE[ids].sum(axis=0)
    return row / np.linalg.norm(row)
