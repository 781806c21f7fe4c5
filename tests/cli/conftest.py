import sys
from dataclasses import dataclass

import pytest

from diptych.cli.main import run
from diptych.methods import registry
from experiments import fakes


@dataclass(frozen=True)
class Outcome:
    """How a command ended and what it said."""

    status: int
    out: str
    err: str


@pytest.fixture
def fake_methods(monkeypatch):
    """Only the fakes exist."""
    monkeypatch.setattr(registry, "_METHODS", fakes.METHODS)
    monkeypatch.setattr(registry, "entry_points", lambda group: [])


@pytest.fixture
def diptych(monkeypatch, capsys):
    """Call the command line as a user does, in this process."""

    def call(*words) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["diptych", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            run()
        said = capsys.readouterr()
        return Outcome(ended.value.code or 0, said.out, said.err)

    return call
