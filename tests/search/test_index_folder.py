"""Vectors on a server: the folder says where, and never the password."""

import sys
from pathlib import Path
from types import ModuleType
from urllib.parse import urlsplit

import pytest

from diptych._core.errors import ConfigError
from diptych.data import Dataset
from diptych.index import URL_VARIABLE, EngineLocation, local
from diptych.search import QueryPart, Searcher, build_index


@pytest.fixture
def server(tmp_path, monkeypatch):
    """An engine that keeps indexes by name in a folder far away, and wants a password."""

    def place_of(name, url):
        parts = urlsplit(url)
        if parts.password != "secret":
            raise ConfigError("the server refused you.")
        assert not Path(name).is_absolute()
        return Path(parts.path) / name

    module = ModuleType("faraway")
    module.create = lambda name, identity, *, url="": local.create(place_of(name, url), identity)
    module.open = lambda name, *, url="": local.open(place_of(name, url))
    monkeypatch.setitem(sys.modules, "faraway", module)
    monkeypatch.setitem(sys.modules["diptych.index"]._ENGINES, "faraway", "faraway")
    return f"far://me:secret@host{tmp_path}/server"


def test_the_password_is_asked_for_again(fields, server, tmp_path, monkeypatch) -> None:
    dataset = Dataset.open(fields / "dataset")
    options = {"engine": "faraway", "url": server, "projection": "none"}
    build_index(fields / "model", dataset, tmp_path / "index", **options)
    build_index(fields / "model", dataset, tmp_path / "other" / "index", **options)
    assert len(list((tmp_path / "server").iterdir())) == 2
    assert not (tmp_path / "index" / "index.sqlite").exists()
    for file in (tmp_path / "index").rglob("*.json"):
        assert "secret" not in file.read_text()
    with pytest.raises(ConfigError, match="refused"):
        Searcher.open(tmp_path / "index")
    with Searcher.open(tmp_path / "index", writable=True, url=server) as searcher:
        assert searcher.info()["engine"] == "faraway" and searcher.remove(["image:red-00"]) == 1
    monkeypatch.setenv(URL_VARIABLE, server)
    with Searcher.open(tmp_path / "index") as searcher:
        answer = searcher.search([QueryPart("text", "red")], into="image", k=19)
        assert {hit.metadata["label"] for hit in answer.hits} == {"red"} and searcher.count() == 159
    with Searcher.open(tmp_path / "other" / "index") as other:
        assert other.count() == 160


def test_the_local_engine_has_no_address() -> None:
    with pytest.raises(ConfigError, match="has no address"):
        EngineLocation.found("local", "http://host", None)
    assert EngineLocation("milvus", "http://me:p%40ss@host:1/db").public_url == "http://me@host:1/db"
    assert (
        EngineLocation("milvus", "http://host:1").public_url == "http://host:1" and EngineLocation().public_url is None
    )
