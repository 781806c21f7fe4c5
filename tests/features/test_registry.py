"""Features by name: what can be written, and what is said when it cannot."""

from importlib import import_module

import numpy as np
import pytest

from diptych.errors import ConfigError
from diptych.features import feature_names, make_feature, media
from diptych.features.catalogue import FEATURES, Argument, FeatureEntry
from diptych.features.text import BagOfWords, SentenceEncoder, TfIdf, Topics

ENTRIES = [(medium, name, entry) for medium, entries in FEATURES.items() for name, entry in entries.items()]


@pytest.mark.parametrize(
    ("written", "feature"),
    [
        ("bow", BagOfWords()),
        ("bow:1000", BagOfWords(size=1000)),
        (" tfidf:7 ", TfIdf(size=7)),
        ("lda", Topics()),
        ("lda:25", Topics(topics=25)),
        ("sentence", SentenceEncoder()),
    ],
)
def test_text_features_are_made_as_written(written, feature) -> None:
    assert make_feature("text", written) == feature


@pytest.mark.parametrize(("medium", "name", "entry"), ENTRIES, ids=[name for _, name, _ in ENTRIES])
def test_every_entry_leads_to_a_feature(medium, name, entry) -> None:
    module = entry.target.partition(":")[0]
    try:
        import_module(f"diptych.features.{module}")
    except ModuleNotFoundError as error:
        assert entry.extra is not None and not (error.name or "").startswith("diptych")
        pytest.skip(f"{error.name}, of the extra '{entry.extra}', is not installed")
    feature = make_feature(medium, f"{name}:3" if entry.argument else name)
    assert callable(feature.fit)
    if entry.argument:
        assert getattr(feature, entry.argument.parameter) == (3 if entry.argument.whole else "3")


@pytest.mark.parametrize(
    ("medium", "written", "message"),
    [
        ("smell", "bow", "no features of 'smell'; there are some of image and text"),
        ("text", "bwo", "no text feature 'bwo'; did you mean 'bow'?"),
        ("text", "", "no text feature ''; there are bow, tfidf"),
        ("text", "gist", "that is a feature of image"),
        ("image", "nus-wide", "did you mean 'nuswide'?"),
        ("text", "bow:", "'bow:': after the colon comes the number of words"),
        ("text", "bow:many", "a whole number of 1 or more, such as 'bow:100'"),
        ("text", "bow:0", "'bow:0'"),
        ("text", "bow:-5", "'bow:-5'"),
        ("text", "sentence:5", "'sentence' takes no argument"),
        ("image", "onnx", "after the colon comes the path of an ONNX file"),
        ("text", "tfidf+bow", "'bow' gives counts; join dense features only"),
        ("text", "tfidf+", "no text feature ''"),
    ],
)
def test_what_cannot_be_made_is_explained(medium, written, message) -> None:
    with pytest.raises(ConfigError) as caught:
        make_feature(medium, written)
    assert message in str(caught.value)


def test_dense_features_stand_side_by_side() -> None:
    texts = ["cat dog", "sea hill", "cat sea"]
    joined = make_feature("text", "tfidf+lda:2").fit(texts)
    parts = [make_feature("text", written).fit(texts)(texts) for written in ("tfidf", "lda:2")]
    np.testing.assert_array_equal(joined(texts), np.hstack(parts))
    assert [block.name for block in joined.blocks] == ["weighted words", "topics"]


def test_names_are_listed_as_they_are_written() -> None:
    assert media() == ["image", "text"]
    text = feature_names("text")
    assert list(text) == ["bow[:SIZE]", "tfidf[:SIZE]", "lda[:TOPICS]", "sentence"]
    assert "onnx:PATH" in feature_names("image")
    assert all(text.values())


def test_a_missing_optional_package_is_named_with_its_extra(monkeypatch) -> None:
    entry = FeatureEntry("text.bow:BagOfWords", "", extra="nowhere")
    monkeypatch.setitem(FEATURES["text"], "needy", entry)

    def fail(module: str) -> None:
        raise ModuleNotFoundError(name="unobtainium")

    monkeypatch.setattr("diptych.features.registry.import_module", fail)
    with pytest.raises(ConfigError, match=r"'needy' needs the optional package 'unobtainium'.*diptych\[nowhere\]"):
        make_feature("text", "needy")


def test_a_file_is_taken_as_written(monkeypatch) -> None:
    argument = Argument("stop_words", "a file", whole=False, required=True)
    monkeypatch.setitem(FEATURES["text"], "filed", FeatureEntry("text.bow:BagOfWords", "", argument))
    assert make_feature("text", "filed:C:/a b.onnx") == BagOfWords(stop_words="C:/a b.onnx")
