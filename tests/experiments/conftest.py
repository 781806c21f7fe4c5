import pytest

from diptych.methods import registry
from experiments import fakes


@pytest.fixture(autouse=True)
def fake_registry(monkeypatch):
    """Only the fakes exist."""
    monkeypatch.setattr(registry, "_METHODS", fakes.METHODS)
    monkeypatch.setattr(registry, "entry_points", lambda group: [])


@pytest.fixture
def log(tmp_path, monkeypatch):
    """Where the fakes write each fit down."""
    path = tmp_path / "fits.log"
    monkeypatch.setenv("FAKE_LOG", str(path))
    return path
