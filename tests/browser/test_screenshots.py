"""Screenshots of the page for the documentation; taken only when DIPTYCH_SCREENSHOTS=1.

DIPTYCH_SCREENSHOTS_INDEX names the index to show (the small world of the tests by default), DIPTYCH_SCREENSHOTS_WORDS
what to type (the first example by default), DIPTYCH_SCREENSHOTS_NOWHERE words that nothing in the index is close to,
DIPTYCH_SCREENSHOTS_FOLDER where they are kept (docs/images by default).
"""

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
CARDS = "#results .card"
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True, "device_scale_factor": 2}
ALL_LOADED = "() => [...document.images].every((image) => !image.src || image.loading === 'lazy' || image.complete)"


def opened(folder: Path):
    place = os.environ.get("DIPTYCH_SCREENSHOTS_INDEX")
    return Searcher.open(place) if place else fake_searcher.filled(folder)


@pytest.fixture(scope="module")
def shown(tmp_path_factory) -> Iterator[str]:
    with running(create_app(opened(tmp_path_factory.mktemp("shown")))) as address:
        yield address


@pytest.fixture(scope="module")
def words(shown) -> str:
    return os.environ.get("DIPTYCH_SCREENSHOTS_WORDS") or httpx.get(f"{shown}/v1/info").json()["examples"][0]


def keep(page, name: str) -> None:
    page.wait_for_function(ALL_LOADED)
    page.wait_for_timeout(700)
    IMAGES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(IMAGES / f"page-{name}.png"))


def searched(open_page, shown, words, **options):
    page = open_page(f"{shown}/", **options)
    page.wait_for_selector("#views")
    page.get_by_role("combobox", name="Words to search for").fill(words)
    page.wait_for_function("() => document.querySelector('#into').children.length > 0")
    page.keyboard.press("Enter")
    page.wait_for_selector(CARDS)
    page.evaluate("() => document.activeElement.blur()")
    return page


def test_start(shown, open_page) -> None:
    page = open_page(shown)
    page.wait_for_selector("#examples button")
    keep(page, "start")


def test_words_and_more_like_this(shown, words, open_page) -> None:
    page = searched(open_page, shown, words)
    keep(page, "words")
    page.locator(f"{CARDS} .like").first.click()
    page.wait_for_selector(".chip")
    keep(page, "more-like-this")


def test_dark(shown, words, open_page) -> None:
    keep(searched(open_page, shown, words, color_scheme="dark"), "dark")


def test_phone(shown, words, open_page) -> None:
    keep(searched(open_page, shown, words, **PHONE), "phone")


def test_image(shown, words, open_page, tmp_path) -> None:
    body = {"parts": [{"kind": "text", "text": words}], "into": "image", "k": 1}
    hit = httpx.post(f"{shown}/v1/search", json=body).json()["hits"][0]
    (tmp_path / "mine").write_bytes(httpx.get(f"{shown}{hit['media']}").content)
    page = open_page(shown)
    page.wait_for_selector("#examples button")
    mine = {"name": "mine.webp", "mimeType": "image/webp", "buffer": (tmp_path / "mine").read_bytes()}
    page.set_input_files("#file", mine)
    page.wait_for_selector(CARDS)
    keep(page, "image")


def test_filter(shown, words, open_page) -> None:
    page = searched(open_page, shown, words)
    page.locator("#class-menu summary").click()
    page.locator("#class-menu input").nth(1).check()
    page.wait_for_timeout(300)
    keep(page, "filter")


def test_nothing(shown, open_page) -> None:
    page = searched(open_page, shown, os.environ.get("DIPTYCH_SCREENSHOTS_NOWHERE", "xyzzy qwertz"))
    page.wait_for_selector("#nearest:not([hidden])")
    keep(page, "nothing")


def test_suggestions(shown, words, open_page) -> None:
    page = open_page(shown)
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
    page = searched(open_page, shown, words)
    page.locator(f"{CARDS} .open").first.click()
    page.wait_for_selector("#detail img")
    keep(page, "detail")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_explore(shown, open_page, scheme) -> None:
    page = open_page(f"{shown}/?view=explore", color_scheme=scheme)
    page.wait_for_selector("#map[data-points]")
    page.wait_for_timeout(300)
    box = page.locator("#map").bounding_box()
    for step in range(40):
        page.mouse.move(box["x"] + box["width"] * (0.3 + 0.01 * step), box["y"] + box["height"] * (0.3 + 0.008 * step))
        if page.locator("#map.over").count():
            page.wait_for_timeout(500)
            break
    keep(page, "explore" if scheme == "light" else "explore-dark")


def test_wrong_key(open_page, tmp_path) -> None:
    with running(create_app(opened(tmp_path), ServingSettings(read_key="right"))) as address:
        page = open_page(address)
        page.locator("#key").fill("wrong")
        page.keyboard.press("Enter")
        page.wait_for_selector("#key-wrong:not([hidden])")
        keep(page, "wrong-key")
        page.locator("#key").fill("right")
        page.keyboard.press("Enter")
        page.wait_for_selector("#examples button")
