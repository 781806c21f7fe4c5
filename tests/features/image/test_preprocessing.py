"""What is done to images before an encoder reads them."""

import json

import numpy as np
import pytest
from PIL import Image

from diptych._core.errors import ConfigError, DataError
from diptych._core.seeding import generator
from diptych.features.encoder_files import EncoderFolder
from diptych.features.image.preprocessing import CLIP_MEAN, CLIP_STD, batches, read_preprocessing

PICTURE = generator(0, "preprocessing").integers(256, size=(30, 47, 3), dtype=np.uint8)
PLAIN = {"do_rescale": True, "do_normalize": False}


def prepared(tmp_path, content, name="preprocessor_config.json", image=PICTURE):
    (tmp_path / name).write_text(json.dumps(content))
    return read_preprocessing(EncoderFolder(tmp_path))(image)


def resized(size, resample=Image.Resampling.BICUBIC, image=PICTURE):
    return np.asarray(Image.fromarray(image).resize(size, resample), dtype=np.float64)


def test_clip_resizes_the_shorter_side_and_cuts_the_middle(tmp_path) -> None:
    config = {
        "size": {"shortest_edge": 20},
        "resample": 3,
        "do_center_crop": True,
        "crop_size": {"height": 18, "width": 18},
        "image_mean": [0.1, 0.2, 0.3],
        "image_std": [0.5, 0.6, 0.7],
    }
    by_hand = resized((31, 20))[1:19, 6:24]  # 47 · 20 / 30 = 31.3, whose fraction is dropped
    by_hand = (by_hand / 255 - [0.1, 0.2, 0.3]) / [0.5, 0.6, 0.7]
    np.testing.assert_allclose(prepared(tmp_path, config), by_hand, atol=1e-5)
    tall = np.ascontiguousarray(PICTURE.transpose(1, 0, 2))
    by_hand = resized((20, 31), image=tall)[6:24, 1:19]
    by_hand = (by_hand / 255 - [0.1, 0.2, 0.3]) / [0.5, 0.6, 0.7]
    np.testing.assert_allclose(prepared(tmp_path, config, image=tall), by_hand, atol=1e-5)


@pytest.mark.parametrize(
    ("config", "size"),
    [
        ({"size": {"height": 9, "width": 14}, "resample": 2}, (14, 9)),
        ({"size": 16, "resample": 2}, (16, 16)),
        ({"size": [9, 14], "resample": 2}, (14, 9)),
    ],
)
def test_without_a_crop_images_are_squeezed(tmp_path, config, size) -> None:
    by_hand = resized(size, Image.Resampling.BILINEAR) / 255
    np.testing.assert_allclose(prepared(tmp_path, config | PLAIN), by_hand, atol=1e-6)


def test_old_files_give_sizes_as_numbers(tmp_path) -> None:
    config = {"size": 20, "do_center_crop": True, "crop_size": 18, **PLAIN}
    np.testing.assert_allclose(prepared(tmp_path, config), resized((31, 20))[1:19, 6:24] / 255, atol=1e-6)


def test_an_exact_size_can_be_cut_too(tmp_path) -> None:
    config = {"size": {"height": 20, "width": 20}, "do_center_crop": True, "crop_size": {"height": 10, "width": 10}}
    np.testing.assert_allclose(prepared(tmp_path, config | PLAIN), resized((20, 20))[5:15, 5:15] / 255, atol=1e-6)


def test_a_crop_larger_than_the_image_is_filled_with_black(tmp_path) -> None:
    config = {"size": {"shortest_edge": 10}, "do_center_crop": True, "crop_size": 12, **PLAIN}
    image = prepared(tmp_path, config)
    assert image.shape == (12, 12, 3) and not image[0].any() and not image[-1].any() and image[1:-1].any()


def test_bytes_stay_bytes_where_nothing_rescales(tmp_path) -> None:
    config = {"size": {"height": 30, "width": 47}, "do_rescale": False, "do_normalize": False}
    np.testing.assert_array_equal(prepared(tmp_path, config), PICTURE)


def test_a_share_of_the_image_is_cut_where_the_file_says_so(tmp_path) -> None:
    config = {"size": {"shortest_edge": 16}, "crop_pct": 0.8, **PLAIN}
    np.testing.assert_allclose(prepared(tmp_path, config), resized((31, 20))[2:18, 7:23] / 255, atol=1e-6)


def test_open_clip_has_its_own_file(tmp_path) -> None:
    config = {
        "model_cfg": {"vision_cfg": {"image_size": 20}},
        "preprocess_cfg": {"mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5], "interpolation": "bilinear"},
    }
    by_hand = (resized((31, 20), Image.Resampling.BILINEAR)[:, 5:25] / 255 - 0.5) / 0.5
    np.testing.assert_allclose(prepared(tmp_path, config, "open_clip_config.json"), by_hand, atol=1e-5)
    config["preprocess_cfg"] = {"resize_mode": "squash", "size": [20, 20]}
    by_hand = (resized((20, 20)) / 255 - CLIP_MEAN) / CLIP_STD
    np.testing.assert_allclose(prepared(tmp_path, config, "open_clip_config.json"), by_hand, atol=1e-5)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"size": {"longest_edge": 3}}, r"size is \{'longest_edge': 3\}; a number, shortest_edge, or height and width"),
        ({"size": 3, "resample": 9}, "images are resized by 9; nearest, lanczos"),
        ({"size": 3, "image_std": [0, 1, 1]}, "those of std above 0"),
        ({"size": 3, "image_mean": [1, 2]}, r"image_mean is \[1, 2\]; three numbers are needed"),
        ({"size": 3, "do_resize": False}, "do_resize is false"),
    ],
)
def test_what_is_not_known_is_named(tmp_path, config, message) -> None:
    with pytest.raises(ConfigError, match=message):
        prepared(tmp_path, config)


def test_a_folder_that_says_nothing_is_refused(tmp_path) -> None:
    (tmp_path / "vision_model.onnx").write_bytes(b"")
    with pytest.raises(ConfigError, match=r"neither preprocessor_config.json nor .*it holds vision_model.onnx"):
        read_preprocessing(EncoderFolder(tmp_path))
    (tmp_path / "preprocessor_config.json").write_text("[1, 2]")
    with pytest.raises(DataError, match=r"preprocessor_config.json holds a list where an object belongs"):
        read_preprocessing(EncoderFolder(tmp_path))
    (tmp_path / "preprocessor_config.json").write_text("{")
    with pytest.raises(DataError, match="cannot be read"):
        read_preprocessing(EncoderFolder(tmp_path))


def test_batches_cover_all_images_in_order() -> None:
    images = [np.full((4 + i, 9, 3), 10 * i, dtype=np.uint8) for i in range(7)]
    parts = list(batches(images, 3, 6, 5))
    assert [part.shape for part in parts] == [(3, 6, 5, 3), (3, 6, 5, 3), (1, 6, 5, 3)]
    np.testing.assert_array_equal(np.concatenate(parts)[:, 2, 2, 0], 10 * np.arange(7))


def test_an_image_of_the_right_size_is_left_alone() -> None:
    image = generator(0, "image").integers(0, 256, (8, 6, 3), dtype=np.uint8)
    np.testing.assert_array_equal(next(batches([image], 1, 8, 6))[0], image)
