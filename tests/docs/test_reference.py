"""The pages that are written from the code say what the code says."""

import re
from pathlib import Path

import pytest
from tools.reference import INTERNAL, PAGES, ROOT, VARIABLES

import diptych
from diptych.methods import names

SOURCE = Path(diptych.__file__).parent


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_written_page_is_that_of_the_code(page) -> None:
    assert page.read_text(encoding="utf-8") == PAGES[page](), f"{page.name} is behind the code; run `make reference`"


def test_every_environment_variable_is_described() -> None:
    used = {name for path in SOURCE.rglob("*.py") for name in re.findall(r"DIPTYCH_[A-Z_]+", path.read_text())}
    assert used - INTERNAL == {name for name in VARIABLES if name.startswith("DIPTYCH_")}


def test_every_method_and_every_parameter_is_described() -> None:
    page = (ROOT / "docs" / "reference" / "methods.md").read_text(encoding="utf-8")
    for name in names():
        assert f"\n## {name}\n" in page
    bare = re.findall(r"^\| `(\w+)` \| .* \|  \|$", page, re.MULTILINE)
    assert not bare, f"say in the docstrings what these parameters mean: {sorted(set(bare))}"
