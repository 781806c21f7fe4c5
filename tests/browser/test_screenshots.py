"""Screenshots of the page for the documentation; taken only when DIPTYCH_SCREENSHOTS=1.

DIPTYCH_SCREENSHOTS_INDEX names the index to show (the small world of the tests by default), DIPTYCH_SCREENSHOTS_TEACH a
copy of one without labels that may be taught and DIPTYCH_SCREENSHOTS_TRUTH a JSON file with the class of each of its
items, DIPTYCH_SCREENSHOTS_WORDS what to type (the first example by default),
DIPTYCH_SCREENSHOTS_NOWHERE words that nothing in the index is close to, DIPTYCH_SCREENSHOTS_FOLDER where they are kept
(docs/images by default).
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from diptych.search import Searcher
from diptych.serving import ServingSettings, create_app
from serving import fake_searcher
from serving.running_server import running

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(os.environ.get("DIPTYCH_SCREENSHOTS") != "1", reason="taken with DIPTYCH_SCREENSHOTS=1 only"),
]
IMAGES = Path(os.environ.get("DIPTYCH_SCREENSHOTS_FOLDER", Path(__file__).parents[2] / "docs" / "images"))
CARDS = "#results .card:has(.foot-line)"
WINDOW = {"viewport": {"width": 1280, "height": 860}}
WIDE = {"viewport": {"width": 2200, "height": 1200}}
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True, "device_scale_factor": 2}
ALL_LOADED = "() => [...document.images].every((image) => !image.src || image.loading === 'lazy' || image.complete)"


def opened(folder: Path):
    place = os.environ.get("DIPTYCH_SCREENSHOTS_INDEX")
    return Searcher.open(place, writable=True) if place else fake_searcher.filled(folder)


@pytest.fixture(scope="module")
def shown(tmp_path_factory) -> Iterator[str]:
    with running(create_app(opened(tmp_path_factory.mktemp("shown")), ServingSettings(write_key="w"))) as address:
        yield address


@pytest.fixture(scope="module")
def words(shown) -> str:
    return os.environ.get("DIPTYCH_SCREENSHOTS_WORDS") or httpx.get(f"{shown}/v1/info").json()["examples"][0]


def keep(page, name: str) -> None:
    page.wait_for_function(ALL_LOADED)
    page.wait_for_timeout(700)
    IMAGES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(IMAGES / f"page-{name}.png"))


def searched(open_page, shown, words, *, key=False, **options):
    page = open_page(f"{shown}/healthz", **WINDOW | options)
    if key:
        page.evaluate("sessionStorage.setItem('diptych-key', 'w')")
    page.goto(f"{shown}/?{httpx.QueryParams(q=words)}")
    page.wait_for_selector(CARDS)
    return page


def test_start(shown, open_page) -> None:
    page = open_page(shown, **WINDOW)
    page.wait_for_selector("#results .card:not(.skeleton)")
    keep(page, "start")


def test_words_and_more_like_this(shown, words, open_page) -> None:
    page = searched(open_page, shown, words)
    keep(page, "words")
    page.locator(CARDS).first.hover()
    page.locator(f"{CARDS} .like").first.click()
    page.wait_for_selector(".chip")
    keep(page, "more-like-this")


def test_wide(shown, words, open_page) -> None:
    keep(searched(open_page, shown, words, **WIDE), "wide")


def test_dark(shown, words, open_page) -> None:
    keep(searched(open_page, shown, words, color_scheme="dark"), "dark")


def test_phone(shown, words, open_page) -> None:
    keep(searched(open_page, shown, words, **PHONE), "phone")


@pytest.mark.parametrize("language", ["de", "zh", "ja"])
def test_languages(shown, words, open_page, language) -> None:
    keep(searched(open_page, shown, words, locale=language), f"language-{language}")


def test_selection_and_adding(shown, words, open_page, red_circle) -> None:
    page = searched(open_page, shown, words, key=True)
    for place in (0, 1, 3):
        page.locator(f"{CARDS} .open").nth(place).click(modifiers=["Control"])
    keep(page, "selected")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Add", exact=True).click()
    page.set_input_files("#upload-files", str(red_circle))
    page.get_by_label("Text of mine").fill("a red circle that I drew")
    keep(page, "add")


def test_image(shown, words, open_page, tmp_path) -> None:
    body = {"parts": [{"kind": "text", "text": words}], "into": "image", "k": 1}
    hit = httpx.post(f"{shown}/v1/search", json=body).json()["hits"][0]
    page = open_page(shown, **WINDOW)
    page.wait_for_selector("#examples button")
    mine = {"name": "mine.webp", "mimeType": "image/webp", "buffer": httpx.get(f"{shown}{hit['media']}").content}
    page.set_input_files("#file", mine)
    page.wait_for_selector(CARDS)
    keep(page, "image")


def test_filter(shown, words, open_page) -> None:
    page = searched(open_page, shown, words)
    page.locator("#class-menu summary").click()
    page.locator("#class-menu input[type=checkbox]").nth(1).check()
    page.wait_for_timeout(500)
    keep(page, "filter")


def test_nothing(shown, open_page) -> None:
    nowhere = os.environ.get("DIPTYCH_SCREENSHOTS_NOWHERE", "xyzzy qwertz")
    page = open_page(f"{shown}/?{httpx.QueryParams(q=nowhere)}", **WINDOW)
    page.wait_for_selector("#nearest:not([hidden]), #nothing:not([hidden])")
    keep(page, "nothing")


def test_suggestions(shown, words, open_page) -> None:
    page = open_page(shown, **WINDOW)
    page.wait_for_selector("#examples button")
    page.get_by_role("combobox", name="Words to search for").press_sequentially(words[: max(2, len(words) * 2 // 3)])
    page.wait_for_selector("#suggestions [role=option]")
    page.keyboard.press("ArrowDown")
    keep(page, "suggestions")


def test_did_you_mean(shown, words, open_page) -> None:
    longest = max(words.split(), key=len)
    page = searched(open_page, shown, words.replace(longest, longest[:-2] + longest[-1] + longest[-2]))
    page.wait_for_selector(".meant")
    keep(page, "did-you-mean")


def test_detail(shown, words, open_page) -> None:
    page = searched(open_page, shown, words, key=True)
    page.locator(f"{CARDS} .open").first.click()
    page.wait_for_selector("#viewer img")
    keep(page, "detail")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_explore(shown, words, open_page, scheme) -> None:
    question = httpx.QueryParams(q=words) if scheme == "dark" else ""
    page = open_page(f"{shown}/?view=explore&{question}", color_scheme=scheme, **WINDOW)
    page.wait_for_selector("#map[data-names]")
    page.wait_for_timeout(500)
    keep(page, "explore" if scheme == "light" else "explore-dark")


def test_wrong_key(open_page, tmp_path) -> None:
    with running(create_app(opened(tmp_path), ServingSettings(read_key="right"))) as address:
        page = open_page(address, **WINDOW)
        page.locator("#key").fill("wrong")
        page.keyboard.press("Enter")
        page.wait_for_selector("#key-wrong:not([hidden])")
        keep(page, "wrong-key")


def test_teach(open_page) -> None:
    place = os.environ.get("DIPTYCH_SCREENSHOTS_TEACH")
    if not place:
        pytest.skip("DIPTYCH_SCREENSHOTS_TEACH names no index to teach")
    with running(create_app(Searcher.open(place, writable=True), ServingSettings(write_key="w"))) as address:
        page = open_page(f"{address}/healthz", **WINDOW)
        page.evaluate("sessionStorage.setItem('diptych-key', 'w')")
        page.goto(f"{address}/?view=explore")
        page.wait_for_selector("#map[data-names]")
        keep(page, "explore-words")
        page.goto(f"{address}/?view=teach")
        page.wait_for_selector(".ask .card")
        truth = json.loads(Path(os.environ["DIPTYCH_SCREENSHOTS_TRUTH"]).read_text(encoding="utf-8"))
        for _ in range(9):
            label = truth[page.locator(".ask .card.active").get_attribute("data-item")]
            page.get_by_label("Type a class").fill(label)
            page.keyboard.press("Enter")
            page.wait_for_selector(".ask[aria-busy=false]")
        page.evaluate("document.activeElement.blur()")
        keep(page, "teach")
