"""Features by name: what can be written, and what is said when it cannot."""

import subprocess
import sys
from importlib import import_module
from importlib.metadata import EntryPoint

import numpy as np
import pytest

from diptych._core.errors import ConfigError
from diptych._core.seeding import generator
from diptych.features import (
    DEFAULT_FEATURES,
    check_available,
    describe_features,
    fit_pipeline,
    load_pipeline,
    make_feature,
    media_types,
    save_pipeline,
)
from diptych.features.catalogue import BUILT_IN, GROUP, Argument, FeatureEntry
from diptych.features.contract import Composition
from diptych.features.text.counts import BagOfWords, TfIdf
from diptych.features.text.minilm import MiniLm, SentenceEncoder
from diptych.features.text.topics import Topics

ENTRIES = [(media_type, name, entry) for media_type, entries in BUILT_IN.items() for name, entry in entries.items()]


def feature_names(media_type: str) -> list[str]:
    """Every feature of a media type as it is written."""
    return [each["written"] for each in describe_features(media_type)]


@pytest.mark.parametrize(
    ("written", "feature"),
    [
        ("bow", BagOfWords()),
        ("bow:1000", BagOfWords(size=1000)),
        (" tfidf:7 ", TfIdf(size=7)),
        ("lda", Topics()),
        ("lda:25", Topics(topics=25)),
        ("sentence", SentenceEncoder()),
        ("bow:50,max_df=0.5", BagOfWords(size=50, max_df=0.5)),
        ("bow, max_df = 0.5 , stop_words=english", BagOfWords(max_df=0.5, stop_words="english")),
        ("lda:7,passes=3", Topics(topics=7, passes=3)),
        ("minilm,passages=4", MiniLm(passages=4)),
        ("bow:9,max_df=1+minilm", Composition((BagOfWords(size=9), MiniLm()))),
    ],
)
def test_text_features_are_made_as_written(written, feature) -> None:
    assert make_feature("text", written) == feature


@pytest.mark.parametrize(("media_type", "name", "entry"), ENTRIES, ids=[name for _, name, _ in ENTRIES])
def test_every_entry_leads_to_a_feature(media_type, name, entry) -> None:
    module = entry.target.partition(":")[0]
    try:
        import_module(module)
    except ModuleNotFoundError as error:
        assert entry.extra is not None and not (error.name or "").startswith("diptych")
        pytest.skip(f"{error.name}, of the extra '{entry.extra}', is not installed")
    feature = make_feature(media_type, f"{name}:3" if entry.argument else name)
    assert callable(feature.fit)
    if entry.argument:
        assert getattr(feature, entry.argument.parameter) == (3 if entry.argument.whole else "3")


@pytest.mark.parametrize(
    ("media_type", "written", "message"),
    [
        ("smell", "bow", "no features of 'smell'; there are some of image, audio, text"),
        ("text", "bwo", "no text feature 'bwo'; did you mean 'bow'?"),
        ("text", "", "no text feature ''; there are minilm, use"),
        ("text", "gist", "that is a feature of image"),
        ("image", "nus-wide", "did you mean 'nuswide'?"),
        ("text", "bow:", "'bow:': after the colon comes the number of words"),
        ("text", "bow:many", "a whole number of 1 or more, such as 'bow:100'"),
        ("text", "bow:0", "'bow:0'"),
        ("text", "bow:-5", "'bow:-5'"),
        ("text", "sentence:5", "'sentence' takes no argument"),
        ("image", "onnx", "after the colon comes the path of an ONNX file"),
        ("text", "bow:100,max_df=half", "'bow': max_df is 'half'; it must be a number"),
        ("text", "bow,stop_words=french", "'bow': stop_words is 'french'; it must be english"),
        ("text", "bow,size=3", "'bow' has no setting 'size'; there are max_df, stop_words"),
        ("text", "bow,maxdf=1", "'bow' has no setting 'maxdf'; there are max_df, stop_words"),
        ("text", "bow:100,max_df=0.5,max_df=1", "max_df is given twice"),
        ("text", "bow:100,200", "'200' is no setting; write it as name=value"),
        ("text", "wordllama,passages=3", "'wordllama' has no setting 'passages'; it has none"),
        ("image", "mpeg7,grid=3", "'mpeg7' has no setting 'grid'; it has none"),
        ("image", "onnx:a.onnx,mean=1/2", "mean is '1/2'; it must be 3 numbers such as 0.5/0.5/0.5"),
        ("text", "tfidf+", "no text feature ''"),
    ],
)
def test_what_cannot_be_made_is_explained(media_type, written, message) -> None:
    with pytest.raises(ConfigError) as caught:
        make_feature(media_type, written)
    assert message in str(caught.value)


