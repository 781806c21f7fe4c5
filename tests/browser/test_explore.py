"""The map of all items, in a real browser."""

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
WINDOW = {"viewport": {"width": 1200, "height": 860}}
SPOT = """() => {
    const map = document.querySelector("#map");
    if (!map.width) return null;
    const { data } = map.getContext("2d").getImageData(0, 0, map.width, map.height);
    const at = data.findIndex((value, place) => place % 4 === 3 && value > 0);
    const ratio = map.width / map.clientWidth;
    return at < 0 ? null : [((at - 3) / 4 % map.width) / ratio, Math.floor((at - 3) / 4 / map.width) / ratio + 2];
}"""


def explored(open_page, address, question=""):
    page = open_page(f"{address}/?view=explore{question}", **WINDOW)
    expect(page.locator("#map[data-points='36']")).to_be_visible()
    return page, page.wait_for_function(SPOT).json_value()


def test_every_item_is_there_once_and_can_be_looked_at_and_searched_from(address, open_page) -> None:
    page, (x, y) = explored(open_page, address)
    expect(page.locator("#legend li")).to_have_count(6)
    expect(page.locator("#map-says")).to_contain_text("36 items")
    box = page.locator("#map").bounding_box()
    page.mouse.move(box["x"] + x, box["y"] + y)
    expect(page.locator("#tip")).to_contain_text("alone on white")
    page.mouse.click(box["x"] + x, box["y"] + y)
    expect(page.get_by_role("dialog")).to_contain_text("alone on white")
    page.get_by_role("button", name="More like this", exact=True).click()
    page.wait_for_selector(CARDS)
    assert "like=" in page.url and "view=" not in page.url


def test_clusters_have_names_and_thumbnails_come_when_near(address, open_page) -> None:
    page, _ = explored(open_page, address)
    page.wait_for_function("() => document.querySelector('#map').dataset.names.split('|').length === 6")
    page.wait_for_function("() => Number(document.querySelector('#map').dataset.images) > 5")
    page.locator("#legend button").first.click()
    page.wait_for_function("() => !document.querySelector('#map').dataset.names.includes('|')")
    page.get_by_role("button", name="Zoom in").click()
    page.locator("#map").focus()
    for key in ("+", "-", "ArrowLeft", "0"):
        page.keyboard.press(key)


def test_what_has_no_class_is_named_by_its_words_at_each_zoom(tmp_path, open_page) -> None:
    with Searcher.open(build_unlabelled(tmp_path) / "index") as searcher, running(create_app(searcher)) as address:
        page = open_page(f"{address}/?view=explore", **WINDOW)
        page.wait_for_function("() => document.querySelector('#map').dataset.names?.includes('|')")
        names = page.locator("#map").get_attribute("data-names").split("|")
        words = {word for name in names for word in name.split(" · ")}
        assert {"red", "green", "blue", "grey"} & words and not {"in", "the", "light"} & words
        red, green, blue = page.wait_for_function(SPOT_COLOUR).json_value()
        assert max(red, green, blue) - min(red, green, blue) < 20  # what has no class is grey
        for zoom, shown in ((0.5, "far"), (1, "far"), (2, "near"), (64, "nearest")):
            assert page.evaluate(NAMES_AT, zoom) == [shown]


def test_the_results_of_the_question_are_shown_on_the_map(address, open_page) -> None:
    page, _ = explored(open_page, address, "&q=circle&mode=lexical")
    expect(page.locator("#map")).to_have_attribute("data-lit", "12")
    expect(page.get_by_label("Show the best 12 results")).to_be_checked()
    page.get_by_role("combobox", name="Words to search for").fill("square")
    page.keyboard.press("Enter")
    expect(page.locator("#map")).to_have_attribute("data-lit", "12")
    assert "view=explore" in page.url and "q=square" in page.url


def test_a_lasso_selects(address, open_page) -> None:
    page, _ = explored(open_page, address)
    box = page.locator("#map").bounding_box()
    page.locator("#map").focus()
    page.keyboard.press("l")
    expect(page.get_by_role("button", name="Select with a lasso")).to_have_attribute("aria-pressed", "true")
    page.mouse.move(box["x"] + 16, box["y"] + 16)
    page.mouse.down()
    for right, down in ((1, 0), (1, 1), (0, 1)):
        page.mouse.move(box["x"] + 16 + right * (box["width"] - 32), box["y"] + 16 + down * (box["height"] - 32))
    page.mouse.up()
    expect(page.get_by_role("toolbar", name="Selected items")).to_contain_text("36 selected")
    page.get_by_role("button", name="More like these").click()
    page.wait_for_selector(".chip.like")
    assert page.url.count("like=") == 14


