"""Encoders of one's own, exported to a folder: found, prepared for and read as their files say."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")

from diptych._core.errors import ConfigError, DataError
from diptych._core.seeding import generator
from diptych.features import check_available, fit_pipeline, ignored_words, make_feature, text_encoder_columns
from diptych.features.encoder_files import EncoderFolder, check_hash, file_hash, packaged_file
from diptych.features.image.onnx import OnnxEncoder
from diptych.features.image.preprocessing import read_preprocessing
from diptych.features.pipeline import load_pipeline, save_pipeline
from features import encoder_folders as small

PICTURES = [generator(n, "folders").integers(256, size=(20 + n, 26, 3), dtype=np.uint8) for n in range(3)]


@pytest.fixture
def folder(tmp_path):
    return small.clip_folder(tmp_path / "clip")


def fitted(media_type, folder, settings=""):
    return make_feature(media_type, f"onnx:{folder}{settings}").fit([])


def expected_image(folder, image):
    row = read_preprocessing(EncoderFolder(folder))(image).mean(axis=(0, 1)) @ small.COLOURS
    return row / np.linalg.norm(row)


def test_a_pair_of_encoders_gives_rows_of_one_space(folder) -> None:
    images, texts = fitted("image", folder), fitted("text", folder)
    rows = images(PICTURES)
    assert rows.dtype == np.float32 and rows.shape == (3, small.DIMENSION) == (3, images.blocks[-1].stop)
    np.testing.assert_allclose(rows, [expected_image(folder, image) for image in PICTURES], atol=1e-6)
    found = texts(["red mug", "", "Blue CUP dog", "zebra"])
    np.testing.assert_allclose(found[0], small.expected_text(["red", "mug"]), atol=1e-6)
    np.testing.assert_allclose(found[2], small.expected_text(["blue", "cup", "dog"]), atol=1e-6)
    np.testing.assert_array_equal(found[[1, 3]], np.zeros((2, 4)))


def test_rows_do_not_depend_on_their_company(folder) -> None:
    texts = ["red mug", "blue", "dog dog dog", "blue cup", "red mug " * 30]
    extractor = fitted("text", folder)
    np.testing.assert_array_equal(extractor(texts), np.concatenate([extractor([text]) for text in texts]))
    extractor = fitted("image", folder)
    np.testing.assert_array_equal(extractor(PICTURES), np.concatenate([extractor([one]) for one in PICTURES]))


def test_one_graph_may_read_both(folder) -> None:
    texts = ["red mug", "dog"]
    rows = {"image": fitted("image", folder)(PICTURES), "text": fitted("text", folder)(texts)}
    for name in ("vision_model.onnx", "text_model.onnx"):
        (folder / name).unlink()
    small.write_joint_graph(folder / "model.onnx")
    np.testing.assert_allclose(fitted("image", folder)(PICTURES), rows["image"], atol=1e-6)
    np.testing.assert_allclose(fitted("text", folder)(texts), rows["text"], atol=1e-6)


def test_graphs_may_lie_in_a_folder_of_their_own(folder) -> None:
    (folder / "onnx").mkdir()
    for name in ("vision_model.onnx", "text_model.onnx"):
        (folder / name).rename(folder / "onnx" / name)
    assert fitted("image", folder)(PICTURES[:1]).shape == fitted("text", folder)(["dog"]).shape == (1, 4)


def test_open_clip_pads_with_zeros_to_its_length(tmp_path) -> None:
    small.write_image_graph(tmp_path / "visual.onnx", side=12)
    small.write_text_graph(tmp_path / "textual.onnx", mask=False)
    small.write_tokenizer(tmp_path)
    small.write_json(
        tmp_path / "open_clip_config.json",
        {"model_cfg": {"vision_cfg": {"image_size": 12}, "text_cfg": {"context_length": 6}}},
    )
    assert fitted("image", tmp_path)(PICTURES).shape == (3, 4)
    padded = small.expected_text(["red", "mug"], extra=[0, 0])
    np.testing.assert_allclose(fitted("text", tmp_path)(["red mug"])[0], padded, atol=1e-6)


def test_a_graph_of_one_length_gets_it_with_the_tokenizers_padding(folder) -> None:
    small.write_text_graph(folder / "text_model.onnx", length=7, mask=False)
    small.write_json(folder / "tokenizer_config.json", {"pad_token": {"content": "</s>"}})
    padded = small.expected_text(["red", "mug"], extra=[2, 2, 2])
    np.testing.assert_allclose(fitted("text", folder)(["red mug"])[0], padded, atol=1e-6)


def test_long_texts_are_read_by_passages(folder) -> None:
    extractor = fitted("text", folder)
    assert extractor.passages.length == 8 and extractor.passages.overlap == 1
    text = ["red"] * 10 + ["dog"] * 5
    starts = (0, 7)
    rows = [small.expected_text(text[start : start + 8]) for start in starts]
    mean = np.sum(rows, axis=0)
    np.testing.assert_allclose(extractor([" ".join(text)])[0], mean / np.linalg.norm(mean), atol=1e-6)


@pytest.mark.parametrize(("first", "expected"), [(False, "mean"), (True, "first")])
def test_sentence_encoders_are_pooled_as_their_folder_says(folder, first, expected) -> None:
    small.write_text_graph(folder / "text_model.onnx", output="last_hidden_state", pooled=False)
    (folder / "1_Pooling").mkdir()
    small.write_json(folder / "1_Pooling" / "config.json", {"pooling_mode_cls_token": first})
    extractor = fitted("text", folder)
    assert extractor.pooling == expected
    row = small.TABLE[1] if first else small.TABLE[[1, 4, 2]].mean(axis=0)
    np.testing.assert_allclose(extractor(["red"])[0], row / np.linalg.norm(row), atol=1e-6)


def test_a_pipeline_of_folders_is_saved_and_says_what_it_ignores(folder, tmp_path) -> None:
    written = f"onnx:{folder}"
    features = {"image": ("image", written), "text": ("text", written)}
    pipeline = fit_pipeline(features, {"image": (), "text": ()})
    save_pipeline(pipeline, tmp_path / "pipeline")
    loaded = load_pipeline(tmp_path / "pipeline")
    np.testing.assert_array_equal(loaded("text", ["red mug"]), pipeline("text", ["red mug"]))
    np.testing.assert_array_equal(loaded("image", PICTURES), pipeline("image", PICTURES))
    assert ignored_words(loaded.of("text"), "red zebra mug!") == ("zebra",)
    assert text_encoder_columns(loaded.of("text")) == slice(0, 4)
    assert text_encoder_columns(loaded.of("image")) is None


def test_other_files_are_refused(folder) -> None:
    images, texts = fitted("image", folder), fitted("text", folder)
    small.write_image_graph(folder / "vision_model.onnx", output="pooler_output")
    with pytest.raises(DataError, match=r"vision_model.onnx has the hash .* put the former file back"):
        images(PICTURES[:1])
    with pytest.raises(DataError, match=r"tokenizer.json has the hash"):
        replace(texts, rule=replace(texts.rule, sha256="0" * 64))(["dog"])
    (folder / "text_model.onnx").unlink()
    with pytest.raises(DataError, match="there is no file"):
        texts(["dog"])


def test_weights_in_a_second_file_are_part_of_the_hash(folder) -> None:
    before = fitted("image", folder)
    (folder / "vision_model.onnx_data").write_bytes(b"weights")
    assert fitted("image", folder).sha256 != before.sha256
    with pytest.raises(DataError, match="has the hash"):
        before(PICTURES[:1])


@pytest.mark.parametrize(
    ("media_type", "missing", "message"),
    [
        ("image", "vision_model.onnx", r"has no graph for image \(one of vision_model.onnx, visual.onnx, "),
        ("text", "text_model.onnx", r"has no graph for text \(one of text_model.onnx, textual.onnx, "),
        ("text", "tokenizer.json", r"has no tokenizer.json, .*it holds preprocessor_config.json, text_model.onnx"),
        ("image", "preprocessor_config.json", "says nowhere how images are prepared"),
    ],
)
def test_a_missing_file_is_named(folder, media_type, missing, message) -> None:
    (folder / missing).unlink()
    with pytest.raises(ConfigError, match=message):
        fitted(media_type, folder)


def test_graphs_that_do_not_fit_are_named(folder) -> None:
    small.write_image_graph(folder / "vision_model.onnx", side=9)
    with pytest.raises(ConfigError, match=r"takes images of shape \[3, 9, 9\], but the files beside it prepare"):
        fitted("image", folder)
    small.write_text_graph(folder / "vision_model.onnx")
    with pytest.raises(ConfigError, match="should take images of four axes"):
        fitted("image", folder)
    small.write_image_graph(folder / "text_model.onnx")
    with pytest.raises(ConfigError, match="should take tokens"):
        fitted("text", folder)
    with pytest.raises(ConfigError, match=r"has no output 'rows'; it has image_embeds"):
        small.write_image_graph(folder / "vision_model.onnx")
        fitted("image", folder, ",output=rows")
    (folder / "vision_model.onnx").write_bytes(b"no graph")
    with pytest.raises(ConfigError, match="is no ONNX file that this onnxruntime reads"):
        fitted("image", folder)


def test_settings_of_a_single_file_do_not_fit_a_folder(folder) -> None:
    with pytest.raises(ConfigError, match="is a folder, which says itself how images are prepared"):
        make_feature("image", f"onnx:{folder},side=32")
    assert make_feature("image", f"onnx:{folder}/vision_model.onnx") == OnnxEncoder(f"{folder}/vision_model.onnx")


def test_a_path_that_is_not_there_is_known_at_once(tmp_path) -> None:
    for media_type in ("image", "text"):
        with pytest.raises(ConfigError, match="there is no such file or folder"):
            check_available(media_type, f"onnx:{tmp_path}/absent")
    with pytest.raises(DataError, match="there is no folder"):
        make_feature("text", f"onnx:{tmp_path}/absent").fit([])


def test_an_absent_package_is_named_with_what_to_type() -> None:
    with pytest.raises(ConfigError, match=r"needs no_such_package_here; install it with .*diptych\[text\]"):
        packaged_file("no_such_package_here", "weights.bin", "text")


def test_another_file_is_refused(tmp_path) -> None:
    weights = tmp_path / "weights.bin"
    weights.write_bytes(b"abc")
    assert file_hash(weights) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    check_hash(weights, file_hash(weights))
    before = file_hash(weights)
    weights.write_bytes(b"abd")
    with pytest.raises(DataError, match=r"has the hash .*…, but these features were made with ba7816bf8f01…"):
        check_hash(weights, before)
    with pytest.raises(DataError, match="there is no file"):
        file_hash(tmp_path / "absent")
