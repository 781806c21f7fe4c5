"""What a person does on the page, in a real browser."""

import re

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.browser
expect = playwright.expect

CARDS = "#results .card:has(.foot-line)"


def search(page, words: str) -> None:
    page.get_by_role("combobox", name="Words to search for").fill(words)
    page.keyboard.press("Enter")
    page.wait_for_selector(CARDS)


def tags(page) -> set[str]:
    return set(page.locator(f"{CARDS} .tags .tag:first-child").all_inner_texts())


def test_words_find_items(address, open_page) -> None:
    page = open_page(address)
    expect(page.locator("#dataset")).to_have_text("coloured shapes · 36 items")
    search(page, "a red circle")
    cards = page.locator(CARDS)
    expect(cards.first).to_have_attribute("data-modality", "image")
    expect(cards.first.locator(".tag").first).to_have_text("red")
    page.wait_for_function("() => document.querySelector('#results img').naturalWidth > 0")
    expect(cards.first.locator(".score")).to_contain_text("% likely")
    expect(cards).to_have_count(36)
    expect(page.locator("#status")).to_have_text("36 items · best first")


def test_an_example_is_one_click_and_an_address_can_be_shared(address, open_page) -> None:
    page = open_page(address)
    page.get_by_role("group", name="Examples").get_by_text("blue", exact=True).click()
    page.wait_for_selector(CARDS)
    page.get_by_role("group", name="Find").get_by_role("button", name="Texts").click()
    expect(page.locator(CARDS).first).to_have_attribute("data-modality", "text")
    shared = page.url
    assert "q=blue" in shared and "in=text" in shared
    first = page.locator(CARDS).first.get_attribute("data-id")
    other = open_page(shared)
    expect(other.locator(CARDS).first).to_have_attribute("data-id", first)
    expect(other.get_by_role("combobox", name="Words to search for")).to_have_value("blue")
    page.go_back()
    expect(page.locator("#hero")).not_to_have_class("unseen")
    expect(page.locator(CARDS)).to_have_count(0)


def test_an_image_finds_items(address, open_page, red_circle) -> None:
    page = open_page(address)
    page.set_input_files("#file", str(red_circle))
    page.wait_for_selector(CARDS)
    expect(page.locator(CARDS).first).to_contain_text("a red")
    page.get_by_role("group", name="Find").get_by_role("button", name="Texts").click()
    expect(page.locator(CARDS).first).to_have_attribute("data-modality", "text")
    page.get_by_role("button", name="Remove your image").click()
    expect(page.locator(CARDS)).to_have_count(0)


def test_a_dropped_and_a_pasted_image_search_too(address, open_page, red_circle) -> None:
    page = open_page(address)
    give = """([bytes, kind]) => {
        const usual = { bubbles: true, cancelable: true };
        const carried = new DataTransfer();
        carried.items.add(new File([new Uint8Array(bytes)], "mine.png", { type: "image/png" }));
        const event = kind === "drop" ? new DragEvent("drop", { dataTransfer: carried, ...usual })
            : new ClipboardEvent("paste", { clipboardData: carried, ...usual });
        document.body.dispatchEvent(event);
    }"""
    page.wait_for_selector("#examples button")
    for kind in ("drop", "paste"):
        page.evaluate(give, [list(red_circle.read_bytes()), kind])
        expect(page.locator(CARDS).first).to_contain_text("a red")
        page.get_by_role("button", name="Remove your image").click()
        expect(page.locator(CARDS)).to_have_count(0)


def test_what_is_not_an_image_is_said(address, open_page, tmp_path) -> None:
    page = open_page(address)
    page.wait_for_selector("#examples button")
    (tmp_path / "fake.png").write_text("hello")
    page.set_input_files("#file", str(tmp_path / "fake.png"))
    expect(page.locator("#nothing-says")).to_have_text("The file is no image this server can read.")


def test_filters_by_class_and_split(address, open_page) -> None:
    page = open_page(f"{address}/?q=red")
    page.wait_for_selector(CARDS)
    assert len(tags(page)) > 1
    page.locator("#class-menu summary").click()
    page.get_by_role("checkbox", name="blue", exact=False).first.check()
    expect(page.locator(CARDS)).to_have_count(6)
    assert tags(page) == {"blue"}
    expect(page.locator("#splits")).to_be_hidden()  # unless an address asks for it
    assert "train" not in page.locator("#search-view").inner_text()
    page.goto(f"{address}/?q=red&class=blue&split=train&split=test")
    expect(page.locator(CARDS)).to_have_count(6)
    page.locator("#more-menu summary").click()
    page.get_by_label("train").uncheck()
    expect(page.locator(CARDS)).to_have_count(3)
    assert "class=blue" in page.url and "split=test" in page.url


