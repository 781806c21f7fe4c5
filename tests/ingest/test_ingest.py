"""The whole way: files in, a dataset with fitted features out."""

import json
import shutil
import tarfile
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from diptych._core.errors import ConfigError, DataError
from diptych.data import Dataset, media_of
from diptych.features import make_feature, pipeline_of
from diptych.features.pipeline import read_items
from diptych.ingest import SplitShares, ingest
from ingest.images import png

pytestmark = pytest.mark.usefixtures("small_shards")


def test_rows_are_those_of_features_fitted_on_training_items_alone(options) -> None:
    made = ingest(options)
    dataset, raw = Dataset.open(options.out), options.pairs.parent
    assert (len(dataset), dataset.classes) == (30, ("even", "odd"))
    assert [len(dataset.split(name)) for name in ("train", "val", "test")] == [18, 6, 6]
    names = dataset.ids.tolist()
    images = read_items("image", [raw / name for name in names])
    rows = [json.loads(line) for line in options.pairs.read_text().splitlines()]
    texts = ["\n".join(row["captions"]) for row in rows]
    for modality, items in (("image", images), ("text", texts)):
        fitted = make_feature(modality, options.features[modality]).fit(items[:18])
        expected = fitted(items)
        values = dataset.everything.features(modality)
        if modality == "text":
            values, expected = values.toarray(), expected.toarray()
        np.testing.assert_array_equal(values, expected)
    assert dataset.items.column("media").to_pylist() == names
    assert dataset.items.column("text").to_pylist() == texts
    assert not made.report.problems and made.report.with_modality == {"image": 30, "text": 30}
    assert dataset.changed_parts() == []


def test_the_pipeline_travels_with_the_dataset(options) -> None:
    dataset = ingest(options).dataset
    pipeline = pipeline_of(dataset)
    assert pipeline.fingerprint == dataset.pipeline_fingerprint
    again = pipeline.describe("image", [options.pairs.parent / name for name in dataset.ids[:3].tolist()])
    np.testing.assert_array_equal(again, dataset.everything.features("image")[:3])
    assert {m: (p.media_type, p.features) for m, p in pipeline.modalities.items()} == {
        name: (name, written) for name, written in options.features.items()
    }


def test_a_pipeline_put_in_its_place_is_noticed(with_options, tmp_path) -> None:
    dataset = ingest(with_options()).dataset
    other = ingest(with_options(out=tmp_path / "other", features={"image": "gist", "text": "bow:9"})).dataset
    shutil.rmtree(dataset.pipeline_folder)
    shutil.copytree(other.pipeline_folder, dataset.pipeline_folder)
    with pytest.raises(DataError, match="is not the pipeline that made"):
        pipeline_of(dataset)


def test_labels_of_all_kinds(options) -> None:
    (options.pairs.parent / "t.csv").write_text(
        "image,text,label\nimages/001.png,one,2\nimages/002.png,two,-1\nimages/003.png,three,10;2\n"
    )
    changed = replace(options, pairs=options.pairs.parent / "t.csv", features={"image": "gist", "text": "bow"})
    with pytest.raises(DataError, match="--missing-label -1"):
        ingest(replace(changed, columns={"label": "label"}))
    dataset = ingest(replace(changed, missing_label="-1", label_separator=";")).dataset
    assert dataset.classes == ("2", "10")
    assert dataset.items.column("label").to_pylist() == [["2"], None, ["10", "2"]]


def test_folder_tar_and_zip_give_the_same_rows(with_options, tmp_path) -> None:
    raw = tmp_path / "raw"
    with tarfile.open(tmp_path / "p.tar.gz", "w:gz") as archive:
        for path in sorted((raw / "images").iterdir(), reverse=True):
            archive.add(path, f"images/{path.name}")
    with zipfile.ZipFile(tmp_path / "p.zip", "w") as archive:
        for path in sorted((raw / "images").iterdir(), reverse=True):
            archive.write(path, f"images/{path.name}")
    fixed = {"image": "colour-moments", "text": "bow:12"}
    prints = set()
    for number, images in enumerate((None, tmp_path / "p.tar.gz", tmp_path / "p.zip")):
        dataset = ingest(with_options(out=tmp_path / f"d{number}", images=images, features=fixed)).dataset
        prints.add(dataset.fingerprint)
        with media_of(dataset) as source:
            name = dataset.items.column("media")[5].as_py()
            assert source.read(source.locate(name)) == (raw / name).read_bytes()
    assert len(prints) == 1


def test_a_caption_each_shows_the_image_once(with_options) -> None:
    dataset = ingest(with_options(captions="each")).dataset
    assert len(dataset) == 60
    assert dataset.modalities["image"].items == 30 and dataset.modalities["text"].items == 60
    assert dataset.ids[:2].tolist() == ["images/000.png#1", "images/000.png#2"]
    assert dataset.everything.documents[:3].tolist() == ["images/000.png", "images/000.png", "images/001.png"]
    assert dataset.has("image")[:4].tolist() == [True, False, True, False]
    assert dataset.items.column("text")[1].as_py() == "red blue thing number0"


