"""The trial of a server passes a good one and finds out every bad one."""

from urllib.parse import unquote

import pytest

pytest.importorskip("uvicorn")
from starlette.responses import JSONResponse, PlainTextResponse

from diptych.experiments.showcase import TrialError, try_server
from diptych.search import Searcher, build_index
from diptych.serving import create_app
from search.gallery import make
from serving.running_server import running


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tried")
    build_index(folder / "model", make(folder, components=4), folder / "index", projection="none")
    return folder / "index"


@pytest.fixture(scope="module")
def searcher(index):
    with Searcher.open(index) as opened:
        yield opened


class Spoiled:
    """An application that answers some requests wrongly."""

    def __init__(self, app, is_spoiled, answer):
        self.app, self.is_spoiled, self.answer = app, is_spoiled, answer

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http" and self.is_spoiled(scope["method"], unquote(scope["path"]), scope["query_string"]):
            await self.answer(scope, receive, send)
        else:
            await self.app(scope, receive, send)


def test_a_good_server_passes_every_step(index, searcher):
    with running(create_app(Searcher.open(index))) as address:
        said = list(try_server(address, searcher))
    assert len(said) == 9
    assert any("→ pictures" in line for line in said)
    assert any("uploaded picture → words" in line for line in said)


NOTHING = JSONResponse({"hits": [], "closest": None, "seconds": 0.0})
BROKEN = PlainTextResponse("broken", 500)


SPOILED = {
    "/readyz: status 500": (lambda method, path, query: path == "/readyz", BROKEN),
    "/page/app.js: status 500": (lambda method, path, query: path == "/page/app.js", BROKEN),
    "the page is application/json": (lambda method, path, query: path == "/", JSONResponse({})),
    r"pictures: the server found \[\]": (lambda method, path, query: method + path == "GET/v1/search", NOTHING),
    "a picture → words: the server": (lambda method, path, query: method + path == "POST/v1/search", NOTHING),
    "application/json, not a picture": (lambda method, path, query: path.startswith("/v1/media"), JSONResponse({})),
    "more like this: the server found": (lambda method, path, query: path.startswith("/v1/similar"), NOTHING),
    "only .*: the server found": (lambda method, path, query: b"where=" in query, NOTHING),
    "with 200 instead of 403": (lambda method, path, query: method == "DELETE", JSONResponse({"count": 1})),
    "knows nothing of the searches": (lambda method, path, query: path == "/metrics", PlainTextResponse("up 1")),
}


@pytest.mark.parametrize("complaint", SPOILED)
def test_what_is_wrong_is_found_out_and_named(index, searcher, complaint):
    app = create_app(Searcher.open(index))
    with (
        running(Spoiled(app, *SPOILED[complaint])) as address,
        pytest.raises(TrialError, match=f"the server failed its check: .*{complaint}"),
    ):
        list(try_server(address, searcher))


def test_a_server_that_is_gone_is_told(index, searcher):
    with running(create_app(Searcher.open(index))) as address:
        pass
    with pytest.raises(TrialError, match="/readyz: status 0 instead of 200"):
        list(try_server(address, searcher))
