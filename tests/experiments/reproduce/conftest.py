import pytest

from diptych.methods import registry
from experiments.reproduce import fake_lineup


@pytest.fixture(autouse=True)
def fake_registry(monkeypatch):
    """Only some of the line-up exists, and all of it is made up."""
    monkeypatch.setattr(registry, "_METHODS", fake_lineup.METHODS)
    monkeypatch.setattr(registry, "entry_points", lambda group: [])
