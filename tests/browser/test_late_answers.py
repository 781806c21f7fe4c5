"""Answers that arrive late take nothing from the person: not what was typed, nor the focus, nor what is pointed at."""

from contextlib import suppress

import pytest

from diptych.search import Searcher
from diptych.serving import ServingSettings, create_app
from search.gallery import build_unlabelled
from serving import fake_searcher
from serving.running_server import running

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.browser
expect = playwright.expect

CARDS = "#results .card:has(.foot-line)"


class Held:
    """Requests of one kind, which wait until they are let go."""

    def __init__(self, page, pattern: str) -> None:
        self._page, self._pattern, self._routes, self._free = page, pattern, [], False
        page.route(pattern, self._take)

    def _take(self, route) -> None:
        if self._free:
            route.continue_()
        else:
            self._routes.append(route)

    def wait_for(self, count: int = 1) -> None:
        """Wait until so many have been asked."""
        for _ in range(600):
            if len(self._routes) >= count:
                return
            self._page.wait_for_timeout(50)
        raise AssertionError(f"{self._pattern} was asked {len(self._routes)} times")

    def let_go(self) -> None:
        self._free = True
        for route in self._routes:
            with suppress(playwright.Error):  # the page has thought better of it
                route.continue_()


@pytest.fixture(scope="module")
def curated(tmp_path_factory):
    searcher = fake_searcher.filled(tmp_path_factory.mktemp("late"))
    with running(create_app(searcher, ServingSettings(write_key="w"))) as address:
        yield address


def box(page):
    return page.get_by_role("combobox", name="Words to search for")


def test_what_was_typed_before_the_page_knew_its_index_stays(address, open_page) -> None:
    page = open_page("about:blank")
    info = Held(page, "**/v1/info")
    page.goto(address)
    info.wait_for()
    box(page).fill("blue")
    info.let_go()
    expect(page.locator("#dataset")).to_contain_text("36 items")
    expect(page.locator("#results")).to_have_attribute("aria-busy", "false")
    expect(box(page)).to_have_value("blue")
    page.keyboard.press("Enter")
    expect(page.locator(f"{CARDS} .tag").first).to_have_text("blue")
    box(page).fill("something else")
    page.locator(".brand").click()
    expect(box(page)).to_have_value("")


def test_a_question_asked_before_the_page_knew_its_index_is_answered(address, open_page) -> None:
    page = open_page("about:blank")
    info = Held(page, "**/v1/info")
    page.goto(f"{address}/?q=red")
    info.wait_for()
    box(page).fill("blue")
    page.keyboard.press("Enter")
    info.let_go()
    expect(page.locator(f"{CARDS} .tag").first).to_have_text("blue")
    assert "q=blue" in page.url


def test_classes_stay_where_they_are_while_their_menu_is_open(address, open_page) -> None:
    page = open_page("about:blank")
    facets = Held(page, "**/v1/facets")
    page.goto(f"{address}/?q=yellow+circle&mode=lexical")
    page.wait_for_selector(CARDS)
    facets.wait_for()
    page.locator("#class-menu summary").click()
    boxes = page.locator("#class-menu input[type=checkbox]")
    before = boxes.evaluate_all("boxes => boxes.map((box) => { box.mine = true; return box.value; })")
    boxes.nth(3).focus()
    facets.let_go()
    expect(page.locator("#class-menu small").first).not_to_have_text("")
    assert boxes.evaluate_all("boxes => boxes.filter((box) => box.mine).map((box) => box.value)") == before
    expect(boxes.nth(3)).to_be_focused()


def test_late_suggestions_do_not_replace_the_list_that_is_chosen_from(address, open_page) -> None:
    page = open_page(address)
    page.wait_for_selector("#examples button")
    options = page.get_by_role("listbox", name="Suggestions").get_by_role("option")
    box(page).press_sequentially("g")
    expect(options).to_have_count(2)
    late = Held(page, "**/v1/suggest*")
    box(page).press_sequentially("r")
    late.wait_for()
    page.keyboard.press("ArrowDown")
    late.let_go()
    chosen = options.first.inner_text()
    expect(options.first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(box(page)).to_have_value(chosen)


def test_a_saved_search_is_kept_at_once(address, open_page) -> None:
    page = open_page(f"{address}/?q=purple")
    page.wait_for_selector(CARDS)
    page.get_by_role("button", name="Save this search").click()
    page.get_by_role("dialog").get_by_role("textbox").fill("mine")
    page.keyboard.press("Enter")
    assert "mine" in page.evaluate("localStorage.getItem('diptych-saved')")


def test_a_viewer_that_was_closed_stays_closed_when_its_change_is_kept(curated, open_page) -> None:
    page = open_page(f"{curated}/healthz")
    page.evaluate("sessionStorage.setItem('diptych-key', 'w')")
    page.goto(f"{curated}/?q=red+circle")
    page.locator(f"{CARDS} .open").first.click()
    page.get_by_role("dialog").get_by_role("button", name="Edit").click()
    page.get_by_role("dialog").get_by_label("Class").fill("pink")
    change = Held(page, "**/v1/items/*")
    page.get_by_role("button", name="Save", exact=True).click()
    change.wait_for()
    page.keyboard.press("Escape")
    change.let_go()
    expect(page.locator(".toast")).to_contain_text("Changed.")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.locator(CARDS).first.locator(".tag")).to_have_text("pink")


def test_an_answer_does_not_take_the_focus_from_whoever_went_elsewhere(tmp_path, open_page) -> None:
    folder = build_unlabelled(tmp_path)
    with (
        Searcher.open(folder / "index", writable=True) as searcher,
        running(create_app(searcher, ServingSettings(write_key="w"))) as address,
    ):
        page = open_page(f"{address}/healthz", viewport={"width": 1300, "height": 900})
        page.evaluate("sessionStorage.setItem('diptych-key', 'w')")
        page.goto(f"{address}/?view=teach")
        page.locator(".ask .card .open").first.focus()
        answer = Held(page, "**/v1/labels")
        page.keyboard.press("s")
        answer.wait_for()
        page.get_by_role("button", name="Labels as CSV").focus()
        answer.let_go()
        expect(page.locator(".ask")).to_have_attribute("aria-busy", "false")
        expect(page.get_by_role("button", name="Labels as CSV")).to_be_focused()
