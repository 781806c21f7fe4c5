"""The page of attacks is the one of the results that are kept, and the tests it names are there."""

import pytest

from docs.pages import ROOT
from faults.promises import PROMISES
from faults.table import PAGE, page


@pytest.mark.parametrize("promise", PROMISES)
def test_every_promise_has_tests(promise) -> None:
    for test in PROMISES[promise]:
        file, _, name = test.partition("::")
        assert f"def {name}(" in (ROOT / "tests" / file).read_text(), test


def test_the_page_is_that_of_the_results() -> None:
    assert PAGE.read_text() == page()
