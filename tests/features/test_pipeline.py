"""The pipeline that travels with a model: the same rows after a journey, and nothing else in its place."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import load_file, save_file

from diptych._core.errors import ConfigError, DataError
from diptych._core.seeding import generator
from diptych.features import Pipeline, check_same_pipeline, fit_pipeline, load_pipeline, save_pipeline
from diptych.features.pipeline import read_items
from ingest.images import encoded, noise

TRAIN = ["cat dog cat", "sea hill", "cat sea été", "東京 dog"]
NEW = ["cat 東京", "", "zebra hill hill"]
WRITTEN = {"caption": ("text", "bow:5"), "article": ("text", "lda:3"), "title": ("text", "tfidf")}


def fit(texts=TRAIN, written=WRITTEN, seed=0) -> Pipeline:
    return fit_pipeline(written, dict.fromkeys(written, texts), seed=seed)


PIPELINE = fit()


def rows(pipeline: Pipeline, modality: str) -> np.ndarray:
    found = pipeline(modality, NEW)
    return found if isinstance(found, np.ndarray) else found.toarray()


def load_in_a_fresh_process(folder: Path) -> str:
    script = f"from diptych.features import load_pipeline; print(load_pipeline({str(folder)!r}).fingerprint)"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return told.stdout.strip()


@pytest.fixture
def folder(tmp_path):
    save_pipeline(PIPELINE, tmp_path / "pipeline")
    return tmp_path / "pipeline"


def test_rows_and_fingerprint_survive_the_journey(folder) -> None:
    loaded = load_pipeline(folder)
    assert loaded.fingerprint == PIPELINE.fingerprint
    assert list(loaded.modalities) == list(WRITTEN)
    for modality, (media_type, written) in WRITTEN.items():
        assert (loaded.of(modality).media_type, loaded.of(modality).features) == (media_type, written)
        np.testing.assert_array_equal(rows(loaded, modality), rows(PIPELINE, modality))
        assert loaded(modality, NEW).dtype == PIPELINE(modality, NEW).dtype


def test_a_fresh_process_reads_it_although_features_are_imported_lazily(folder) -> None:
    assert load_in_a_fresh_process(folder) == PIPELINE.fingerprint


def test_images_travel_too(tmp_path) -> None:
    pytest.importorskip("cv2", reason="the extra 'images' is not installed")
    images = list(generator(0, "pictures").integers(0, 256, (3, 40, 50, 3), dtype=np.uint8))
    written = {"photo": ("image", "colour-moments+mpeg7")}
    pipeline = fit_pipeline(written, {"photo": images})
    save_pipeline(pipeline, tmp_path / "pipeline")
    loaded = load_pipeline(tmp_path / "pipeline")
    np.testing.assert_array_equal(loaded("photo", images), pipeline("photo", images))
    assert loaded.fingerprint == pipeline.fingerprint
    assert load_in_a_fresh_process(tmp_path / "pipeline") == pipeline.fingerprint


def test_the_same_fit_has_the_same_fingerprint_and_another_has_not() -> None:
    assert fit().fingerprint == PIPELINE.fingerprint
    others = [
        fit([*TRAIN, "hill hill hill"]),
        fit(written=WRITTEN | {"caption": ("text", "bow:4")}),
        fit(written={"caption": WRITTEN["caption"]}),
        fit(seed=1),
    ]
    prints = {other.fingerprint for other in others}
    assert len(prints) == len(others) and PIPELINE.fingerprint not in prints


def test_the_document_can_be_read_by_a_person(folder) -> None:
    assert sorted(path.name for path in folder.iterdir()) == ["pipeline.json", "weights.safetensors"]
    body = json.loads((folder / "pipeline.json").read_text(encoding="utf-8"))
    assert body["modalities"]["caption"] == {"medium": "text", "features": "bow:5"}
    assert body["fingerprint"] == PIPELINE.fingerprint


def test_an_existing_folder_is_kept_unless_told_otherwise(folder) -> None:
    with pytest.raises(DataError, match="already exists"):
        save_pipeline(PIPELINE, folder)
    save_pipeline(fit(seed=1), folder, overwrite=True)
    assert load_pipeline(folder).fingerprint == fit(seed=1).fingerprint


def test_a_folder_without_a_pipeline_is_named(tmp_path) -> None:
    with pytest.raises(DataError, match=r"holds no pipeline\.json, so it is not a pipeline"):
        load_pipeline(tmp_path)


def test_other_formats_are_refused(folder) -> None:
    body = json.loads((folder / "pipeline.json").read_text(encoding="utf-8"))
    (folder / "pipeline.json").write_text(json.dumps(body | {"format_version": 99}))
    with pytest.raises(DataError, match="this diptych reads 'diptych-pipeline' version 1"):
        load_pipeline(folder)


def without_checksum(document, **changes) -> None:
    """Change a document as no accident does, or as versions wrote it that had no checksum."""
    body = json.loads(document.read_text(encoding="utf-8"))
    del body["checksum"]
    document.write_text(json.dumps(body | changes))


def test_changed_content_is_refused(folder) -> None:
    arrays = load_file(folder / "weights.safetensors")
    name = next(name for name in arrays if "word_topics" in name)
    save_file(arrays | {name: arrays[name] * 2}, folder / "weights.safetensors")
    with pytest.raises(
        DataError, match=r"is damaged: pipeline\.json and weights\.safetensors are not what was written"
    ):
        load_pipeline(folder)
    without_checksum(folder / "pipeline.json")
    with pytest.raises(DataError, match="does not have the fingerprint it names"):
        load_pipeline(folder)


def test_an_unknown_modality_is_named() -> None:
    with pytest.raises(ConfigError, match="has no modality 'sound'; it makes rows of caption, article, title"):
        PIPELINE("sound", NEW)


def test_features_without_items_are_named() -> None:
    with pytest.raises(ConfigError, match="features for 'title' but no items"):
        fit_pipeline(WRITTEN, {"caption": TRAIN, "article": TRAIN})


@pytest.mark.parametrize(
    "change",
    [
        {"modalities": None},
        {"modalities": {"caption": {"medium": "text"}}},
        {"modalities": {"caption": "text"}},
        {"state": 3},
        {"state": {"$type": "Pipeline", "fields": None}},
        {"fingerprint": None},
    ],
)
def test_a_damaged_pipeline_is_refused_in_a_sentence(tmp_path, change) -> None:
    save_pipeline(fit_pipeline({"caption": ("text", "bow:5")}, {"caption": TRAIN}), tmp_path / "pipeline")
    without_checksum(tmp_path / "pipeline" / "pipeline.json", **change)
    with pytest.raises(DataError, match=r"is no pipeline that can be read|is not what was saved"):
        load_pipeline(tmp_path / "pipeline")


def test_rows_of_another_pipeline_are_refused() -> None:
    check_same_pipeline("3f2a", "3f2a")
    with pytest.raises(
        DataError, match="this model was made by pipeline 3f2a and these rows by pipeline 91bc; extract"
    ):
        check_same_pipeline("3f2a", "91bc")
    with pytest.raises(DataError, match="; run `diptych this`"):
        check_same_pipeline("3f2a", "91bc", remedy="run `diptych this`")


def test_all_ways_to_hold_an_image_are_one(tmp_path) -> None:
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
    with pytest.raises(DataError, match="an image is a float"):
        read_items("image", 1.5)
    with pytest.raises(ConfigError, match="there are image, audio"):
        read_items("sound", "x")


def test_a_pillow_image_is_turned_upright() -> None:
    image = Image.fromarray(np.arange(24, dtype=np.uint8).reshape(2, 4, 3))
    image.getexif()[0x0112] = 3
    (upright,) = read_items("image", image)
    np.testing.assert_array_equal(upright, np.asarray(image)[::-1, ::-1])