def test_dense_features_stand_side_by_side() -> None:
    texts = ["cat dog", "sea hill", "cat sea"]
    joined = make_feature("text", "tfidf+lda:2").fit(texts)
    parts = [make_feature("text", written).fit(texts)(texts) for written in ("tfidf", "lda:2")]
    np.testing.assert_array_equal(joined(texts), np.hstack(parts))
    assert [block.name for block in joined.blocks] == ["weighted words", "topics"]


def test_names_are_listed_as_they_are_written() -> None:
    assert media_types() == ["image", "audio", "text"]
    text = feature_names("text")
    encoders = ["minilm", "use", "wordllama", "onnx:PATH", "sentence"]
    assert list(text) == [*encoders, "bow[:SIZE]", "tfidf[:SIZE]", "lda[:TOPICS]"]
    assert "onnx:PATH" in feature_names("image")
    assert all(each["summary"] for each in describe_features("text"))


def test_a_missing_optional_package_is_named_with_its_extra(monkeypatch) -> None:
    entry = FeatureEntry("diptych.features.text.counts:BagOfWords", "", extra="nowhere")
    monkeypatch.setitem(BUILT_IN["text"], "needy", entry)

    def fail(module: str) -> None:
        raise ModuleNotFoundError(name="unobtainium")

    monkeypatch.setattr("diptych.features.registry.import_module", fail)
    with pytest.raises(ConfigError, match=r"'needy' needs the optional package 'unobtainium'.*diptych\[nowhere\]"):
        make_feature("text", "needy")


@pytest.mark.parametrize("path", ["C:/a b.onnx", "a+b/c,d.onnx", "x=y,z/m.onnx"])
def test_a_path_may_hold_what_joins_features(path) -> None:
    onnx = pytest.importorskip("diptych.features.image.onnx").OnnxEncoder
    assert make_feature("image", f"onnx:{path}") == onnx(path)
    settings = make_feature("image", f"onnx:{path},side=32,mean=0.1/0.2/0.3,output=rows+gist")
    assert settings.parts[0] == onnx(path, side=32, mean=(0.1, 0.2, 0.3), output="rows")


def test_counts_and_dense_features_stand_side_by_side() -> None:
    texts = ["cat dog cat", "sea hill", "cat sea"]
    joined = make_feature("text", "bow:3+tfidf").fit(texts)
    rows = joined(texts)
    assert joined.kind == "counts:3+dense:4" and rows.dtype == np.float32
    np.testing.assert_array_equal(rows[:, :3], make_feature("text", "bow:3").fit(texts)(texts).toarray())
    np.testing.assert_array_equal(rows[:, 3:], make_feature("text", "tfidf").fit(texts)(texts))
    counts = make_feature("text", "bow:2+bow:3").fit(texts)
    assert counts.kind == "counts" and counts(texts).format == "csr" and counts(texts).shape == (3, 5)


def test_a_file_is_taken_as_written(monkeypatch) -> None:
    argument = Argument("stop_words", "a file", whole=False, required=True)
    monkeypatch.setitem(
        BUILT_IN["text"], "filed", FeatureEntry("diptych.features.text.counts:BagOfWords", "", argument)
    )
    assert make_feature("text", "filed:C:/a b.onnx") == BagOfWords(stop_words="C:/a b.onnx")