def test_more_like_this(address, open_page) -> None:
    page = open_page(f"{address}/?q=green&in=image")
    first = page.locator(CARDS).first
    id = first.get_attribute("data-id")
    first.get_by_role("button", name=re.compile("^More like this")).click()
    expect(page.locator(".chip")).to_contain_text("like a green")
    expect(page.locator(f'{CARDS}[data-id="{id}"]')).to_have_count(0)
    assert page.locator(f"{CARDS} .tag:first-child").first.inner_text() == "green"


def test_nothing_close_enough_is_said_plainly(address, open_page) -> None:
    page = open_page(f"{address}/?q=red&class=blue")
    page.wait_for_selector(CARDS)
    page.locator("#more-menu summary").click()
    slider = page.get_by_role("slider", name="Strictness")
    slider.fill("90")
    expect(page.get_by_role("heading", name="Nothing close enough")).to_be_visible()
    expect(page.locator("#nothing-says")).to_contain_text("you asked for at least 90 %")
    assert "p=90" in page.url
    page.get_by_role("button", name="Show the closest anyway").click()
    expect(page.locator(CARDS)).to_have_count(6)


def test_keys_alone_are_enough(address, open_page) -> None:
    page = open_page(address)
    page.wait_for_selector("#examples button")
    page.keyboard.press("/")
    page.keyboard.type("yellow")
    page.keyboard.press("Enter")
    page.wait_for_selector(CARDS)
    page.keyboard.press("ArrowDown")
    focused = "document.activeElement.closest('.card')?.dataset.id"
    ids = page.locator(CARDS).evaluate_all("cards => cards.map(card => card.dataset.id)")
    assert page.evaluate(focused) == ids[0]
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused) == ids[1]
    page.keyboard.press("ArrowDown")
    assert ids.index(page.evaluate(focused)) == 1 + int(page.locator("#results").get_attribute("data-columns"))
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("alone on white")
    page.wait_for_function("() => document.querySelector('#viewer .zoomed img')?.naturalWidth === 96")  # the original
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.keyboard.press("Escape")
    expect(page.get_by_role("combobox", name="Words to search for")).to_be_focused()


def test_a_phone_has_room_for_it(address, open_page) -> None:
    page = open_page(f"{address}/?q=purple", viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    page.wait_for_selector(CARDS)
    for view, shown in (("Search", CARDS), ("Explore", "#map[data-names]")):
        page.get_by_role("navigation").get_by_role("button", name=view).click()
        expect(page.locator(shown).first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.get_by_role("navigation").get_by_role("button", name="Search").click()
    expect(page.locator(CARDS).first).to_be_visible()
    boxes = [card.bounding_box() for card in page.locator(CARDS).all()[:2]]
    assert boxes[0]["y"] == boxes[1]["y"] and boxes[1]["x"] + boxes[1]["width"] <= 360


def test_a_wrong_key_is_told(locked_address, open_page) -> None:
    page = open_page(f"{locked_address}/?q=red")
    dialog = page.get_by_role("dialog", name="This server asks for a key")
    expect(dialog).to_be_visible()
    expect(dialog.get_by_role("alert")).to_be_hidden()
    dialog.get_by_label("Key").fill("wrong")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_have_text("This key is wrong. Check it and try again.")
    dialog.get_by_label("Key").fill("röad")
    page.keyboard.press("Enter")
    page.wait_for_selector(CARDS)
    page.wait_for_function("() => document.querySelector('#results img').naturalWidth > 0")
    assert "röad" not in page.url


def test_dark_mode_and_still_motion(address, open_page) -> None:
    page = open_page(f"{address}/?q=red", color_scheme="dark", reduced_motion="reduce")
    page.wait_for_selector(CARDS)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(int(value) for value in re.findall(r"\d+", ground)) < 60
    assert page.evaluate("getComputedStyle(document.querySelector('.card')).transitionDuration") in ("0s", "")


def test_thanks_are_shown(address, open_page) -> None:
    page = open_page(address)
    page.get_by_text("About these images").click()
    expect(page.locator("#attribution p")).to_have_text("Shapes drawn for this test.")