def test_a_tree_of_classes_needs_no_table(tmp_path, with_options) -> None:
    for number in range(12):
        folder = tmp_path / "tree" / ("cat" if number % 2 else "dog")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.png").write_bytes(png(number))
        if number > 3:
            (folder / f"{number}.txt").write_text(f"a {folder.name} called number{number}")
    dataset = ingest(with_options(pairs=tmp_path / "tree", split_shares=SplitShares.parse("50,25,25"))).dataset
    assert (len(dataset), dataset.classes) == (12, ("cat", "dog"))
    assert dataset.modalities["text"].items == 8
    assert [len(dataset.split(name)) for name in ("train", "val", "test")] == [4, 4, 4]


def test_images_alone_leave_the_text_out(with_options) -> None:
    dataset = ingest(with_options(columns={"text": "-"})).dataset
    assert list(dataset.modalities) == ["image"]


def test_another_datasets_features_can_be_used_as_they_are(with_options, tmp_path) -> None:
    first = ingest(with_options()).dataset
    pairs = options_of_new_items(tmp_path)
    second = ingest(with_options(pairs=pairs, out=tmp_path / "second", pipeline=first.path)).dataset
    assert second.pipeline_fingerprint == first.pipeline_fingerprint
    assert second.modalities["image"].dimension == first.modalities["image"].dimension
    with pytest.raises(DataError, match="holds no pipeline"):
        ingest(with_options(out=tmp_path / "third", pipeline=tmp_path))


def options_of_new_items(tmp_path):
    folder = tmp_path / "new"
    folder.mkdir()
    (folder / "x.png").write_bytes(png("x"))
    (folder / "t.csv").write_text("file,text,split\nx.png,red thing,test\n")
    return folder / "t.csv"


def test_only_training_images_are_learned_from_and_at_most_so_many(with_options, monkeypatch) -> None:
    from diptych.ingest.extract import training_places
    from diptych.ingest.plan import plan_ingest

    all_of_them = training_places(plan_ingest(with_options()))
    assert [place.name for place in all_of_them] == [f"images/{number:03d}.png" for number in range(18)]
    some = training_places(plan_ingest(with_options(fit_images=7)))
    assert len(some) == 7 and set(some) < set(all_of_them)
    assert some != training_places(plan_ingest(with_options(fit_images=7, seed=1)))


def test_decoded_images_never_accumulate(with_options, monkeypatch) -> None:
    """However many images there are, few are held: each is let go before many more are decoded."""
    import weakref

    from diptych.media import decoding

    alive, most = weakref.WeakSet(), []
    decode = decoding.decode_image

    def counted(data, limits=None):
        image = decode(data, limits).view(Counted)
        alive.add(image)
        most.append(len(alive))
        return image

    monkeypatch.setattr(decoding, "decode_image", counted)
    monkeypatch.setattr("diptych.ingest.extract._SHARD_TEXTS", 64)
    monkeypatch.setattr("diptych.ingest.describe._BATCH", 3)
    ingest(with_options(features={"image": "visual-words:2+phow:2", "text": "bow"}))
    assert len(most) == 18 * 2 + 30
    assert max(most) <= 3 + 1


class Counted(np.ndarray):
    """An image that can be counted."""

    __hash__ = object.__hash__


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"features": {"image": "nuswid", "text": "bow"}}, ConfigError, "did you mean 'nuswide'"),
        ({"fit_images": 0}, ConfigError, "fit_images is 0"),
        ({"columns": {"image": "pic"}}, ConfigError, "no column 'pic'"),
        ({"columns": {"split": "label"}}, DataError, "has the split 'even'"),
    ],
)
def test_mistakes_are_told_before_the_work(with_options, changes, error, message) -> None:
    with pytest.raises(error, match=message):
        ingest(with_options(**changes))


def test_what_is_missing_is_told(with_options, tmp_path) -> None:
    with pytest.raises(DataError, match="there is no"):
        ingest(with_options(pairs=tmp_path / "gone.csv"))
    (tmp_path / "empty").mkdir()
    missing = r"none of the 30 images is in .*images/000.png: is not there. Put them there, or name"
    with pytest.raises(DataError, match=missing):
        ingest(with_options(images=tmp_path / "empty"))
    with pytest.raises(ConfigError, match="workers is -1"):
        ingest(with_options(), workers=-1)
    ingest(with_options())
    with pytest.raises(DataError, match="already exists; choose another folder or pass --overwrite"):
        ingest(with_options())
    ingest(with_options(overwrite=True))
    shutil.rmtree(tmp_path / "raw" / "images")
    with pytest.raises(DataError, match="none of the 30 images"):
        ingest(with_options(overwrite=True))
