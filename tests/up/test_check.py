"""The questions pass a good server and find out every bad one."""

from urllib.parse import unquote

import pytest

pytest.importorskip("uvicorn")
from starlette.responses import JSONResponse, PlainTextResponse

from diptych.search import NewItem
from diptych.serving import ServingSettings, create_app
from diptych.up import HttpClient, check_search
from serving import fake_searcher
from serving.running_server import running

KEY = "a-key-to-read-with"


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    made = fake_searcher.filled(tmp_path_factory.mktemp("asked"))
    made.close = lambda: None  # several servers use it one after the other
    yield made
    made.index.close()


@pytest.fixture
def app(searcher):
    return create_app(searcher, ServingSettings(read_key=KEY))


class Spoiled:
    """An application that answers some requests wrongly."""

    def __init__(self, app, path, answer):
        self.app, self.path, self.answer = app, path, answer

    async def __call__(self, scope, receive, send):
        asked = scope["type"] == "http" and f"{scope['method']} {unquote(scope['path'])}"
        if asked and asked.startswith(self.path):
            await self.answer(scope, receive, send)
        else:
            await self.app(scope, receive, send)


def outcome(app, key=KEY):
    with running(app) as address:
        return {checked.name: checked for checked in check_search(HttpClient(address, key))}


def test_a_good_server_passes_every_question(app):
    checks = outcome(app)
    assert list(checks) == ["page", "words", "misspelling", "image", "item", "nothing close"]
    assert all(checked.passed for checked in checks.values()), checks
    assert checks["words"].said == "5 of 5 texts find their own item among the first 10"
    assert checks["misspelling"].said.startswith("did you mean")
    assert checks["nothing close"].said == "nothing is close enough"
    assert checks["item"].to_json().keys() == {"name", "passed", "asked", "said"}


def hit(item):
    return {"id": item, "metadata": {"item": item, "text": "something"}}


NOTHING = JSONResponse({"hits": [], "mode": "hybrid"})
OTHER = JSONResponse({"hits": [hit("image:other")], "mode": "hybrid", "closest": 0.4, "nothing_close": False})
BROKEN = PlainTextResponse("broken", 500)
SPOILED = [
    ("GET /page/app.js", BROKEN, {"page"}, "status 500"),
    ("GET /page", JSONResponse({}), set(), ""),
    ("GET /v1/search", BROKEN, {"words", "misspelling", "nothing close"}, "status 500 instead of 200"),
    ("GET /v1/search", NOTHING, {"words", "misspelling"}, ""),
    ("GET /v1/search", OTHER, {"words", "misspelling", "nothing close"}, ""),
    ("GET /v1/search", JSONResponse({}), {"words", "misspelling", "nothing close"}, "no answer to a search"),
    ("POST /v1/search", OTHER, {"image"}, "does not find its own item"),
    ("GET /v1/media", BROKEN, {"image"}, "status 500"),
    ("GET /v1/similar", NOTHING, {"item"}, "nothing is like it"),
]


@pytest.mark.parametrize(("path", "answer", "failing", "said"), SPOILED)
def test_what_is_wrong_is_found_out_and_named(app, path, answer, failing, said):
    checks = outcome(Spoiled(app, path, answer))
    assert {name for name, checked in checks.items() if checked.passed is False} == failing
    assert all(said in checks[name].said for name in failing)


def test_an_item_that_is_like_itself_is_found_out(app, searcher):
    first = min(searcher.images)
    checks = outcome(Spoiled(app, "GET /v1/similar", JSONResponse({"hits": [hit(first)]})))
    assert checks["item"].said == "the item itself is among the hits"


def test_without_the_key_nothing_passes_but_the_page(app):
    checks = outcome(app, key=None)
    assert checks["page"].passed and checks["nothing close"].passed is False
    assert not any(checked.passed for name, checked in checks.items() if name != "page")


def test_without_a_server_nothing_passes(app):
    with running(app) as address:
        pass
    checks = list(check_search(HttpClient(address, KEY)))
    assert not any(checked.passed for checked in checks)
    assert "status 0" in checks[0].said


def test_what_an_index_cannot_do_is_no_failure(tmp_path):
    searcher = fake_searcher.FakeSearcher(tmp_path)
    searcher.add([NewItem("text:1", "text", "a red disc", {"item": "1"}), NewItem("text:2", "text", "a blue one")])
    checks = outcome(create_app(searcher))
    assert checks["image"].passed is None and checks["image"].said == "there are no images"
    assert checks["misspelling"].passed is None
