"""Try a server as its visitors will: every way to ask, compared with what the index itself answers."""

import json
import re
from collections.abc import Iterator
from urllib.parse import quote

from diptych.errors import DiptychError
from diptych.experiments.showcase.visitor import Reply, Visitor
from diptych.search import Answer, QueryPart, Searcher

_TOP = 5


class TrialError(DiptychError):
    """A server did not answer as it should."""


def try_server(address: str, searcher: Searcher) -> Iterator[str]:
    """Exercise a server that only reads, and say after each step what went well.

    Args:
        address: of the server, which asks for no key.
        searcher: the index it serves; one that holds words and pictures and takes both.

    Raises:
        TrialError: at the first answer that is wrong, saying which.
    """
    return iter(_Trial(Visitor(address), searcher))


class _Trial:
    """The steps, each of which returns what it found to be so."""

    def __init__(self, visitor: Visitor, searcher: Searcher) -> None:
        self._visitor, self._searcher = visitor, searcher
        examples = searcher.info()["examples"]
        if not examples:
            raise TrialError("the index holds no texts to take an example from, so there is nothing to try.")
        self._words = str(examples[0])
        self._best = self._ask(QueryPart("text", self._words), "image")
        if not self._best.hits:
            raise TrialError(f"the index finds no picture for '{self._words}', so there is nothing to try.")

    def __iter__(self) -> Iterator[str]:
        steps = (self._ready, self._page, self._words_to_pictures, self._media, self._picture_to_words)
        for step in (*steps, self._more_like_this, self._filter, self._no_writes, self._metrics):
            yield step()

    def _ready(self) -> str:
        _good("/readyz", self._visitor.get("/readyz"))
        return "/readyz: the index can be read"

    def _page(self) -> str:
        page = _good("the page", self._visitor.get("/"))
        files = sorted(set(re.findall(r'"(/page/[^"]+)"', page.text)))
        _require(page.kind == "text/html" and bool(files), f"the page is {page.kind} with {len(files)} files")
        for file in files:
            _good(file, self._visitor.get(file))
        return f"the page and its {len(files)} files load"

    def _words_to_pictures(self) -> str:
        what = f"'{self._words}' → pictures"
        self._same(what, self._visitor.get("/v1/search", q=self._words, into="image", k=_TOP), self._best)
        return f"{what}: {_names(self._best)}"

    def _media(self) -> str:
        address = f"/v1/media/{quote(self._best.hits[0].id, safe='')}"
        for path in (address, f"{address}?size=original"):
            kind = _good(path, self._visitor.get(path)).kind
            _require(kind.startswith("image/"), f"{path} is {kind}, not a picture")
        return "a result's picture, small and as it came"

    def _picture_to_words(self) -> str:
        original = self._searcher.original(self._best.hits[0].id)
        if original is None:
            raise TrialError(f"the picture of {self._best.hits[0].id} has changed since it was indexed.")
        query = json.dumps({"into": "text", "k": _TOP})
        expected = self._ask(QueryPart("image", original[0]), "text")
        self._same("a picture → words", self._visitor.upload("/v1/search", original[0], query=query), expected)
        return f"an uploaded picture → words: {_names(expected)}"

    def _more_like_this(self) -> str:
        id = self._best.hits[0].id
        reply = self._visitor.get(f"/v1/similar/{quote(id, safe='')}", into="image", k=_TOP)
        expected = self._searcher.similar(id, into="image", k=_TOP)
        self._same("more like this", reply, expected)
        _require(id not in {hit["id"] for hit in reply.json["hits"]}, f"{id} was found to be like itself")
        return f"more like this: {_names(expected)}"

    def _filter(self) -> str:
        """A class that the best picture does not have, so that a filter that does nothing is found out."""
        taken = self._best.hits[0].metadata.get("label")
        label = next((name for name in self._searcher.info()["classes"] if name != taken), None)
        if label is None:
            return "there is but one class, so no filter to try"
        quoted = label.replace("'", "''")
        where = f"label = '{quoted}'"
        reply = self._visitor.get("/v1/search", q=self._words, into="image", k=_TOP, where=where)
        self._same(f"only {label}", reply, self._ask(QueryPart("text", self._words), "image", where))
        found = {str(hit["metadata"].get("label")) for hit in reply.json["hits"]}
        _require(found <= {label}, f"asked for {label} only, and {', '.join(sorted(found))} came")
        return f"only {label}: {len(reply.json['hits'])} results, none of another class"

    def _no_writes(self) -> str:
        id = self._best.hits[0].id
        status = self._visitor.delete(f"/v1/items/{quote(id, safe='')}").status
        _require(status == 403, f"a write without a key was answered with {status} instead of 403")
        _good("the item", self._visitor.get(f"/v1/items/{quote(id, safe='')}"))
        return "nobody may write without a key"

    def _metrics(self) -> str:
        told = _good("/metrics", self._visitor.get("/metrics")).text
        _require('route="/v1/search"' in told, "/metrics knows nothing of the searches")
        return "/metrics counts the requests"

    def _ask(self, part: QueryPart, into: str, where: str | None = None) -> Answer:
        return self._searcher.search([part], into=into, k=_TOP, where=where)

    def _same(self, what: str, reply: Reply, expected: Answer) -> None:
        found = [hit["id"] for hit in _good(what, reply).json["hits"]]
        wanted = [hit.id for hit in expected.hits]
        _require(found == wanted, f"{what}: the server found {found}, the index {wanted}")


def _good(what: str, reply: Reply) -> Reply:
    _require(reply.status == 200, f"{what}: status {reply.status} instead of 200 ({reply.text[:200]})")
    return reply


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise TrialError(f"the server failed its check: {otherwise}.")


def _names(answer: Answer) -> str:
    return ", ".join(str(hit.metadata.get("text", hit.id)).partition("\n")[0] for hit in answer.hits)
