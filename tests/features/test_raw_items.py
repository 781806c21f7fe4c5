"""Paths, bytes, pictures and sentences in hand."""

import numpy as np
import pytest
from PIL import Image

from diptych._core.errors import ConfigError, DataError
from diptych.features.raw_items import read_items
from ingest.images import encoded, noise


def test_all_ways_to_hold_a_picture_are_one(tmp_path) -> None:
    image = noise("a")
    path = tmp_path / "a.png"
    path.write_bytes(encoded(image))
    raw = [path, str(path), path.read_bytes(), image, np.asarray(image)]
    first, *others = read_items("image", raw)
    assert first.shape == (24, 24, 3)
    for other in others:
        np.testing.assert_array_equal(other, first)
    (alone,) = read_items("image", path)
    np.testing.assert_array_equal(alone, first)


def test_texts_are_strings() -> None:
    assert read_items("text", "a sentence") == ["a sentence"]
    assert read_items("text", ("a", "b")) == ["a", "b"]
    with pytest.raises(DataError, match="a text is a int"):
        read_items("text", [3])


def test_what_cannot_be_read_is_named(tmp_path) -> None:
    (tmp_path / "x.jpg").write_text("hello")
    with pytest.raises(DataError, match=r"x\.jpg: not an image"):
        read_items("image", tmp_path / "x.jpg")
    with pytest.raises(DataError, match=r"gone\.jpg cannot be read \(No such file"):
        read_items("image", tmp_path / "gone.jpg")
    with pytest.raises(DataError, match="a picture is a float"):
        read_items("image", 1.5)
    with pytest.raises(ConfigError, match="there are image and text"):
        read_items("sound", "x")


def test_a_pillow_image_is_turned_upright() -> None:
    image = Image.fromarray(np.arange(24, dtype=np.uint8).reshape(2, 4, 3))
    image.getexif()[0x0112] = 3
    (picture,) = read_items("image", image)
    np.testing.assert_array_equal(picture, np.asarray(image)[::-1, ::-1])
