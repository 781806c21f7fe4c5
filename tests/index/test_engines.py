"""Engines by name, and those of installed packages."""

import sys
from importlib.metadata import EntryPoint, EntryPoints
from types import ModuleType

import pytest

from diptych._core.errors import ConfigError
from diptych.index import EmbedderId, Identity, create_index, engines, engines_with_words, open_index
from diptych.index.local import LocalIndex, create
from diptych.index.local import open as open_local

IDENTITY = Identity(EmbedderId("m"), 2)


@pytest.fixture
def fake(monkeypatch):
    """An engine named `shelf` that an installed package announces."""
    module = ModuleType("shelf_engine")
    module.create, module.open = create, open_local
    monkeypatch.setitem(sys.modules, "shelf_engine", module)
    points = EntryPoints(
        [
            EntryPoint("shelf", "shelf_engine", "diptych.engines"),
            EntryPoint("local", "nothing_of_ours", "diptych.engines"),
        ]
    )
    monkeypatch.setattr("diptych.index.entry_points", lambda group: points.select(group=group))
    return module


def test_an_installed_package_adds_an_engine(fake, tmp_path):
    assert engines() == ["local", "milvus", "pgvector", "shelf"]
    with create_index(tmp_path / "one", IDENTITY, engine="shelf", structure="flat") as index:
        assert isinstance(index, LocalIndex)
    with open_index(tmp_path / "one", engine="shelf", embedder=IDENTITY.embedder) as index:
        assert index.count() == 0


def test_an_engine_says_whether_it_keeps_words(fake, tmp_path):
    with pytest.raises(ConfigError, match="engine shelf keeps no words; choose one of local, pgvector"):
        create_index(tmp_path / "one", IDENTITY, engine="shelf", words=True)
    fake.WORDS = True
    assert engines_with_words() == ("local", "pgvector", "shelf")
    with create_index(tmp_path / "one", IDENTITY, engine="shelf", words=True) as index:
        assert index.has_words


def test_a_built_in_engine_keeps_its_name(fake, tmp_path):
    create_index(tmp_path / "one", IDENTITY).close()  # "nothing_of_ours" cannot be imported


def test_an_unknown_engine_names_the_known(fake, tmp_path):
    with pytest.raises(ConfigError, match="engine is 'shelv'; choose one of local, milvus, pgvector, shelf"):
        open_index(tmp_path, engine="shelv")
