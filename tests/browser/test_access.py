"""Everybody can use the page: axe-core finds nothing serious, every language says everything, its files are small."""

import json
import re
import subprocess
from pathlib import Path

import pytest

import diptych.serving
from diptych.search import Searcher
from diptych.serving import ServingSettings, create_app
from search.gallery import build_unlabelled
from serving import fake_searcher
from serving.running_server import running

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.browser
expect = playwright.expect

PAGE = Path(diptych.serving.__file__).parent / "page"
AXE = Path(__file__).parents[2] / "build" / "node_modules" / "axe-core" / "axe.min.js"
LANGUAGES = ("en", "de", "zh", "ja")
CARDS = "#results .card:has(.foot-line)"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
RUN = """async (rules) => {
    const { violations } = await axe.run(document, { runOnly: rules, resultTypes: ["violations"] });
    return violations.map(({ id, impact, nodes }) => [impact, id, nodes[0].html]);
}"""


STEPS = (
    "start",
    "results",
    "selected",
    "viewer",
    "edit",
    "filters",
    "menu",
    "add",
    "label",
    "save",
    "key",
    "explore",
    "tip",
)
SHOW_TIP = """async () => {
    const map = document.querySelector("#map"), { left, top, width, height } = map.getBoundingClientRect();
    for (let y = 0; y < height; y += 6)
        for (let x = 0; x < width && document.querySelector("#tip").hidden && !map.classList.contains("over"); x += 6)
            map.dispatchEvent(new PointerEvent("pointermove", { clientX: left + x, clientY: top + y }));
}"""
RUNNING = {"state": "running", "phase": "fitting", "fraction": 0.4}


@pytest.fixture(scope="module")
def curated(tmp_path_factory):
    searcher = fake_searcher.filled(tmp_path_factory.mktemp("access"))
    with running(create_app(searcher, ServingSettings(write_key="w"))) as address:
        yield address


@pytest.fixture(scope="module")
def teachable(tmp_path_factory):
    folder = build_unlabelled(tmp_path_factory.mktemp("teachable"))
    with (
        Searcher.open(folder / "index", writable=True) as searcher,
        running(create_app(searcher, ServingSettings(write_key="w"))) as address,
    ):
        yield address


@pytest.fixture(scope="session")
def axe() -> str:
    if not AXE.exists():
        command = ["make", "-s", "-C", str(AXE.parents[3]), "axe"]
        subprocess.run(command, check=False, capture_output=True, timeout=90)  # says itself why it cannot
    if not AXE.exists():
        pytest.skip("axe-core is not there; `make axe` gets it through npm")
    return AXE.read_text(encoding="utf-8")


