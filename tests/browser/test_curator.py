"""What a curator does all day on the page, in a real browser: scroll, look, select, label, delete, add, save, share."""

import csv
import io
import re
import threading
import zipfile

import numpy as np
import pytest

from diptych.search import NewItem
from diptych.serving import ServingSettings, create_app
from serving import fake_searcher
from serving.coloured_shapes import Shape, image
from serving.running_server import running

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.browser
expect = playwright.expect

CARDS = "#results .card:has(.foot-line)"
ANY = "#results .card:not(.skeleton)"
KEY = "sessionStorage.setItem('diptych-key', 'w')"


@pytest.fixture
def curated(tmp_path):
    """A server whose items may be changed, and the searcher behind it."""
    searcher = fake_searcher.filled(tmp_path)
    with running(create_app(searcher, ServingSettings(write_key="w"))) as address:
        yield address, searcher


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A server of 1,500 items without images."""
    searcher = fake_searcher.FakeSearcher(tmp_path_factory.mktemp("many"))
    names = [f"note {number:04d}" for number in range(1500)]
    known = [{"item": name, "text": f"{name} red", "label": "ab"[len(name) % 2]} for name in names]
    rows = np.random.default_rng(0).normal(size=(1500, searcher.index.identity.dimension))
    searcher.index.add(names, rows, modality=["text"] * 1500, metadata=known)
    searcher._vocabulary = lambda: ["note", "red"]
    with running(create_app(searcher)) as address:
        yield address


def curator(open_page, address, question="", **options):
    """The page of somebody who may write."""
    page = open_page(f"{address}/healthz", **options)
    page.evaluate(KEY)
    page.goto(f"{address}/{question}")
    expect(page.get_by_role("button", name="Add", exact=True)).to_be_visible()
    return page


def items(page, cards=CARDS) -> list[str]:
    return page.locator(cards).evaluate_all("cards => cards.map(card => card.dataset.item)")


def chosen(page):
    return page.get_by_role("toolbar", name="Selected items")


# --- scrolling


NOTHING_WAITS = """() => [...document.querySelectorAll("#results .skeleton")].every((card) => {
    const { top, bottom } = card.getBoundingClientRect();
    return bottom < 0 || top > innerHeight;
})"""
SCROLL = """() => new Promise((done) => {
    scrollBy(0, 620);
    requestAnimationFrame(() => requestAnimationFrame(done));
})"""


def test_scrolling_goes_on_without_repeats_and_the_document_stays_small(many, open_page) -> None:
    page = open_page(many, viewport={"width": 1200, "height": 800})
    page.wait_for_selector(ANY)
    expect(page.locator("#status")).to_have_text("1,500 items · 48 loaded")
    seen: dict[str, int] = {}
    for _ in range(400):
        page.wait_for_function(NOTHING_WAITS)
        seen |= {name: 1 for name in items(page, ANY)}
        assert page.locator("#results > li").count() < 120
        if len(seen) == 1500:
            break
        page.evaluate(SCROLL)
    assert len(seen) == 1500
    expect(page.locator("#status")).to_have_text("1,500 items")
    places = page.locator(ANY).evaluate_all("cards => cards.map(card => card.getAttribute('aria-posinset'))")
    assert places[-1] == "1500" and places == sorted(places, key=int)


SHIFTS = """() => new Promise((done) => {
    let sum = 0;
    new PerformanceObserver((list) => list.getEntries().forEach((one) => (sum += one.value)))
        .observe({ type: "layout-shift", buffered: true });
    requestAnimationFrame(() => setTimeout(() => done(sum)));
})"""


@pytest.mark.parametrize("question", ["", "?q=red"])
def test_nothing_jumps_while_the_page_and_its_images_load(address, open_page, question) -> None:
    page = open_page(f"{address}/{question}", viewport={"width": 1200, "height": 900})
    page.wait_for_selector(ANY)
    page.wait_for_function("() => [...document.querySelectorAll('#results img')].every((one) => one.naturalWidth)")
    assert page.evaluate(SHIFTS) < 0.02


def test_wide_screens_are_used(address, open_page) -> None:
    page = open_page(f"{address}/?q=red", viewport={"width": 2200, "height": 1200})
    page.wait_for_selector(CARDS)
    assert int(page.locator("#results").get_attribute("data-columns")) > 5


# --- looking closely


def test_the_viewer_turns_zooms_tells_all_and_has_an_address(curated, open_page) -> None:
    page = open_page(f"{curated[0]}/?q=red+circle")
    names = items(page) if page.wait_for_selector(CARDS) else []
    page.locator(f"{CARDS} .open").first.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("heading")).to_contain_text("a red circle")
    expect(dialog.locator("dl")).to_contain_text(names[0])
    assert "item=image" in page.url
    page.keyboard.press("ArrowRight")
    expect(dialog.locator("dl")).to_contain_text(names[1])
    dialog.get_by_role("button", name="Previous").click()
    expect(dialog.locator("dl")).to_contain_text(names[0])
    dialog.get_by_role("button", name="Zoom in").click()
    expect(dialog.locator(".zoomed")).to_have_attribute("data-zoom", "1.40")
    dialog.locator(".zoomed").focus()
    page.keyboard.press("+")
    expect(dialog.locator(".zoomed")).to_have_attribute("data-zoom", "1.96")
    page.keyboard.press("0")
    expect(dialog.locator(".zoomed")).to_have_attribute("data-zoom", "1.00")
    shared = page.url
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page).not_to_have_url(re.compile("item="))  # what closing does, it does a moment later
    assert page.evaluate("document.activeElement.closest('.card').dataset.item") == names[0]
    other = open_page(shared)
    expect(other.get_by_role("dialog")).to_contain_text(names[0])


# --- selecting


def test_items_are_selected_by_clicks_shift_and_keys(address, open_page) -> None:
    page = open_page(f"{address}/?q=blue")
    cards = page.locator(CARDS)
    cards.first.hover()
    cards.first.get_by_role("checkbox").click()
    expect(chosen(page)).to_contain_text("1 selected")
    cards.nth(3).locator(".open").click(modifiers=["Shift"])
    expect(chosen(page)).to_contain_text("4 selected")
    expect(cards.nth(2).get_by_role("checkbox")).to_be_checked()
    page.keyboard.press("Escape")
    expect(chosen(page)).to_be_hidden()
    cards.first.locator(".open").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Shift+ArrowRight")
    expect(chosen(page)).to_contain_text("2 selected")
    page.keyboard.press("Control+a")
    expect(chosen(page)).to_contain_text("36 selected")
    expect(chosen(page).get_by_role("button", name="Delete")).to_have_count(0)  # without the write key


def test_a_selection_is_downloaded(address, open_page) -> None:
    page = open_page(f"{address}/?q=green+square")
    cards = page.locator(CARDS)
    for place in (0, 1):
        cards.nth(place).locator(".open").click(modifiers=["Control"])
    with page.expect_download() as waiting:
        chosen(page).get_by_role("button", name="CSV").click()
    text = waiting.value.path().read_text(encoding="utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["label"] for row in rows] == ["green", "green"] and rows[0]["text"] == "a green square, alone on white"
    with page.expect_download() as waiting:
        chosen(page).get_by_role("button", name="ZIP").click()
    with zipfile.ZipFile(waiting.value.path()) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert names[0] == "items.csv" and len(names) == 3
        assert archive.read(names[1]).startswith(b"\x89PNG")


def test_more_and_less_like_these_refine_the_question(curated, open_page) -> None:
    address, searcher = curated
    page = open_page(f"{address}/?q=circle")
    cards = page.locator(CARDS)
    cards.first.locator(".open").click(modifiers=["Control"])
    first = cards.first.get_attribute("data-id")
    with page.expect_response("**/v1/search"):
        chosen(page).get_by_role("button", name="Less like these").click()
    expect(page.locator(".chip.unlike")).to_have_count(1)
    expect(page.locator("#results")).to_have_attribute("aria-busy", "false")
    parts = searcher.asked[-1].parts
    assert [(part.kind, part.weight > 0) for part in parts] == [("text", True), ("item", False)]
    assert f"unlike={first.replace(':', '%3A')}" in page.url and "q=circle" in page.url
    cards.nth(1).locator(".open").click(modifiers=["Control"])
    cards.nth(2).locator(".open").click(modifiers=["Control"])
    with page.expect_response("**/v1/search"):
        chosen(page).get_by_role("button", name="More like these").click()
    assert [part.weight > 0 for part in searcher.asked[-1].parts] == [True, True, True, False]
    page.get_by_role("button", name=re.compile("^Remove unlike")).click()
    expect(page.locator(".chip.unlike")).to_have_count(0)


# --- narrowing and ordering


def test_counts_follow_the_question_and_the_choice(address, open_page) -> None:
    page = open_page(f"{address}/?q=circle&mode=lexical")
    page.wait_for_selector(CARDS)
    page.locator("#class-menu summary").click()
    counts = page.locator("#class-menu label small")
    expect(counts).to_have_text(["2"] * 6)
    page.locator("#class-menu label", has_text="red").click()
    expect(page.locator(CARDS)).to_have_count(2)
    expect(page.locator("#status")).to_contain_text("2 items")
    expect(counts).to_have_text(["2"] * 6)  # a choice does not hide the others
    page.goto(address)
    page.locator("#class-menu summary").click()
    expect(counts).to_have_text(["6"] * 6)


def test_results_are_sorted_by_name_and_date(curated, open_page) -> None:
    address, searcher = curated
    for name, date in (("old", "1999-01-01"), ("new", "2026-01-01")):
        known = {"item": name, "title": name, "date": date, "text": f"a red {name}"}
        searcher.add([NewItem(f"image:{name}", "image", image(Shape("red", "circle", "train"), side=70), known)])
    page = open_page(f"{address}/?q=red&group=0")
    page.wait_for_selector(CARDS)
    page.get_by_label("Sort").select_option("Newest")
    expect(page.locator(CARDS).first).to_have_attribute("data-item", "new")
    expect(page.locator("#status")).to_contain_text("newest first")
    assert "sort=date" in page.url
    page.get_by_label("Sort").select_option("Name")
    expect(page.locator(CARDS).first).to_have_attribute("data-item", re.compile("^blue"))
    assert items(page) == sorted(items(page))


def test_near_duplicates_stand_behind_one_card(curated, open_page) -> None:
    address, searcher = curated
    twin = image(Shape("red", "circle", "train"), side=120)
    searcher.add([NewItem("image:twin", "image", twin, {"item": "twin", "text": "a red circle again"})])
    page = open_page(f"{address}/?q=red+circle")
    expect(page.locator(".stack")).to_have_text("+1")
    expect(page.locator(CARDS)).to_have_count(36)
    page.locator(CARDS, has=page.locator(".stack")).locator(".open").click()
    expect(page.get_by_role("dialog")).to_contain_text("1 near-duplicate")
    page.keyboard.press("Escape")
    page.locator("#more-menu summary").click()
    page.get_by_label("Group near-duplicates").uncheck()
    expect(page.locator(CARDS)).to_have_count(37)
    assert "group=0" in page.url


def test_searches_are_saved_and_recent_ones_offered(address, open_page) -> None:
    page = open_page(f"{address}/?q=purple&class=purple")
    page.wait_for_selector(CARDS)
    page.get_by_role("button", name="Save this search").click()
    page.get_by_role("dialog").get_by_role("textbox").fill("my purple things")
    page.keyboard.press("Enter")
    page.goto(address)
    page.locator("#menu summary").click()
    page.get_by_role("link", name="my purple things").click()
    expect(page.locator(CARDS)).to_have_count(6)
    assert "q=purple&class=purple" in page.url
    page.locator("#menu summary").click()
    page.get_by_role("button", name="Remove my purple things").click()
    expect(page.locator("#saved a")).to_have_count(0)
    page.keyboard.press("Escape")
    page.goto(address)
    page.get_by_role("combobox", name="Words to search for").click()
    expect(page.get_by_role("option", name="purple")).to_be_visible()


# --- changing


def test_write_actions_come_with_the_write_key(curated, open_page) -> None:
    page = open_page(f"{curated[0]}/?q=red")
    page.wait_for_selector(CARDS)
    expect(page.get_by_role("button", name="Add", exact=True)).to_be_hidden()
    expect(page.get_by_role("button", name="Teach")).to_be_hidden()
    page.locator("#menu summary").click()
    page.get_by_role("button", name="Use a key to edit").click()
    page.get_by_role("textbox", name="Key").fill("w")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Add", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Teach")).to_be_visible()


def test_text_and_label_are_edited_in_the_viewer(curated, open_page) -> None:
    address, searcher = curated
    page = curator(open_page, address, "?q=red+circle")
    page.locator(f"{CARDS} .open").first.click()
    page.get_by_role("dialog").get_by_role("button", name="Edit").click()
    page.get_by_label("Text").fill("a pink circle")
    page.get_by_role("dialog").get_by_label("Class").fill("pink")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("dialog").get_by_role("heading")).to_have_text("a pink circle")
    page.keyboard.press("Escape")
    expect(page.locator(CARDS).first.locator(".tag")).to_have_text("pink")
    id = page.locator(CARDS).first.get_attribute("data-id")
    for one in (id, id.replace("image:", "text:")):
        assert searcher.get(one).metadata["text"] == "a pink circle"
        assert searcher.get(one).metadata["label"] == "pink"


def test_many_are_labelled_at_once_and_back(curated, open_page) -> None:
    address, searcher = curated
    page = curator(open_page, address, "?q=blue")
    page.wait_for_selector(CARDS)
    ids = page.locator(CARDS).evaluate_all("cards => cards.map(card => card.dataset.id)")[:2]
    for place in (0, 1):
        page.locator(CARDS).nth(place).locator(".open").click(modifiers=["Control"])
    chosen(page).get_by_role("button", name="Label").click()
    page.get_by_role("dialog").get_by_role("combobox").fill("azure")
    page.keyboard.press("Enter")
    expect(page.locator(".toast")).to_contain_text("2 labelled “azure”")
    expect(page.locator(CARDS).first.locator(".tag")).to_have_text("azure")
    assert [searcher.get(id).metadata["label"] for id in ids] == ["azure", "azure"]
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(CARDS).first.locator(".tag")).to_have_text("blue")
    assert [searcher.get(id).metadata["label"] for id in ids] == ["blue", "blue"]


def test_a_deletion_can_be_undone_and_else_is_whole(curated, open_page) -> None:
    address, searcher = curated
    page = curator(open_page, address, "?q=yellow")
    first = page.locator(CARDS).first
    id = first.get_attribute("data-id")
    first.locator(".open").click(modifiers=["Control"])
    chosen(page).get_by_role("button", name="Delete").click()
    expect(page.locator(CARDS)).to_have_count(35)
    expect(page.locator("#status")).to_contain_text("35 items")
    expect(page.locator("#dataset")).to_contain_text("35 items")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(CARDS)).to_have_count(36)
    assert searcher.get(id) is not None
    first.locator(".open").click(modifiers=["Control"])
    page.keyboard.press("Delete")
    expect(page.locator(CARDS)).to_have_count(35)
    page.goto(f"{address}/healthz")  # whoever leaves has decided
    for _ in range(100):
        if searcher.get(id) is None:
            break
        page.wait_for_timeout(50)
    assert searcher.get(id) is None and searcher.get(id.replace("image:", "text:")) is None


def test_files_are_added_each_with_its_own_error(curated, open_page, tmp_path) -> None:
    address, searcher = curated
    page = curator(open_page, address)
    (tmp_path / "mine.png").write_bytes(image(Shape("purple", "square", "train"), side=80))
    (tmp_path / "mine.txt").write_text("a violet square of mine")
    (tmp_path / "broken.png").write_bytes(b"no image")
    (tmp_path / "table.pdf").write_bytes(b"%PDF")
    page.get_by_role("button", name="Add", exact=True).click()
    files = [str(tmp_path / name) for name in ("mine.png", "mine.txt", "broken.png", "table.pdf")]
    page.set_input_files("#upload-files", files)
    dialog = page.get_by_role("dialog")
    expect(dialog.locator("li[data-name=table]")).to_contain_text("That file is not an image.")
    expect(dialog.get_by_label("Text of mine")).to_have_value("a violet square of mine")
    dialog.get_by_label("Class").fill("mine")
    dialog.get_by_role("button", name="Add 2 items").click()
    expect(dialog.locator("li[data-name=mine]")).to_contain_text("Added")
    expect(dialog.locator("li[data-name=broken]")).to_contain_text("no image this server can read")
    expect(page.locator("#dataset")).to_contain_text("37 items")
    known = searcher.get("image:mine").metadata
    assert known["label"] == "mine" and known["text"] == "a violet square of mine" and known["added"]
    assert searcher.get("text:mine").metadata["item"] == "mine"
    dialog.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Add", exact=True).click()
    expect(dialog).to_be_visible()
    page.set_input_files("#upload-files", [str(tmp_path / "mine.png")])
    dialog.get_by_role("button", name="Add 1 item").click()
    expect(dialog.locator("li[data-name=mine]")).to_contain_text("There is an item of this name already.")
    dialog.get_by_role("button", name="Replace").click()
    expect(dialog.locator("li[data-name=mine]")).to_contain_text("Added")


# --- honest states


def test_waiting_shows_skeletons_and_an_empty_answer_says_so(curated, open_page, monkeypatch) -> None:
    address, searcher = curated
    page = open_page(address)
    page.wait_for_selector(ANY)
    may_answer, answer_many = threading.Event(), searcher.answer_many
    monkeypatch.setattr(searcher, "answer_many", lambda queries: may_answer.wait(60) and answer_many(queries))
    page.get_by_role("combobox", name="Words to search for").fill("red")
    page.keyboard.press("Enter")
    expect(page.locator(".skeleton").first).to_be_visible()
    expect(page.locator("#status")).to_have_text("Searching…")
    may_answer.set()
    page.wait_for_selector(CARDS)
    page.goto(f"{address}/?q=xyzzy&mode=lexical&class=red")
    expect(page.get_by_role("heading", name="Nothing close enough")).to_be_visible()
    page.get_by_role("button", name="Clear the filters").click()
    assert "class=" not in page.url


def test_a_server_that_is_gone_is_said_and_found_again(curated, open_page) -> None:
    page = open_page(f"{curated[0]}/?q=red")
    page.wait_for_selector(CARDS)
    page.context.set_offline(True)
    expect(page.get_by_role("alert").first).to_contain_text("The server cannot be reached")
    page.get_by_role("combobox", name="Words to search for").fill("blue")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="No connection")).to_be_visible()
    page.context.set_offline(False)
    expect(page.locator(CARDS).first.locator(".tag")).to_have_text("blue")
    expect(page.locator("#offline")).to_be_hidden()


def test_an_error_is_told_in_the_words_of_the_server(curated, open_page) -> None:
    page = open_page(f"{curated[0]}/?like=nothing")
    expect(page.get_by_role("heading", name="This cannot be searched")).to_be_visible()
    expect(page.locator("#nothing-says")).to_contain_text("no item 'nothing'")


FILES = """async () => {
    const [{ csvOf }, { crc32 }] = await Promise.all([import("/page/selection.js"), import("/page/zip.js")]);
    const text = csvOf([{ id: "a", item: "=1+1", metadata: { text: 'a "b", c' } }]);
    return [text, crc32(new TextEncoder().encode("123456789"))];
}"""


def test_cells_of_a_table_run_nothing_in_a_spreadsheet(address, open_page) -> None:
    text, checksum = open_page(address).evaluate(FILES)
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[1][0] == "'=1+1" and rows[1][3] == 'a "b", c'
    assert checksum == 0xCBF43926  # the check value of CRC-32
