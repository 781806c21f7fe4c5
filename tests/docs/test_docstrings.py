"""Every example in a docstring runs and gives what it says."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

import diptych

SOURCE = Path(diptych.__file__).parent


def with_examples() -> list[str]:
    """The modules whose source holds an example."""
    files = sorted(path for path in SOURCE.rglob("*.py") if re.search(r"^\s*>>> ", path.read_text(), re.MULTILINE))
    return [".".join(("diptych", *path.relative_to(SOURCE).with_suffix("").parts)) for path in files]


@pytest.mark.parametrize("module", with_examples())
def test_examples_run(module, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    results = doctest.testmod(importlib.import_module(module.removesuffix(".__init__")))
    assert results.attempted and not results.failed


def test_every_public_name_is_in_the_reference() -> None:
    page = (SOURCE.parents[1] / "docs" / "reference" / "api.md").read_text()
    described = set(re.findall(r"^::: diptych\.(\w+)$", page, re.MULTILINE))
    assert set(diptych.__all__) == described
