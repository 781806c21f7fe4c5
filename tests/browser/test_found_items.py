"""Items, reasons, corrections and suggestions on the page, in a real browser."""

import re

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
HOSTILE = "<b>Kettle</b> &amp; <i onclick=x>lid</i><script>document.title='run'</script><img src=x onerror=y> red"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server of its own, and the searcher behind it."""
    searcher = fake_searcher.filled(tmp_path_factory.mktemp("items"))
    with running(create_app(searcher)) as address:
        yield address, searcher


def items_shown(page) -> list[str]:
    return page.locator(CARDS).evaluate_all("cards => cards.map(card => card.dataset.item)")


def suggested(page):
    return page.get_by_role("listbox", name="Suggestions").get_by_role("option")


def box(page):
    return page.get_by_role("combobox", name="Words to search for")


def test_one_card_is_one_item_with_its_image_and_its_text(served, open_page) -> None:
    page = open_page(f"{served[0]}/?q=a+red+circle")
    expect(page.locator(CARDS)).to_have_count(36)
    assert len(set(items_shown(page))) == 36
    first = page.locator(CARDS).first
    expect(first.locator(".caption")).to_have_text("a red circle, alone on white")
    expect(first.locator(".tag")).to_have_text(["red"])
    page.wait_for_function("() => document.querySelector('#results img').naturalWidth > 0")
    image, text = first.locator("img").bounding_box(), first.locator(".caption").bounding_box()
    assert image["y"] + image["height"] <= text["y"] + 1


def test_a_card_says_why_it_is_there(served, open_page, red_circle) -> None:
    page = open_page(f"{served[0]}/?q=Red+Circles")
    first = page.locator(CARDS).first
    expect(first.locator(".why")).to_contain_text("matches red")
    expect(first.locator(".why")).to_have_attribute("title", re.compile("image .* text .* words"))
    expect(first.locator("mark").first).to_have_text("red")
    page.set_input_files("#file", str(red_circle))
    expect(first.locator(".why")).to_have_text("looks like it")
    expect(first.locator("mark")).to_have_count(0)


def test_the_mode_is_chosen_sent_and_shared(served, open_page) -> None:
    address, searcher = served
    page = open_page(f"{address}/?q=circle")
    page.wait_for_selector(CARDS)
    page.locator("#more-menu summary").click()
    control = page.locator("#mode select")
    expect(control.locator("option")).to_have_text(["Mixed", "By words", "By meaning"])
    expect(control).to_have_value("hybrid")
    control.select_option(label="By words")
    expect(page.locator(CARDS)).to_have_count(12)
    expect(page.locator("#status")).to_contain_text("12 items")
    assert searcher.asked[-1].mode == "lexical" and "mode=lexical" in page.url
    other = open_page(page.url)
    expect(other.locator(CARDS)).to_have_count(12)
    other.locator("#more-menu summary").click()
    expect(other.locator("#mode select")).to_have_value("lexical")
    other.locator("#mode select").select_option(label="Mixed")
    expect(other.locator(CARDS)).to_have_count(36)
    assert searcher.asked[-1].mode == "hybrid" and "mode=" not in other.url


def test_an_index_that_knows_one_mode_shows_no_control(tmp_path, open_page) -> None:
    searcher = fake_searcher.filled(tmp_path)
    searcher.modes = ["vector"]
    with running(create_app(searcher)) as address:
        page = open_page(f"{address}/?q=red&mode=lexical")
        page.wait_for_selector(CARDS)
        expect(page.locator("#mode")).to_be_hidden()
        assert searcher.asked[-1].mode == "hybrid"


def test_a_misspelling_is_answered_with_a_link(served, open_page) -> None:
    page = open_page(f"{served[0]}/?q=yelow+circle&class=yellow&class=red")
    link = page.get_by_role("link", name="yellow circle")
    expect(page.locator(".meant")).to_have_text("Did you mean yellow circle?")
    expect(page.locator(".ignored")).to_have_text("Ignored: yelow")
    assert "q=yellow+circle&class=yellow&class=red" in link.get_attribute("href")
    link.click()
    expect(page.locator(".meant")).to_have_count(0)
    expect(box(page)).to_have_value("yellow circle")
    expect(page.locator(f"{CARDS} .tag").first).to_have_text("yellow")
    page.go_back()
    expect(page.locator(".meant")).to_be_visible()


def test_words_that_no_text_holds_are_corrected_and_can_be_taken_as_typed(served, open_page) -> None:
    address, searcher = served
    page = open_page(f"{address}/?q=yelow")
    expect(page.locator(".meant")).to_have_text("Showing results for yellow. Search as typed")
    expect(page.locator(f"{CARDS} .tag").first).to_have_text("yellow")
    page.get_by_role("link", name="Search as typed").click()
    expect(page.locator(".meant")).to_have_text("Did you mean yellow?")
    expect(page.locator("#nearest")).to_be_visible()
    assert searcher.asked[-1].correct is False and "exact=1" in page.url
    box(page).fill("purpel")
    page.keyboard.press("Enter")
    expect(page.locator(".meant")).to_contain_text("Showing results for purple")
    assert "exact" not in page.url


def test_nothing_close_is_said_above_the_nearest(served, open_page) -> None:
    page = open_page(f"{served[0]}/?q=xyzzy")
    heading = page.get_by_role("status").filter(has_text="Nothing close enough, the nearest:")
    expect(heading).to_be_visible()
    expect(page.locator(CARDS)).to_have_count(36)
    expect(page.locator(".ignored")).to_have_text("Ignored: xyzzy")
    assert heading.bounding_box()["y"] < page.locator(CARDS).first.bounding_box()["y"]
    box(page).fill("red")
    page.keyboard.press("Enter")
    expect(heading).to_be_hidden()
    expect(page.locator(".ignored")).to_have_count(0)


def test_suggestions_are_chosen_by_keys(served, open_page) -> None:
    page = open_page(served[0])
    page.wait_for_selector("#examples button")
    page.keyboard.press("/")
    page.keyboard.type("a gr")
    options = suggested(page)
    expect(options).to_have_text(["a green", "a grey"])
    expect(box(page)).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    expect(box(page)).to_have_attribute("aria-activedescendant", options.nth(1).get_attribute("id"))
    page.keyboard.press("ArrowDown")  # past the last one is what was typed
    assert box(page).get_attribute("aria-activedescendant") is None
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(box(page)).to_have_value("a grey")
    expect(page.locator(f"{CARDS} .tag").first).to_have_text("grey")
    expect(page.locator("#suggestions")).to_be_hidden()
    assert "q=a+grey" in page.url


def test_suggestions_go_away_by_escape_by_asking_and_by_leaving(served, open_page) -> None:
    page = open_page(served[0])
    page.wait_for_selector("#examples button")
    options = suggested(page)
    box(page).press_sequentially("gr")
    expect(options).to_have_count(2)
    page.keyboard.press("Escape")
    expect(options).to_have_count(0)
    expect(box(page)).to_have_value("gr")  # the first Escape only closes the list
    box(page).press_sequentially("e")
    expect(options).to_have_count(2)
    page.keyboard.press("Enter")
    page.wait_for_selector(CARDS)
    expect(options).to_have_count(0)
    assert "q=gre" in page.url
    page.wait_for_timeout(400)
    expect(options).to_have_count(0)
    box(page).fill("r")
    box(page).press_sequentially("e")
    expect(options).to_have_count(1)
    page.locator("#main").click(position={"x": 5, "y": 5})
    expect(options).to_have_count(0)


def test_a_suggestion_is_one_click(served, open_page) -> None:
    page = open_page(served[0])
    page.wait_for_selector("#examples button")
    box(page).press_sequentially("pur")
    suggested(page).filter(has_text="purple").click()
    expect(page.locator(f"{CARDS} .tag").first).to_have_text("purple")
    expect(box(page)).to_have_value("purple")


TYPE_QUICKLY = """(box, text) => {
    for (const letter of text) {
        box.value += letter;
        box.dispatchEvent(new Event("input"));
    }
}"""


def test_typing_asks_when_it_pauses_and_not_at_every_key(served, open_page) -> None:
    page = open_page(served[0])
    page.wait_for_selector("#examples button")
    asked: list[str] = []
    page.on("request", lambda request: "/v1/suggest" in request.url and asked.append(request.url))
    box(page).focus()
    box(page).evaluate(TYPE_QUICKLY, "yello")
    expect(suggested(page)).to_have_text(["yellow"])
    assert len(asked) == 1


@pytest.mark.parametrize("key", [None, "röad"])
def test_the_preview_falls_back_to_the_thumbnail(tmp_path, open_page, key) -> None:
    searcher = fake_searcher.filled(tmp_path)
    searcher.original = lambda id: None  # the folder of the originals has moved
    with running(create_app(searcher, ServingSettings(read_key=key))) as address:
        page = open_page(f"{address}/?q=red")
        if key:
            page.locator("#key").fill(key)
            page.keyboard.press("Enter")
        with page.expect_response("**/v1/media/**size=original") as answered:
            page.locator(f"{CARDS} .open").first.click()
        answered.value.finished()
        page.wait_for_function("() => document.querySelector('#viewer .zoomed img')?.naturalWidth === 64")
        assert page.evaluate("document.querySelector('#viewer .zoomed img').naturalWidth") == 64


def test_markup_is_shown_as_text_only(tmp_path, open_page) -> None:
    searcher = fake_searcher.filled(tmp_path)
    known = {"label": "a &lt;b&gt; <u>c</u>", "text": HOSTILE, "price": "<b>9</b>"}
    shown = image(Shape("red", "circle", "train"))
    searcher.add([NewItem("odd", "image", shown, known)])
    with running(create_app(searcher)) as address:
        page = open_page(f"{address}/?q=kettle&mode=lexical")
        card = page.locator(CARDS).first
        expect(card.locator(".caption")).to_have_text("Kettle & lid red")
        expect(card.locator("mark")).to_have_text("Kettle")
        expect(card.locator(".tag")).to_have_text("a <b> c")
        assert card.locator("script, .caption img, b, u, i[onclick]").count() == 0
        card.locator(".open").click()
        expect(page.locator("#viewer-title")).to_have_text("Kettle & lid red")
        expect(page.locator("#viewer dl")).to_contain_text("price9")
        assert page.title() == "kettle · Diptych"


def test_a_long_text_begins_where_it_matches(tmp_path, open_page) -> None:
    searcher = fake_searcher.filled(tmp_path)
    text = "filler word " * 60 + "the part AB-1234/X fits. " + "more filler " * 30
    searcher.add([NewItem("long", "text", text, {})])
    with running(create_app(searcher)) as address:
        page = open_page(f"{address}/?q=1234&mode=lexical")
        card = page.locator(CARDS).first
        expect(card.locator("mark").first).to_have_text("1234")
        assert card.inner_text().startswith("… ")
        frame, mark = card.bounding_box(), card.locator("mark").first.bounding_box()
        assert mark["y"] < frame["y"] + 90
        card.locator(".open").click()
        expect(page.locator("#viewer .read")).to_contain_text("the part AB-1234/X fits")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_has_room_in_both_themes(served, open_page, scheme) -> None:
    small = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
    page = open_page(f"{served[0]}/?q=yelow+xyzzy", color_scheme=scheme, **small)
    page.wait_for_selector(CARDS)
    box(page).press("End")
    box(page).press_sequentially(" gr")
    expect(suggested(page)).to_have_count(2)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


MARKED = """async ([text, words]) => {
    const { places } = await import("/page/words.js");
    return places(text, words).map(([start, end]) => text.slice(start, end));
}"""


@pytest.mark.parametrize(
    ("text", "words", "marked"),
    [
        ("A red shoe, and Red shoes", ["Red", "shoes"], ["red", "shoe", "Red", "shoes"]),
        ("the man who runs", ["running"], ["runs"]),
        ("a Café table", ["cafe"], ["Café"]),
        ("part AB-1234/X fits", ["ab-1234/x"], ["AB-1234/X"]),
        ("part AB-1234/X fits", ["ab1234x"], ["AB", "1234", "X"]),
        ("part ab1234x fits", ["AB-1234/X"], ["ab1234x"]),
        ("我有一只小猫在家", ["小猫"], ["小猫"]),
        ("собаки бегут", ["собака"], ["собаки"]),
        ("glass and mass", ["gas"], []),
        ("a+b <b>", ["(", "+", "a"], ["a", "+"]),
        ("", ["x"], []),
    ],
)
def test_the_words_that_matched_are_marked(served, open_page, text, words, marked) -> None:
    assert open_page(served[0]).evaluate(MARKED, [text, words]) == marked
