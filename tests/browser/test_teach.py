"""Teaching on the page, in a real browser and over a real index without any labels."""

import re
import shutil

import pytest

from diptych.search import Searcher
from diptych.serving import ServingSettings, create_app
from diptych.teach import LearnJob
from search.gallery import build_unlabelled
from serving.running_server import running

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.browser
expect = playwright.expect

WINDOW = {"viewport": {"width": 1300, "height": 1200}}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with `raw`, `dataset`, `model` and `index` of coloured fields; no item has a label."""
    return build_unlabelled(tmp_path_factory.mktemp("teach"))


@pytest.fixture
def taught(built, tmp_path):
    """A server of a copy that may be taught."""
    for name in ("raw", "dataset", "model", "index"):
        shutil.copytree(built / name, tmp_path / name)
    with (
        Searcher.open(tmp_path / "index", writable=True) as searcher,
        running(create_app(searcher, ServingSettings(write_key="w"))) as address,
    ):
        yield address


def teacher(open_page, address):
    page = open_page(f"{address}/healthz", **WINDOW)
    page.evaluate(
        "sessionStorage.setItem('diptych-key', 'w'); localStorage.setItem('diptych-recent', '[\"red wall\"]')"
    )
    page.goto(f"{address}/?view=teach")
    page.wait_for_selector(".ask .card")
    return page


def colour(card) -> str:
    return card.get_attribute("data-item").split("-")[0]


def named(page, label: str) -> None:
    page.get_by_label("Type a class").fill(label)
    page.keyboard.press("Enter")
    taken(page)


def taken(page) -> None:
    """Every answer so far was kept, and what it changed is on the page."""
    expect(page.locator(".ask")).to_have_attribute("aria-busy", "false")


def figure(page, name: str):
    return page.locator(".figures div", has_text=name).locator("dd")


def test_naming_spreads_and_is_corrected_where_it_is_seen(taught, open_page) -> None:
    page = teacher(open_page, taught)
    cards = page.locator(".ask .card")
    expect(cards.first).to_have_attribute("data-reason", "cluster")
    expect(cards.first.locator(".caption")).to_contain_text("in the light")
    expect(page.get_by_role("button", name="Learn", exact=True)).to_be_disabled()
    first = colour(cards.first)
    named(page, first)
    expect(figure(page, "Answered")).to_contain_text("1")
    expect(page.locator(".fills button")).to_contain_text([first])
    other = next(card for card in cards.all() if colour(card) != first)
    item = other.get_attribute("data-item")
    other.locator(".open").focus()
    page.keyboard.press("1")  # wrong on purpose: one key names by the first class
    taken(page)
    expect(figure(page, "Answered")).to_contain_text("2")
    page.locator(".fills button").first.click()
    wrong = page.locator(f'.ask .card[data-item="{item}"]')
    expect(wrong).to_contain_text("answered")
    wrong.locator(".open").click()
    expect(wrong).to_have_class(re.compile("chosen"))
    named(page, item.split("-")[0])
    expect(page.locator(".fills button")).to_have_count(2)
    expect(wrong).to_have_count(0)
    page.get_by_role("button", name="Back to the questions").click()
    expect(page.get_by_role("heading", name="What are these?")).to_be_visible()
    expect(page.get_by_role("button", name="Learn", exact=True)).to_be_enabled()


def test_skip_none_of_these_undo_and_several_at_once(taught, open_page) -> None:
    page = teacher(open_page, taught)
    cards = page.locator(".ask .card")
    items = [card.get_attribute("data-item") for card in cards.all()]
    cards.first.locator(".open").focus()
    page.keyboard.press("s")
    taken(page)
    expect(page.locator(f'.ask .card[data-item="{items[0]}"]')).to_have_count(0)
    page.keyboard.press("Z")  # with Shift or Caps Lock, as it is written on the button
    taken(page)
    expect(page.locator(f'.ask .card[data-item="{items[0]}"]')).to_have_count(1)
    cards.nth(1).locator(".open").focus()
    with page.expect_response("**/v1/labels") as sent:
        page.keyboard.press("0")
    assert sent.value.json()["status"]["none"] == 1
    taken(page)
    expect(page.locator(".ask .card.answered")).to_have_count(0)
    for place in (0, 1):
        cards.nth(place).locator(".open").click()
    named(page, "thing")
    expect(figure(page, "Answered")).to_contain_text("2")


def test_a_phone_has_room_for_questions(taught, open_page) -> None:
    page = open_page(f"{taught}/healthz", viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page.evaluate("sessionStorage.setItem('diptych-key', 'w')")
    page.goto(f"{taught}/?view=teach")
    page.wait_for_selector(".ask .card")
    named(page, "a class with a name that takes room")
    named(page, "another class with a name that takes room")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.evaluate("scrollBy(0, 700)")
    keys = page.locator(".classes").bounding_box()
    assert keys["y"] >= -1 and keys["height"] < 80  # in sight, and the questions below it
    page.locator(".ask .card .like").last.click()
    expect(page.get_by_role("dialog")).to_contain_text("in the light")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.locator(".ask .card.chosen")).to_have_count(0)
    assert "item=" not in page.url


def test_where_every_item_has_a_class_there_is_nothing_to_ask_but_to_check(taught, open_page, tmp_path) -> None:
    page = teacher(open_page, taught)
    rows = [f"{name}-{number:02d},{name}" for name in ("red", "green", "blue", "grey") for number in range(20)]
    (tmp_path / "all.csv").write_text("\n".join(["item,label", *rows]))
    page.set_input_files(".panel input[type=file]", str(tmp_path / "all.csv"))
    expect(page.locator(".naming")).to_contain_text("No more questions")
    expect(page.get_by_label("Type a class")).to_be_hidden()
    first = page.locator(".fills button").first
    expect(first.locator("small")).to_have_text("20 + 0")
    first.click()
    expect(page.locator(".ask .card")).to_have_count(20)
    expect(page.get_by_label("Type a class")).to_be_visible()


def test_labels_leave_and_return_as_a_table(taught, open_page, tmp_path) -> None:
    page = teacher(open_page, taught)
    named(page, colour(page.locator(".ask .card").first))
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Labels as CSV").click()
    assert "item,answer,label" in waiting.value.path().read_text().splitlines()[0]
    (tmp_path / "more.csv").write_text("item,label\nred-03,red\nblue-03,blue\n")
    page.set_input_files(".panel input[type=file]", str(tmp_path / "more.csv"))
    expect(page.locator(".toast")).to_contain_text("2 labels imported")
    expect(figure(page, "Answered")).to_contain_text("3")


@pytest.mark.slow
def test_learning_shows_before_and_after_and_one_click_goes_back(taught, open_page, monkeypatch) -> None:
    start = LearnJob.start
    monkeypatch.setattr(LearnJob, "start", lambda job, **options: start(job, **options | {"method": "sm"}))
    page = teacher(open_page, taught)
    for answered in range(1, 7):
        named(page, colour(page.locator(".ask .card.active")))
        expect(figure(page, "Answered")).to_contain_text(str(answered))
    expect(figure(page, "Expected accuracy")).to_contain_text("%")
    page.get_by_role("button", name="Learn", exact=True).click()
    page.wait_for_selector(".learning progress")
    expect(page.locator(".learning")).to_contain_text("Learned.", timeout=600_000)  # it gives way to all others
    expect(page.get_by_role("heading", name="red wall")).to_be_visible()
    expect(page.locator(".strip")).to_have_count(2)
    page.get_by_role("button", name="Go back to the model before").click()
    expect(page.locator(".toast")).to_contain_text("The model before is in use again.")