def looked_at(page, step: str) -> None:
    """Bring the page into a state in which it is looked at."""
    if step == "selected":
        page.locator(f"{CARDS} .open").first.click(modifiers=["Control"])
    elif step == "viewer":
        page.locator(f"{CARDS} .open").first.click()
    elif step == "edit":
        page.locator(f"{CARDS} .open").first.click()
        page.get_by_role("dialog").get_by_role("button", name="Edit").click()
    elif step == "filters":
        page.locator("#more-menu summary").click()
        page.locator("#class-menu summary").click()
    elif step == "menu":
        page.locator("#menu summary").click()
    elif step == "add":
        page.get_by_role("button", name="Add", exact=True).click()
        page.get_by_role("button", name="Write a text instead").click()
    elif step == "label":
        looked_at(page, "selected")
        page.get_by_role("toolbar").get_by_role("button", name="Label").click()
    elif step == "save":
        page.get_by_role("button", name="Save this search").click()
    elif step == "key":
        page.evaluate("import('/page/keys.js').then(({ askKey }) => void askKey(true, true))")
        expect(page.get_by_role("dialog")).to_be_visible()
    elif step in ("explore", "tip"):
        page.get_by_role("button", name="Explore").click()
        page.wait_for_selector("#map[data-names]")
    if step == "tip":
        page.evaluate(SHOW_TIP)
        expect(page.locator("#tip")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(curated, open_page, axe, scheme) -> None:
    page = open_page(f"{curated}/healthz", color_scheme=scheme, viewport={"width": 1200, "height": 860})
    page.evaluate("sessionStorage.setItem('diptych-key', 'w')")
    found = {}
    for step in STEPS:
        page.goto(f"{curated}/" if step == "start" else f"{curated}/?q=red")
        expect(page.locator("#results")).to_have_attribute("aria-busy", "false")
        looked_at(page, step)
        found[step] = serious(page, axe)
    assert found == {step: [] for step in STEPS}


def serious(page, axe) -> list:
    page.evaluate(axe)
    return [found for found in page.evaluate(RUN, RULES) if found[0] != "minor"]


def test_axe_finds_nothing_serious_where_nothing_is_found_or_reached(curated, open_page, axe) -> None:
    for question in ("?q=xyzzy&mode=lexical", "?q=yelow+circle", "?like=nothing"):
        page = open_page(f"{curated}/{question}")
        expect(page.locator("#results")).to_have_attribute("aria-busy", "false")
        assert serious(page, axe) == []
    page.context.set_offline(True)
    expect(page.get_by_role("alert").first).to_contain_text("The server cannot be reached")
    assert serious(page, axe) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_while_teaching(teachable, open_page, axe, scheme) -> None:
    page = open_page(f"{teachable}/healthz", color_scheme=scheme, viewport={"width": 1300, "height": 900})
    page.evaluate("sessionStorage.setItem('diptych-key', 'w')")
    page.goto(f"{teachable}/?view=teach")
    page.wait_for_selector(".ask .card")
    found = {"questions": serious(page, axe)}
    for label in ("one", "two"):
        page.get_by_label("Type a class").fill(label)
        page.keyboard.press("Enter")
        expect(page.locator(".ask")).to_have_attribute("aria-busy", "false")
    page.locator(".ask .card .open").first.click()
    found["answered"] = serious(page, axe)
    page.locator(".fills button").first.click()
    expect(page.get_by_role("button", name="Back to the questions")).to_be_visible()
    found["checked"] = serious(page, axe)
    page.route("**/v1/learn", lambda route: route.fulfill(json=RUNNING))
    page.get_by_role("button", name="Learn", exact=True).click()
    expect(page.get_by_role("progressbar")).to_be_visible()
    found["learning"] = serious(page, axe)
    assert found == {"questions": [], "answered": [], "checked": [], "learning": []}


def sentences(language: str) -> dict[str, str]:
    return json.loads((PAGE / f"{language}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_every_language_says_everything(language) -> None:
    english, other = sentences("en"), sentences(language)
    assert list(other) == list(english)
    for key, sentence in english.items():
        values = set(re.findall(r"\{\w+\}", sentence))
        assert set(re.findall(r"\{\w+\}", other[key])) == values, key
        assert other[key].strip(), key


def test_every_sentence_that_is_used_exists() -> None:
    used: set[str] = set()
    for path in [*PAGE.glob("*.js"), PAGE / "index.html"]:
        text = path.read_text(encoding="utf-8")
        used |= set(re.findall(r'\bt\("([a-z0-9._]+)"', text)) | set(re.findall(r'data-t(?:-\w+)?="([^"]+)"', text))
    assert len(used) > 100 and used <= set(sentences("en"))


@pytest.mark.parametrize(
    ("locale", "words"), [("de-DE", "36 Objekte"), ("zh-CN", "36 项"), ("ja-JP", "36 件"), ("fr-FR", "36 items")]
)
def test_the_browser_chooses_the_language_and_the_menu_another(curated, open_page, locale, words) -> None:
    page = open_page(f"{curated}/?q=red", locale=locale)
    expect(page.locator("#status")).to_contain_text(words)
    assert page.evaluate("document.documentElement.lang") == (locale[:2] if locale[:2] in LANGUAGES else "en")
    page.locator("#menu summary").click()
    page.locator("#language").select_option("de")
    expect(page.get_by_role("button", name="Erkunden")).to_be_visible()
    expect(page.locator("#status")).to_contain_text("36 Objekte · beste zuerst")
    page.reload()
    expect(page.locator("#status")).to_contain_text("36 Objekte")


def test_what_a_visit_loads_is_small(curated, open_page) -> None:
    page = open_page("about:blank")
    loaded: set[str] = set()
    page.on("request", lambda one: "/page/" in one.url and loaded.add(one.url.rpartition("/")[2]))
    page.goto(f"{curated}/?q=red")
    page.wait_for_selector(CARDS)
    page.wait_for_load_state("networkidle")
    whole = sum((PAGE / name).stat().st_size for name in {*loaded, "index.html"})
    assert len(loaded) > 15 and whole < 135_000


def test_the_files_of_the_page_stay_small() -> None:
    """Not yet below the 150 kB they should have; what is gained here is not lost again."""
    assert sum(path.stat().st_size for path in PAGE.iterdir()) < 207_500
