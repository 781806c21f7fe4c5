"""Sounds on the page, in a real browser: found by words, drawn, and played from cards and in the viewer."""

import pytest

pytest.importorskip("soundfile", reason="reading sounds needs the extra 'audio'")

from diptych.search import Searcher, build_index
from diptych.serving import ServingSettings, create_app
from search.loud_things import make
from serving.running_server import running

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.browser
expect = playwright.expect

CARDS = "#results .card:has(.foot-line)"
WINDOW = {"viewport": {"width": 1200, "height": 900}}
HEARD = "(sound) => sound.currentTime > 0 && sound.played.length > 0 && !sound.error"
DRAWN = "(image) => image.complete && image.naturalWidth === 256"


@pytest.fixture(scope="module")
def things(tmp_path_factory):
    """An index of things with an image, a text and a sound; some have no image and some no sound."""
    folder = tmp_path_factory.mktemp("sounds")
    build_index(folder / "model", make(folder, each=8), folder / "index")
    return folder / "index"


@pytest.fixture(scope="module")
def loud(things):
    with Searcher.open(things) as searcher, running(create_app(searcher)) as address:
        yield address


def press(page, player):
    """Press play, and return the sound once it is heard."""
    button = player.get_by_role("button", name="Play")
    expect(button).to_have_attribute("aria-pressed", "false")
    button.click()
    sound = player.locator("audio")
    page.wait_for_function(HEARD, arg=sound.element_handle())
    return sound


def test_words_find_sounds_that_are_drawn_and_played(loud, open_page) -> None:
    page = open_page(f"{loud}/?q=a+brown+dog+that+barks&in=audio", **WINDOW)
    card = page.locator(CARDS).first
    expect(card).to_have_attribute("data-modality", "audio")
    expect(card.locator(".tag")).to_have_text("dog")
    page.wait_for_function(DRAWN, arg=card.locator(".spectrogram img").element_handle())
    sound = press(page, card.locator(".player"))
    assert sound.get_attribute("data-id") == card.get_attribute("data-id")
    expect(page.locator("#status")).to_contain_text("sounds")
    expect(page.get_by_role("dialog")).to_be_hidden()  # playing is not opening


def test_an_item_with_an_image_offers_its_sound_and_one_plays_at_a_time(loud, open_page) -> None:
    page = open_page(f"{loud}/?q=a+white+cow+that+moos&group=0", **WINDOW)
    both = page.locator(CARDS).and_(page.locator("[data-modality=image]")).filter(has=page.locator(".player"))
    first, second = both.nth(0), both.nth(1)
    expect(first.locator(".image:not(.spectrogram) img")).to_have_count(1)
    for card in (first, second):
        sound = press(page, card.locator(".player"))
        assert sound.get_attribute("data-id") == f"audio:{card.get_attribute('data-item')}"
    expect(first.locator(".play")).to_have_attribute("aria-pressed", "false")
    page.evaluate("for (const sound of document.querySelectorAll('audio')) sound.loop = true")
    first.locator(".play").focus()
    page.keyboard.press("Space")  # plays, and does not select the card
    expect(first.locator(".play")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Space")
    expect(first.locator(".play")).to_have_attribute("aria-pressed", "false")
    expect(page.get_by_role("toolbar", name="Selected items")).to_be_hidden()
    expect(page.locator(f'{CARDS}[data-item="cow-05"] .player')).to_have_count(0)  # it has no sound


def test_the_viewer_plays_with_a_key_too(things, open_page) -> None:
    with Searcher.open(things) as searcher, running(create_app(searcher, ServingSettings(read_key="k"))) as address:
        page = open_page(f"{address}/healthz", **WINDOW)
        page.evaluate("sessionStorage.setItem('diptych-key', 'k')")
        page.goto(f"{address}/?q=bird&in=audio")
        page.locator(f"{CARDS} .open").first.click()
        viewer = page.get_by_role("dialog")
        page.wait_for_function(DRAWN, arg=viewer.locator(".spectrogram img").element_handle())
        expect(viewer.locator("audio")).to_be_hidden()
        press(page, viewer.locator(".player"))
        expect(viewer.locator("audio")).to_be_visible()  # with the browser's controls
        page.keyboard.press("Escape")
        expect(page.locator("#viewer audio")).to_have_count(0)
