"""Chromium and a server over the world of coloured shapes."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from diptych.serving import ServingSettings, create_app
from serving import fake_searcher
from serving.running_server import running

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def chromium() -> str:
    """Where Chromium is; the test is skipped where it is not."""
    found = os.environ.get("DIPTYCH_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("there is no Chromium; install the package chromium, or say where it is in DIPTYCH_CHROMIUM")
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator:
    """Closed with the module: as long as it is open, playwright runs an event loop in this thread."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    playwright.expect.set_options(timeout=30_000)
    program = chromium()
    with playwright.sync_playwright() as running_playwright:
        opened = running_playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def address(tmp_path_factory) -> Iterator[str]:
    """A server that anybody may read."""
    with running(create_app(fake_searcher.filled(tmp_path_factory.mktemp("open")))) as found:
        yield found


@pytest.fixture(scope="session")
def locked_address(tmp_path_factory) -> Iterator[str]:
    """A server that asks for the key 'röad'."""
    settings = ServingSettings(read_key="röad")
    with running(create_app(fake_searcher.filled(tmp_path_factory.mktemp("locked")), settings)) as found:
        yield found


@pytest.fixture
def open_page(browser) -> Iterator:
    """A function that opens an address in a window of its own; whatever goes wrong in the page fails the test."""
    contexts, problems = [], []

    def opened(address: str, **options):
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 2800}, "locale": "en-GB"} | options)
        contexts.append(context)
        context.set_default_timeout(30_000)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: foreign(request.url) and problems.append(request.url))
        page.goto(address)
        return page

    def foreign(url: str) -> bool:
        return not url.startswith(("http://127.0.0.1:", "blob:http://127.0.0.1:", "data:"))

    yield opened
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture
def red_circle(tmp_path) -> Path:
    """A image on disk."""
    from serving.coloured_shapes import Shape, image

    path = tmp_path / "mine.png"
    path.write_bytes(image(Shape("red", "circle", "train"), side=120))
    return path
