"""Building: whole or not at all, taken up where it stopped, and refusing what cannot be searched."""

import json
import shutil

import numpy as np
import pytest

from cluster import PickledExecutor
from diptych._core.errors import ConfigError, DataError
from diptych.data import Dataset
from diptych.media import content_type
from diptych.methods import create, load_model, save_model
from diptych.search import QueryPart, Searcher, build, build_index
from diptych.search.spaces import check_indexable
from search.gallery import make


@pytest.fixture
def dataset(fields):
    return Dataset.open(fields / "dataset")


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(build, "_BLOCK", 16)


def content(place):
    with Searcher.open(place) as searcher:
        hits = searcher.list(limit=1000)
        vectors = [item.vector.tobytes() for item in searcher.generations.current.index.get([hit.id for hit in hits])]
        return hits, vectors, searcher.projection(), searcher.calibration.to_json(), searcher.info()


def test_every_item_is_in_with_the_models_own_vector(fields, dataset, searcher) -> None:
    model = load_model(fields / "model")
    codes = model.embed("image", dataset.everything.features("image")).astype(np.float64)
    units = codes / np.linalg.norm(codes, axis=1, keepdims=True)
    items = searcher.generations.current.index.get([f"image:{id}" for id in dataset.ids])
    np.testing.assert_allclose(np.stack([item.vector for item in items]), units, atol=1e-6)
    assert {path.name for path in (fields / "index").iterdir()} >= {"index.sqlite", "model", "media", "searcher.json"}
    assert not list(fields.glob(".index*"))


def test_embedding_elsewhere_comes_to_the_same(fields, dataset, tmp_path, small_blocks) -> None:
    for name, executor in (("here", None), ("there", PickledExecutor())):
        build_index(fields / "model", dataset, tmp_path / name / "index", thumbnails=False, executor=executor)
    assert content(tmp_path / "here" / "index") == content(tmp_path / "there" / "index")


@pytest.mark.parametrize("keep_float", [True, False])
def test_binary_codes_find_what_vectors_find(fields, dataset, searcher, tmp_path, keep_float) -> None:
    options = {"keep_float": keep_float, "shortlist": 30}
    build_index(fields / "model", dataset, tmp_path / "i", thumbnails=False, bits=128, engine_options=options)
    with Searcher.open(tmp_path / "i") as binary:
        index = binary.generations.current.index
        assert index.settings.bits == 128
        asked = [item.vector for item in searcher.generations.current.index.get(["image:" + dataset.ids[0]])]
        expected = searcher.generations.current.index.search(asked[0], 10, modality="text")[0]
        found = index.search(asked[0], 10, modality="text")[0]
    if keep_float:
        assert found.ids == expected.ids
    else:
        assert len(set(found.ids) & set(expected.ids)) >= 6


def test_a_model_with_codes_of_its_own_gives_them_to_its_index(fields, dataset, tmp_path) -> None:
    model = load_model(fields / "model").binarise(64, dataset)
    save_model(model, tmp_path / "model")
    build_index(tmp_path / "model", dataset, tmp_path / "i", thumbnails=False)
    with Searcher.open(tmp_path / "i") as binary:
        index = binary.generations.current.index
        assert index.settings.bits == 64
        np.testing.assert_array_equal(index._form.how.rotation, model.codes_.rotation)
    build_index(tmp_path / "model", dataset, tmp_path / "plain", thumbnails=False, bits=0)
    with Searcher.open(tmp_path / "plain") as plain:
        assert plain.generations.current.index.settings.bits == 0


def test_an_engine_without_codes_says_so(fields, dataset, tmp_path) -> None:
    with pytest.raises(
        ConfigError, match="milvus searches no binary codes; choose one of local, pgvector, or --bits 0"
    ):
        build_index(fields / "model", dataset, tmp_path / "i", engine="milvus", bits=64)


def test_interrupted_work_is_taken_up_and_comes_to_the_same(fields, dataset, tmp_path, small_blocks) -> None:
    stages = []

    def stop(stage, done, total, figures=None):
        stages.append((stage, done))
        if (stage, done) == ("indexing text", 32):
            raise KeyboardInterrupt

    shutil.copytree(fields / "raw", tmp_path / "raw")
    with pytest.raises(KeyboardInterrupt):
        build_index(fields / "model", dataset, tmp_path / "index", progress=stop)
    assert not (tmp_path / "index").exists() and (tmp_path / ".index.building").is_dir()
    stages.clear()
    built = build_index(
        fields / "model",
        dataset,
        tmp_path / "index",
        progress=lambda stage, done, total, f=None: stages.append((stage, done)),
    )
    assert built.resumed and ("indexing text", 48) in stages and ("indexing text", 32) not in stages
    assert ("indexing image", 80) not in stages and built.images == 80
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    assert content(tmp_path / "index") == content(fields / "index")


def test_a_block_that_was_written_but_not_noted_does_no_harm(
    fields, dataset, tmp_path, small_blocks, monkeypatch
) -> None:
    mark, calls = build.WorkFolder.mark, []

    def dying(self, modality, count):
        calls.append(count)
        if len(calls) == 3:
            raise KeyboardInterrupt
        mark(self, modality, count)

    monkeypatch.setattr(build.WorkFolder, "mark", dying)
    with pytest.raises(KeyboardInterrupt):
        build_index(fields / "model", dataset, tmp_path / "index", projection="none")
    build_index(fields / "model", dataset, tmp_path / "index", projection="none")
    assert content(tmp_path / "index")[:2] == content(fields / "index")[:2]


def test_work_for_another_model_starts_anew(fields, dataset, tmp_path, small_blocks) -> None:
    def stop(stage, done, total, figures=None):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_index(fields / "model", dataset, tmp_path / "index", progress=stop)
    save_model(create("cca", components=3).fit(dataset), tmp_path / "other")
    assert not build_index(tmp_path / "other", dataset, tmp_path / "index", projection="none").resumed
    with Searcher.open(tmp_path / "index") as searcher:
        assert searcher.info()["dimension"] == 3 and searcher.count() == 160 and searcher.projection() is None


def test_only_an_index_is_overwritten(fields, dataset, tmp_path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "diary.txt").write_text("dear diary")
    for overwrite, message in ((False, "already exists"), (True, "is not an index")):
        with pytest.raises(DataError, match=message):
            build_index(fields / "model", dataset, tmp_path / "mine", overwrite=overwrite)
    out = shutil.copytree(fields / "index", tmp_path / "index")
    build_index(fields / "model", dataset, out, overwrite=True, projection="none", thumbnails=False)
    with Searcher.open(out) as searcher:
        assert searcher.thumbnail("image:red-00") is None and not searcher.get("image:red-00").has_media


def test_a_model_of_another_fingerprint_is_refused(fields, dataset, own_index, tmp_path) -> None:
    save_model(create("cca", components=3).fit(dataset), tmp_path / "other")
    shutil.rmtree(own_index / "model")
    shutil.copytree(tmp_path / "other", own_index / "model")
    with pytest.raises(DataError, match=r"this index holds vectors of model \w+.*diptych index MODEL DATASET"):
        Searcher.open(own_index)


def test_a_method_of_two_spaces_is_refused(dense_dataset, tmp_path) -> None:
    model = create("cca", components=3).fit(dense_dataset)

    class TwoSpaces(type(model)):
        def represent(self, query_modality, gallery_modality, queries, gallery, purpose="auto"):
            found = super().represent(query_modality, gallery_modality, queries, gallery, purpose)
            return (found[0] * 2, found[1]) if query_modality == "text" else found

    class OneSpace(type(model)):
        def represent(self, query_modality, gallery_modality, queries, gallery, purpose="auto"):
            return super().represent(query_modality, gallery_modality, queries, gallery, purpose)

    model.__class__ = OneSpace
    check_indexable(model, dense_dataset)
    model.__class__ = TwoSpaces
    with pytest.raises(ConfigError, match=r"'cca' model compares text with image in another space"):
        check_indexable(model, dense_dataset)
    model.__class__ = OneSpace
    model.similarity = "dot"
    with pytest.raises(ConfigError, match="compares embeddings by dot product"):
        check_indexable(model, dense_dataset)


def test_a_dataset_of_numbers_is_searched_by_its_items(dense_dataset, tmp_path) -> None:
    save_model(create("cca", components=3).fit(dense_dataset), tmp_path / "model")
    built = build_index(tmp_path / "model", dense_dataset, tmp_path / "index", projection="pca")
    assert built.images == 0 and sum(built.entries.values()) == 2 * len(dense_dataset)
    with Searcher.open(tmp_path / "index") as searcher:
        assert searcher.info()["takes"] == []
        assert len(searcher.similar(f"image:{dense_dataset.ids[0]}", into="text").hits) == 10
        with pytest.raises(ConfigError, match="learned from rows that came as numbers"):
            searcher.search([QueryPart("text", "red")])


def test_gaps_and_missing_labels_are_fine(gaps_dataset, tmp_path) -> None:
    save_model(create("cca", components=3).fit(gaps_dataset), tmp_path / "model")
    built = build_index(tmp_path / "model", gaps_dataset, tmp_path / "index", projection="none")
    having = {name: len(gaps_dataset.everything.having(name)) for name in ("image", "text")}
    assert built.entries == having


def test_items_without_a_direction_are_left_out_and_counted(fields, dataset, tmp_path, monkeypatch) -> None:
    model_class = type(load_model(fields / "model"))
    plain = model_class._embed

    def with_zeros(self, modality, rows):
        codes = np.array(plain(self, modality, rows))
        codes[::5] *= modality == "text"
        return codes

    monkeypatch.setattr(model_class, "_embed", with_zeros)
    built = build_index(fields / "model", dataset, tmp_path / "index", projection="none")
    assert built.without_direction == 16 and built.entries == {"image": 64, "text": 80}


def test_pictures_that_are_gone_leave_the_search_as_it_is(tmp_path) -> None:
    dataset = make(tmp_path, components=3)
    for file in sorted((tmp_path / "raw" / "pictures").iterdir())[:10]:
        file.unlink()
    (tmp_path / "raw" / "pictures" / "red-03.png").write_bytes(b"broken")
    built = build_index(tmp_path / "model", dataset, tmp_path / "index", projection="none")
    assert built.images == 69 and built.entries["image"] == 80
    shutil.rmtree(tmp_path / "raw")
    again = build_index(tmp_path / "model", dataset, tmp_path / "index", projection="none", overwrite=True)
    assert again.images == 0


def test_names_in_a_dataset_lead_nowhere_else(fields, tmp_path) -> None:
    """A name is looked up in the pictures' source, which refuses to leave it."""
    from diptych.data import media_of
    from diptych.search.media_store import MediaImporter, MediaStore

    store = MediaStore(tmp_path / "media", create=True)
    with media_of(Dataset.open(fields / "dataset")) as source:
        importer = MediaImporter(source, store)
        names = ["../../../etc/passwd", "/etc/passwd", "pictures/red-00.png", None, "pictures/red-00.png"]
        taken = importer.take(["a", "b", "c", "d", "e"], names)
    assert set(taken) == {"c", "e"} and store.count() == 2
    store.close()


def test_another_format_is_told(own_index) -> None:
    written = json.loads((own_index / "searcher.json").read_text())
    (own_index / "searcher.json").write_text(json.dumps(written | {"format_version": 9}))
    with pytest.raises(DataError, match="says format"):
        Searcher.open(own_index)


def test_content_types_come_from_the_bytes() -> None:
    assert content_type(b"\xff\xd8\xff\xe0") == "image/jpeg" and content_type(b"RIFF\0\0\0\0WEBPVP8 ") == "image/webp"
    assert content_type(b"<svg onload=x>") == "image/svg+xml"