def test_labels_given_with_a_lasso_can_be_undone(tmp_path, open_page) -> None:
    searcher = fake_searcher.filled(tmp_path)
    ids = [one.id for one in searcher.list(limit=1000)]
    before = [searcher.get(id).metadata["label"] for id in ids]
    with running(create_app(searcher, ServingSettings(write_key="w"))) as address:
        page = open_page(f"{address}/healthz", **WINDOW)
        page.evaluate("sessionStorage.setItem('diptych-key', 'w')")
        page.goto(f"{address}/?view=explore")
        page.wait_for_function(SPOT)
        box = page.locator("#map").bounding_box()
        page.get_by_role("button", name="Select with a lasso").click()
        page.mouse.move(box["x"] + 16, box["y"] + 16)
        page.mouse.down()
        for right, down in ((1, 0), (1, 1), (0, 1)):
            page.mouse.move(box["x"] + 16 + right * (box["width"] - 80), box["y"] + 16 + down * (box["height"] - 32))
        page.mouse.up()
        page.get_by_role("toolbar").get_by_role("button", name="Label").click()
        page.get_by_role("dialog").get_by_role("combobox").fill("thing")
        page.keyboard.press("Enter")
        expect(page.locator(".toast")).to_contain_text("labelled “thing”")
        assert "thing" in {searcher.get(id).metadata["label"] for id in ids}
        page.get_by_role("button", name="Undo").click()
        for _ in range(100):
            if [searcher.get(id).metadata.get("label") for id in ids] == before:
                break
            page.wait_for_timeout(50)
        assert [searcher.get(id).metadata.get("label") for id in ids] == before


def test_a_hundred_thousand_points_are_all_drawn(address, open_page) -> None:
    page, _ = explored(open_page, address)
    visible, drawn = page.evaluate(MANY)
    assert visible == 100_000 and drawn == 600 * 600  # they stand so close that nothing is left between them


SPOT_COLOUR = """() => {
    const map = document.querySelector("#map");
    const { data } = map.getContext("2d").getImageData(0, 0, map.width, map.height);
    const at = data.findIndex((value, place) => place % 4 === 3 && value > 0);
    return at < 0 ? null : [...data.slice(at - 3, at)];
}"""
NAMES_AT = """async (zoom) => {
    const { View } = await import("/page/explore.js");
    return Object.assign(Object.create(View.prototype), {
        points: { names: [[0, 0, 0, 9, "far"], [1, 0, 0, 5, "near"], [2, 0, 0, 3, "nearest"], [2, 90, 0, 3, "away"]] },
        picked: new Set(), sums: new Map([[65535, 9]]),
        scale: 100 * zoom, smallest: 50, left: 50, top: 50, width: 100, height: 100,
    }).wordNames().map(({ name }) => name);
}"""
MANY = """async () => {
    const { View } = await import("/page/explore.js");
    const count = 100_000, view = Object.create(View.prototype);
    const pen = document.createElement("canvas").getContext("2d");
    Object.assign(pen.canvas, { width: 1200, height: 700 });
    const grid = (across, size) => Float32Array.from({ length: count }, (_, at) => across(at) / size);
    const pixels = pen.createImageData(1200, 700);
    Object.assign(view, {
        points: {
            count, x: grid((at) => at % 400, 400), y: grid((at) => Math.floor(at / 400), 250),
            codes: new Uint16Array(count), labels: ["a"], ids: [],
        },
        ratio: 1, width: 1200, height: 700, scale: 680, smallest: 340, left: 10, top: 690, picked: new Set(), lit: null,
        full: new Uint32Array(65536).fill(0xff0000ff), faded: new Uint32Array(65536), pixels, pen,
        buffer: new Uint32Array(pixels.data.buffer), paintOver() {},
        app: { results: { hidden: new Set() }, selection: { chosen: new Map() } },
    });
    view.paint();
    const inner = pen.getImageData(20, 30, 600, 600).data;
    return [view.visible.length, inner.filter((value, at) => at % 4 === 3 && value).length];
}"""