@pytest.mark.parametrize("media_type", [pytest.param("image", marks=pytest.mark.slow), "text"])
def test_the_catalogue_says_how_long_rows_are(media_type) -> None:
    texts = ["one two three", "four five six"] * 10
    images = [generator(n, "catalogue").integers(256, size=(64, 80, 3), dtype=np.uint8) for n in range(40)]
    for row in describe_features(media_type):
        if row["dimension"] is None or not row["installed"]:
            continue
        extractor = make_feature(media_type, row["name"]).fit(texts if media_type == "text" else images)
        length = extractor.blocks[-1].stop
        if row["name"] in ("bow", "tfidf"):  # as many as the texts hold, at most
            assert length <= row["dimension"] == make_feature(media_type, row["name"]).size
        else:
            assert length == row["dimension"], row
        assert extractor.kind == row["kind"]


def test_defaults_are_features_and_marked_as_such() -> None:
    for media_type, written in DEFAULT_FEATURES.items():
        assert [row["name"] for row in describe_features(media_type) if row["default"]] == written.split("+")


PLUGIN = """
from dataclasses import dataclass

import numpy as np

from diptych.features import Block, stateful
from diptych.features.image import FixedDescriptor


@stateful
@dataclass(frozen=True)
class PluginBrightness(FixedDescriptor):
    levels: int = 4

    @property
    def blocks(self):
        return (Block("brightness", 0, self.levels, "share of pixels of a brightness"),)

    def describe(self, image):
        bins = image.mean(axis=2).astype(int) * self.levels // 256
        return np.bincount(bins.ravel(), minlength=self.levels) / bins.size
"""


def announce(monkeypatch, **points: str) -> None:
    """Have installed packages announce features."""
    announced = [EntryPoint(name, target, GROUP) for name, target in points.items()]
    monkeypatch.setattr(
        "diptych.features.catalogue.entry_points", lambda group: announced if group == "diptych.features" else []
    )


@pytest.fixture
def plugin(tmp_path, monkeypatch) -> None:
    """An installed package with a descriptor of its own."""
    (tmp_path / "brightness_plugin.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    announce(monkeypatch, **{"image.brightness": "brightness_plugin:PluginBrightness"})


def test_installed_packages_add_features(plugin, tmp_path) -> None:
    assert list(feature_names("image"))[-1] == "brightness" and "brightness" not in feature_names("text")
    row = next(row for row in describe_features("image") if row["name"] == "brightness")
    assert row["installed"] and not row["default"] and "brightness_plugin" in row["summary"]
    assert "brightness_plugin" not in sys.modules  # listing imports nothing
    images = [np.full((6, 5, 3), level, dtype=np.uint8) for level in (0, 200)]
    check_available("image", "brightness,levels=2+colour-moments")
    pipeline = fit_pipeline({"image": ("image", "brightness,levels=2+colour-moments")}, {"image": images})
    np.testing.assert_array_equal(pipeline("image", images)[:, :2], [[1, 0], [0, 1]])
    save_pipeline(pipeline, tmp_path / "pipeline")
    assert load_pipeline(tmp_path / "pipeline").fingerprint == pipeline.fingerprint
    with pytest.raises(ConfigError, match="'brightness' has no setting 'depth'; there are levels"):
        check_available("image", "brightness,depth=2")


def test_installed_packages_do_not_replace_features(monkeypatch) -> None:
    announce(monkeypatch, **{"text.bow": "no_such_module:Nothing", "image.broken": "no_such_module:Nothing"})
    assert make_feature("text", "bow") == BagOfWords()
    with pytest.raises(ConfigError, match=r"'broken' of the package no_such_module cannot be imported"):
        check_available("image", "broken")


def test_an_entry_point_of_no_media_type_is_passed_over(monkeypatch, caplog) -> None:
    announce(monkeypatch, brightness="brightness_plugin:PluginBrightness")
    assert "brightness" not in feature_names("image")
    assert "'brightness' of diptych.features is no feature; call it image.NAME or text.NAME" in caplog.text


def test_listing_features_imports_none_of_them() -> None:
    heavy = ["cv2", "PIL", "pywt", "sklearn", "torch", "onnxruntime", "tokenizers", "pandas", "matplotlib"]
    program = (
        "import sys; from diptych.features import describe_features, media_types\n"
        "rows = [row for each in media_types() for row in describe_features(each)]\n"
        f"assert rows; print(*(name for name in {heavy} if name in sys.modules))"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == []
