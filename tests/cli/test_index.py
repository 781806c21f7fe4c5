"""`diptych index`."""

import pytest

from diptych.data import Dataset
from diptych.index import open_index
from diptych.methods import create, save_model
from diptych.search import Searcher
from search.gallery import make


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("index")
    make(folder, components=3)
    return folder


def test_an_index_is_built_and_reported(diptych, made, tmp_path) -> None:
    ended = diptych("index", made / "model", made / "dataset", "--out", tmp_path / "i", "--projection", "pca")
    assert ended.status == 0, ended.err
    assert "80 image, 80 text; 80 thumbnails" in ended.err and "probabilities text → image: off by 0." in ended.err
    assert "indexing image: 80/80" in ended.err and "per second" in ended.err
    with Searcher.open(tmp_path / "i") as searcher:
        assert searcher.count() == 160 and len(searcher.projection()) == 160


def test_a_model_fitted_with_bits_is_searched_by_codes(diptych, made, tmp_path) -> None:
    fitted = diptych("fit", made / "dataset", "--method", "cfa", "--bits", "64", "--out", tmp_path / "m")
    assert fitted.status == 0 and "with binary codes of 64 bits" in fitted.err
    ended = diptych("index", tmp_path / "m", made / "dataset", "--out", tmp_path / "i", "--projection", "none")
    assert ended.status == 0, ended.err
    with open_index(tmp_path / "i") as index:
        assert index.settings.bits == 64 and index.settings.keep_float
    wrong = diptych("fit", made / "dataset", "--method", "cfa", "--bits", "7", "--out", tmp_path / "n")
    assert wrong.status == 2 and "bits is 7; it must be a multiple of 8" in wrong.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--bits", "65"], "bits is 65; it must be a multiple of 8 between 32 and 1024"),
        (["--engine", "abacus"], "engine is 'abacus'; choose one of"),
        (["--projection", "umap"], "umap"),
        (["--engine-option", "abacus=1"], "the local engine has no option 'abacus'; it has"),
        (["--engine-option", "links"], "the setting 'links' has no value; write --engine-option name=value"),
        (["--engine-option", "words=true"], "the engine option 'words' is decided by the index"),
    ],
)
def test_mistakes_are_told(diptych, made, tmp_path, words, message) -> None:
    ended = diptych("index", made / "model", made / "dataset", "--out", tmp_path / "i", *words)
    assert ended.status == 2 and message in ended.err and not (tmp_path / "i").exists()
    assert not (tmp_path / ".i.building").exists()


def test_what_is_there_is_kept(diptych, made, tmp_path) -> None:
    (tmp_path / "i").mkdir()
    (tmp_path / "i" / "x").touch()
    ended = diptych("index", made / "model", made / "dataset", "--out", tmp_path / "i", "--overwrite")
    assert ended.status == 2 and "is not an index" in ended.err


def test_changes_are_kept_or_discarded_when_it_is_built_again(diptych, made, tmp_path) -> None:
    build = ("index", made / "model", made / "dataset", "--out", tmp_path / "i", "--projection", "none")
    assert diptych(*build).status == 0
    assert diptych("add", tmp_path / "i", "--text", "a red wall", "--id", "mine").status == 0
    again = diptych(*build, "--overwrite")
    assert again.status == 0 and "1 changes of the replaced index are kept" in again.err
    with Searcher.open(tmp_path / "i") as searcher:
        assert searcher.get("mine") is not None
    assert diptych(*build, "--overwrite", "--discard-changes").status == 0
    with Searcher.open(tmp_path / "i") as searcher:
        assert searcher.get("mine") is None


def test_a_dataset_of_another_pipeline_is_refused(diptych, made, tmp_path) -> None:
    other = make(tmp_path, features=("colour-moments", "bow:20"), components=3)
    assert isinstance(other, Dataset)
    ended = diptych("index", made / "model", tmp_path / "dataset", "--out", tmp_path / "i")
    assert ended.status == 2 and "--pipeline MODEL" in ended.err


def test_without_validation_there_are_no_probabilities(diptych, unjudged_dataset, tmp_path) -> None:
    save_model(create("cca", components=3).fit(unjudged_dataset), tmp_path / "m")
    ended = diptych("index", tmp_path / "m", unjudged_dataset.path, "--out", tmp_path / "i", "--projection", "none")
    assert ended.status == 0 and "no probabilities" in ended.err


def test_the_engine_takes_its_options(diptych, made, tmp_path) -> None:
    options = "--engine-option", "structure=hnsw", "--engine-option", "links=24"
    ended = diptych(
        "index", made / "model", made / "dataset", "--out", tmp_path / "i", "--projection", "none", *options
    )
    assert ended.status == 0, ended.err
    with open_index(tmp_path / "i", read_only=True) as index:
        assert (index.settings.structure, index.settings.links, index.settings.ef_search) == ("hnsw", 24, 128)
