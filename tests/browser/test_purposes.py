"""The control that says what is looked for, in a real browser."""

import pytest

from diptych.serving import create_app
from serving import fake_searcher
from serving.running_server import running

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.browser
expect = playwright.expect

CARDS = "#results .card:has(.foot-line)"


@pytest.fixture(scope="module")
def two_spaces(tmp_path_factory):
    """A server of an index with two spaces, and the searcher behind it."""
    searcher = fake_searcher.filled(tmp_path_factory.mktemp("purposes"))
    searcher.purposes = ["class", "partner", "both"]
    with running(create_app(searcher)) as address:
        yield address, searcher


def test_a_purpose_is_chosen_sent_and_shared(two_spaces, open_page) -> None:
    address, searcher = two_spaces
    page = open_page(f"{address}/?q=red")
    page.wait_for_selector(CARDS)
    page.locator("#more-menu summary").click()
    control = page.get_by_label("Looking for")
    expect(control).to_have_value("")
    names = ["what suits", "anything alike", "things of this kind", "the very item"]
    expect(control.locator("option")).to_have_text(names)
    assert searcher.asked[-1].purpose == "auto"
    with page.expect_response("**/v1/search"):
        control.select_option(label="the very item")
    assert searcher.asked[-1].purpose == "partner"
    assert "for=partner" in page.url
    other = open_page(page.url)
    other.wait_for_selector(CARDS)
    other.locator("#more-menu summary").click()
    expect(other.get_by_label("Looking for")).to_have_value("partner")
    assert searcher.asked[-1].purpose == "partner"
    with other.expect_response("**/v1/search"):
        other.get_by_label("Looking for").select_option(label="anything alike")
    assert searcher.asked[-1].purpose == "both" and "for=both" in other.url
    with other.expect_response("**/v1/search"):
        other.get_by_label("Looking for").select_option(label="what suits")
    assert searcher.asked[-1].purpose == "auto"
    assert "for=" not in other.url


def test_one_space_leaves_nothing_to_choose(address, open_page) -> None:
    page = open_page(f"{address}/?q=red&for=partner")
    page.wait_for_selector(CARDS)
    expect(page.locator("#purpose")).to_be_hidden()
    page.locator("#more-menu summary").click()
    expect(page.get_by_role("slider", name="Strictness")).to_be_visible()


def test_a_phone_has_room_for_the_control(two_spaces, open_page) -> None:
    address, _ = two_spaces
    page = open_page(f"{address}/?q=purple", viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    page.wait_for_selector(CARDS)
    page.locator("#more-menu summary").click()
    expect(page.get_by_label("Looking for")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
