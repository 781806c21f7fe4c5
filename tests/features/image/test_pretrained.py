"""What encoders share: absent packages and other files are refused in words, pictures become batches."""

import numpy as np
import pytest

from diptych._core.errors import ConfigError, DataError
from diptych._core.seeding import generator
from diptych.features.image.pretrained import batches
from diptych.features.weights import check_hash, file_hash, required


def test_an_absent_package_is_named_with_what_to_type() -> None:
    with pytest.raises(ConfigError, match=r"needs the package 'no_such_package_here'; install it with pip install x\."):
        required("no_such_package_here", "pip install x")


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


def test_batches_cover_all_pictures_in_order() -> None:
    pictures = [np.full((4 + i, 9, 3), 10 * i, dtype=np.uint8) for i in range(7)]
    parts = list(batches(pictures, 3, 6, 5))
    assert [part.shape for part in parts] == [(3, 6, 5, 3), (3, 6, 5, 3), (1, 6, 5, 3)]
    np.testing.assert_array_equal(np.concatenate(parts)[:, 2, 2, 0], 10 * np.arange(7))


def test_a_picture_of_the_right_size_is_left_alone() -> None:
    picture = generator(0, "picture").integers(0, 256, (8, 6, 3), dtype=np.uint8)
    np.testing.assert_array_equal(next(batches([picture], 1, 8, 6))[0], picture)
