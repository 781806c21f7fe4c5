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


def notes(folder, title: str = "note") -> fake_searcher.FakeSearcher:
    """A searcher over 1,500 items without images."""
    searcher = fake_searcher.FakeSearcher(folder)
    names = [f"{title} {number:04d}" for number in range(1500)]
    known = [{"item": name, "text": f"{name} red", "label": "ab"[len(name) % 2]} for name in names]
    rows = np.random.default_rng(0).normal(size=(1500, searcher.index.identity.dimension))
    searcher.index.add(names, rows, modality=["text"] * 1500, metadata=known)
    searcher._vocabulary = lambda: ["note", "red"]
    return searcher


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A server of 1,500 items without images."""
    with running(create_app(notes(tmp_path_factory.mktemp("many")), ServingSettings(write_key="w"))) as address:
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


# --- a phone

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
INSIDE = """(all) => all.every((one) => {
    const { left, top, right, bottom } = one.getBoundingClientRect();
    return left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight;
})"""


@pytest.mark.parametrize("language", ["en-GB", "de-DE", "zh-CN", "ja-JP"])
def test_a_phone_has_room_for_all_that_a_curator_may_do(curated, open_page, language) -> None:
    page = open_page(f"{curated[0]}/healthz", locale=language, **PHONE)
    page.evaluate(KEY)
    page.goto(f"{curated[0]}/?q=red+circle")
    page.wait_for_selector(CARDS)
    expect(page.locator("#add")).to_be_visible()
    top = page.locator("header > :not(p)").evaluate_all("all => all.map((one) => one.getBoundingClientRect().top)")
    assert len({round(each / 24) for each in top}) == 2  # the views have a row of their own, all else is in one
    page.locator("#menu summary").click()
    assert page.locator("#menu .options, #menu select").evaluate_all(INSIDE)
    page.locator("#menu summary").click()
    page.locator(f"{CARDS} .pick").first.click()
    buttons = page.locator("#selected button")
    assert buttons.evaluate_all(INSIDE)
    names = buttons.evaluate_all("all => all.map((one) => one.innerText || one.ariaLabel)")
    assert len(set(names)) == 7 and all(names)
    page.locator("#selected .icon").click()
    page.locator(f"{CARDS} .open").first.click()
    image = page.locator("#viewer .zoomed img")
    page.wait_for_function("() => document.querySelector('#viewer .zoomed img').naturalWidth")
    frame, shown = page.locator("#viewer .zoomed").bounding_box(), image.first.bounding_box()
    assert shown["y"] >= frame["y"] and shown["y"] + shown["height"] <= frame["y"] + frame["height"] + 1
    assert page.locator("#viewer .head button, #viewer .turn:not([hidden])").evaluate_all(INSIDE)


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


def test_counts_follow_an_image_too(curated, open_page, red_circle) -> None:
    page = open_page(curated[0])
    page.wait_for_selector(ANY)
    page.set_input_files("#file", str(red_circle))
    page.wait_for_selector(CARDS)
    page.locator("#class-menu summary").click()
    expect(page.locator("#class-menu small").first).to_have_text("6")


def test_a_text_of_several_lines_begins_with_its_title_and_addresses_are_links(tmp_path, open_page) -> None:
    searcher = fake_searcher.filled(tmp_path)
    known = {
        "text": "Blue kettle\nIt boils water.\nTwo litres.",
        "link": "https://shop.test/?a=b",
        "odd": "javascript:alert(1)",
        "tags": ["home", "new"],
    }
    searcher.add([NewItem("kettle", "image", image(Shape("blue", "circle", "train")), known)])
    with running(create_app(searcher)) as address:
        page = open_page(f"{address}/?q=kettle&mode=lexical")
        page.locator(f"{CARDS} .open").first.click()
        expect(page.locator("#viewer-title")).to_have_text("Blue kettle")
        expect(page.locator("#viewer .full")).to_have_text("It boils water.\nTwo litres.")
        link = page.locator("#viewer dl a")
        expect(link).to_have_text("https://shop.test/?a=b")
        assert link.get_attribute("rel") == "noopener noreferrer"
        expect(page.locator("#viewer dl")).to_contain_text("home, new")
        expect(page.locator("#viewer .turn:not([hidden])")).to_have_count(0)  # the only one that was found


def test_the_search_box_stays_in_sight(many, open_page) -> None:
    page = open_page(many, viewport={"width": 1200, "height": 800})
    page.wait_for_selector(ANY)
    page.evaluate("scrollBy(0, 2500)")
    assert page.locator("#words, #class-menu summary").evaluate_all(INSIDE)
    here = place(page)
    page.keyboard.press("/")
    expect(page.get_by_role("combobox", name="Words to search for")).to_be_focused()
    assert place(page) == here
    page.mouse.move(600, 500)
    page.locator(f"{ANY} .open").nth(20).focus()
    covered = """() => {
        const { top } = document.activeElement.closest(".card").getBoundingClientRect();
        return top < document.querySelector("#controls").getBoundingClientRect().bottom;
    }"""
    for _ in range(8):
        page.keyboard.press("ArrowUp")
        assert page.evaluate(covered) is False


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


def test_a_wrong_key_for_editing_can_be_given_up(tmp_path, open_page) -> None:
    searcher = fake_searcher.filled(tmp_path)
    with running(create_app(searcher, ServingSettings(read_key="r", write_key="w"))) as address:
        page = open_page(f"{address}/healthz")
        page.evaluate("sessionStorage.setItem('diptych-key', 'r')")
        page.goto(f"{address}/?q=red")
        page.wait_for_selector(CARDS)
        page.locator("#menu summary").click()
        page.get_by_role("button", name="Use a key to edit").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Key").fill("nonsense")
        page.keyboard.press("Enter")
        expect(dialog.get_by_role("alert")).to_have_text("This key is wrong. Check it and try again.")
        dialog.get_by_role("button", name="Cancel").click()
        expect(dialog).to_be_hidden()
        page.get_by_role("combobox", name="Words to search for").fill("blue")
        page.keyboard.press("Enter")
        expect(page.locator(CARDS).first.locator(".tag")).to_have_text("blue")  # with the key from before


def test_several_files_that_are_dropped_are_to_be_added(curated, open_page) -> None:
    page = curator(open_page, curated[0])
    page.evaluate(
        """() => {
            const dataTransfer = new DataTransfer();
            for (const name of ["a.png", "b.png"])
                dataTransfer.items.add(new File([new Uint8Array([1])], name, { type: "image/png" }));
            document.body.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
        }"""
    )
    expect(page.get_by_role("dialog", name="Add items").locator(".uploads li")).to_have_count(2)


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


def test_each_deletion_is_undone_by_itself_whatever_is_asked_meanwhile(curated, open_page) -> None:
    page = curator(open_page, curated[0], "?q=red+circle")
    page.wait_for_selector(CARDS)
    names = items(page)
    for _ in range(2):
        page.locator(f"{CARDS} .open").first.click(modifiers=["Control"])
        page.keyboard.press("Delete")
    expect(page.locator(CARDS)).to_have_count(34)
    page.get_by_role("button", name="Undo").first.click()
    expect(page.locator(CARDS)).to_have_count(35)
    assert items(page) == [names[0], *names[2:]]
    page.get_by_role("combobox", name="Words to search for").fill("blue")
    page.keyboard.press("Enter")
    expect(page.locator(CARDS).first.locator(".tag")).to_have_text("blue")
    expect(page.locator("#status")).to_contain_text("35 items")
    assert names[1] not in items(page)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(CARDS)).to_have_count(36)
    expect(page.locator(CARDS).first.locator(".tag")).to_have_text("blue")


def test_what_follows_comes_when_all_that_is_loaded_was_deleted(many, open_page) -> None:
    page = curator(open_page, many, viewport={"width": 1200, "height": 800})
    page.wait_for_selector(ANY)
    page.locator(f"{ANY} .open").first.focus()
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    expect(page.locator("#status")).to_contain_text("1,452 items")
    expect(page.locator(ANY).first).to_have_attribute("data-item", "note 0048")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#status")).to_contain_text("1,500 items")
    expect(page.locator(ANY).first).to_have_attribute("data-item", "note 0000")


HUNDREDS = """() => {
    scrollTo(0, document.body.scrollHeight);
    return Number(document.querySelector("#status").textContent.match(/(\\d+) loaded/)?.[1]) >= 432;
}"""


@pytest.mark.parametrize("title", ["note", "note " + "ü" * 100], ids=["at once", "more than a page that is left sends"])
def test_hundreds_that_were_deleted_are_gone_when_the_page_is_left(title, open_page, tmp_path) -> None:
    searcher = notes(tmp_path, title)
    asked: list[str] = []
    with running(create_app(searcher, ServingSettings(write_key="w"))) as address:
        page = curator(open_page, address)
        page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
        page.wait_for_selector(ANY)
        page.wait_for_function(HUNDREDS)
        page.wait_for_function(NOTHING_WAITS)
        page.locator(f"{ANY} .open").last.focus()
        page.keyboard.press("Control+a")
        page.keyboard.press("Delete")
        told = page.get_by_text(re.compile(r"^\d+ items deleted$")).text_content()
        page.goto(f"{address}/healthz")
        gone = int(told.split()[0])
        for _ in range(200):
            if searcher.index.count() == 1500 - gone:
                break
            page.wait_for_timeout(50)
        assert gone >= 432 and searcher.index.count() == 1500 - gone
    assert asked == ([] if title == "note" else ["beforeunload"])


# --- back and forward


def place(page) -> int:
    return round(page.evaluate("scrollY"))


def test_back_closes_the_viewer_and_returns_to_the_place_in_a_list(many, open_page) -> None:
    page = open_page(many, viewport={"width": 1200, "height": 800})
    page.wait_for_selector(ANY)
    for _ in range(6):
        page.wait_for_function(NOTHING_WAITS)
        page.evaluate(SCROLL)
    page.wait_for_function(NOTHING_WAITS)
    here = place(page)
    assert here > 3000
    name = page.evaluate("document.elementFromPoint(200, 400).closest('.card').dataset.item")
    page.mouse.click(200, 400)
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    page.go_back()
    expect(dialog).to_be_hidden()
    assert place(page) == here and "item=" not in page.url
    page.go_forward()
    expect(dialog.get_by_role("heading")).to_contain_text(name)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    assert "item=" not in page.url and place(page) == here
    page.locator(f'[data-item="{name}"]').get_by_role("button", name=re.compile("^More like this")).click()
    page.wait_for_selector(CARDS)
    assert place(page) == 0
    asked: list[str] = []
    page.on("request", lambda one: "/v1/browse" in one.url and asked.append(one.url))
    page.go_back()
    expect(page.locator(ANY).filter(has_text=name).first).to_be_visible()
    assert place(page) == here and asked == []  # it was there all the time
    expect(page.locator("#status")).to_have_text("1,500 items · 144 loaded")
    page.go_forward()
    page.wait_for_selector(CARDS)
    expect(page.locator(".chip.like")).to_contain_text(name)


def test_an_image_of_ones_own_is_a_step_to_go_back_to(address, open_page, red_circle) -> None:
    page = open_page(address)
    page.wait_for_selector(ANY)
    page.set_input_files("#file", str(red_circle))
    page.wait_for_selector(CARDS)
    page.locator(f"{CARDS} .open").first.click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Remove your image")).to_be_visible()
    names = items(page)
    page.locator(CARDS).first.get_by_role("button", name=re.compile("^More like this")).click()
    expect(page.locator(".chip.like")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("button", name="Remove your image")).to_be_visible()
    expect(page.locator(CARDS).first).to_have_attribute("data-item", names[0])
    page.go_back()
    expect(page.locator("#hero")).not_to_have_class("unseen")
    expect(page.locator(CARDS)).to_have_count(0)


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


def test_images_that_did_not_come_are_asked_for_again(curated, open_page) -> None:
    page = open_page("about:blank")
    page.route("**/v1/media/**", lambda route: route.abort())
    page.goto(f"{curated[0]}/?q=red")
    expect(page.locator(".gone").first).to_be_attached()
    page.unroute("**/v1/media/**")
    page.context.set_offline(True)
    expect(page.locator("#offline")).to_be_visible()
    page.context.set_offline(False)
    expect(page.locator("#offline")).to_be_hidden()
    page.wait_for_function("() => document.querySelector('#results img').naturalWidth > 0")
    expect(page.locator(".gone")).to_have_count(0)


def test_an_error_is_told_in_the_words_of_the_server(curated, open_page) -> None:
    page = open_page(f"{curated[0]}/?like=nothing")
    expect(page.get_by_role("heading", name="This cannot be searched")).to_be_visible()
    expect(page.locator("#nothing-says")).to_contain_text("no item 'nothing'")


FILES = """async () => {
    const { csvOf, crc32 } = await import("/page/download.js");
    const text = csvOf([{ id: "a", item: "=1+1", metadata: { text: 'a "b", c' } }]);
    return [text, crc32(new TextEncoder().encode("123456789"))];
}"""


def test_cells_of_a_table_run_nothing_in_a_spreadsheet(address, open_page) -> None:
    text, checksum = open_page(address).evaluate(FILES)
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[1][0] == "'=1+1" and rows[1][3] == 'a "b", c'
    assert checksum == 0xCBF43926  # the check value of CRC-32
