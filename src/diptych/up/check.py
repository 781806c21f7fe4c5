"""Check a running search over HTTP: queries by text, a misspelling, an image and an item, whose hits can be judged."""

import json
import re
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

_BOUNDARY = "diptych-a-line-that-no-image-holds"
_TIMEOUT_S = 60.0
_LISTED, _TEXTS_ASKED, _TOP = 200, 5, 10
_LONGEST_QUERY = 70
_SHORTEST_MISSPELT = 6
_GIBBERISH, _LIKELY = "zqxvj wkqpfh vvxqz", 0.5


@dataclass(frozen=True)
class Reply:
    """A server's reply.

    Attributes:
        status: of HTTP; 0 when there was no answer at all.
        body: as it came.
        media_type: of the body.
    """

    status: int
    body: bytes
    media_type: str = ""

    @property
    def json(self) -> Any:  # noqa: ANN401 - whatever the server says
        """The body read as JSON; None if it is none."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode("utf-8", "replace")


class HttpClient:
    """Sends requests to one server; an error status is a reply, not an exception."""

    def __init__(self, address: str, key: str | None = None) -> None:
        self._address = address
        self._headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # the server is on this machine

    def get(self, path: str, **query: str | int | float) -> Reply:
        """Send a GET request."""
        return self._send("GET", f"{path}?{urlencode(query)}" if query else path)

    def upload(self, path: str, image: bytes, **fields: str) -> Reply:
        """Send a POST request with an image and fields as a form."""
        form = b"".join(_part(f'name="{name}"', value.encode()) for name, value in fields.items()) + _part(
            'name="picture"; filename="image"', image
        )
        headers = {"Content-Type": f"multipart/form-data; boundary={_BOUNDARY}"}
        return self._send("POST", path, form + f"--{_BOUNDARY}--\r\n".encode(), headers)

    def _send(self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Reply:
        request = urllib.request.Request(self._address + path, body, self._headers | (headers or {}), method=method)
        try:
            with self._opener.open(request, timeout=_TIMEOUT_S) as answer:
                return Reply(answer.status, answer.read(), answer.headers.get_content_type())
        except urllib.error.HTTPError as error:
            with error:
                return Reply(error.code, error.read(), error.headers.get_content_type())
        except OSError as error:
            return Reply(0, str(error).encode())


def _part(name: str, content: bytes) -> bytes:
    return f"--{_BOUNDARY}\r\nContent-Disposition: form-data; {name}\r\n\r\n".encode() + content + b"\r\n"


@dataclass(frozen=True)
class Checked:
    """One test query and its outcome.

    Attributes:
        name: what was tried.
        passed: whether the answer is right; None where the data gives nothing to ask.
        asked: the question.
        said: what came back, or what is wrong with it.
    """

    name: str
    passed: bool | None
    asked: str
    said: str

    def to_json(self) -> dict[str, Any]:
        """The check as a JSON object."""
        return {"name": self.name, "passed": self.passed, "asked": self.asked, "said": self.said}


def check_search(client: HttpClient) -> Iterator[Checked]:
    """Send test queries to a running server, and judge each reply.

    Args:
        client: asks the server.
    """
    checks = _Checks(client)
    yield from (checks.page(), checks.words(), checks.misspelling(), checks.image(), checks.item(), checks.nothing())


class _WrongAnswerError(Exception):
    """A reply that is wrong; the message says why."""


class _Checks:
    """The test queries, chosen from what the server holds."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client
        self._texts = self._listed("text")
        self._images = self._listed("image")

    def page(self) -> Checked:
        """The page and all its files load."""
        asked = "/"
        try:
            page = _good(self._client.get("/"))
            files = sorted(set(re.findall(r'"(/page/[^"]+)"', page.text)))
            if page.media_type != "text/html" or not files:
                raise _WrongAnswerError(f"the page is {page.media_type} with {len(files)} files")
            for file in files:
                asked = file
                _good(self._client.get(file))
        except _WrongAnswerError as error:
            return Checked("page", False, asked, str(error))
        return Checked("page", True, "/", f"the page and its {len(files)} files load")

    def words(self) -> Checked:
        """Texts of a few items find these items, more often than not."""
        distinct = list({_shortened(_text(item)): item for item in self._texts}.values())
        chosen = distinct[:: max(1, len(distinct) // _TEXTS_ASKED)][:_TEXTS_ASKED]
        if not chosen:
            return Checked("words", None, "", "there are no texts")
        found, asked = 0, [_shortened(_text(item)) for item in chosen]
        try:
            for item, query in zip(chosen, asked, strict=True):
                hits = self._search(query)
                found += any(_is(hit, item) or _shortened(_text(hit)) == query for hit in hits)
        except _WrongAnswerError as error:
            return Checked("words", False, asked[0], str(error))
        said = f"{found} of {len(chosen)} texts find their own item among the first {_TOP}"
        return Checked("words", 2 * found > len(chosen), "; ".join(asked), said)

    def misspelling(self) -> Checked:
        """A misspelt word is corrected, or finds texts with the word."""
        word = self._word_to_misspell()
        if word is None:
            return Checked("misspelling", None, "", f"no word of {_SHORTEST_MISSPELT} letters or more is in the texts")
        misspelt = word[:2] + word[3:]
        try:
            answer = self._answer(self._client.get("/v1/search", q=misspelt, k=_TOP))
        except _WrongAnswerError as error:
            return Checked("misspelling", False, misspelt, str(error))
        meant = answer.get("did_you_mean")
        if meant and word in str(meant).casefold():
            return Checked("misspelling", True, misspelt, f"did you mean {meant}?")
        if any(word in _text(hit).casefold() for hit in answer["hits"]):
            return Checked("misspelling", True, misspelt, f"results with '{word}': {_names(answer['hits'])}")
        if answer.get("mode") != "hybrid":
            return Checked("misspelling", None, misspelt, f"this index answers in {answer.get('mode')} mode")
        return Checked("misspelling", False, misspelt, f"'{word}' is not suggested; found: {_names(answer['hits'])}")

    def image(self) -> Checked:
        """The image of an item finds this item."""
        item = next((item for item in self._images if item.get("media")), None)
        if item is None:
            return Checked("image", None, "", "there are no images")
        address = f"/v1/media/{quote(item['id'], safe='')}"
        try:
            original = self._client.get(address, size="original")
            image = original if original.status == 200 else _good(self._client.get(address))
            reply = self._client.upload("/v1/search", image.body, query=json.dumps({"k": _TOP}))
            hits = self._answer(reply)["hits"]
        except _WrongAnswerError as error:
            return Checked("image", False, item["id"], str(error))
        passed = any(_is(hit, item) for hit in hits)
        said = "finds its own item" if passed else "does not find its own item"
        return Checked("image", passed, item["id"], f"{said} among the first {_TOP}: {_names(hits)}")

    def item(self) -> Checked:
        """Items similar to one item are found, without the item itself."""
        item = next(iter([*self._images, *self._texts]), None)
        if item is None:
            return Checked("item", False, "", "the index is empty")
        try:
            hits = self._answer(self._client.get(f"/v1/similar/{quote(item['id'], safe='')}", k=_TOP))["hits"]
        except _WrongAnswerError as error:
            return Checked("item", False, item["id"], str(error))
        if not hits:
            return Checked("item", False, item["id"], "nothing is like it")
        if any(hit["id"] == item["id"] for hit in hits):
            return Checked("item", False, item["id"], "the item itself is among the hits")
        return Checked("item", True, item["id"], f"similar items: {_names(hits)}")

    def nothing(self) -> Checked:
        """Gibberish finds nothing that is likely."""
        try:
            reply = self._client.get("/v1/search", q=_GIBBERISH, k=_TOP, min_probability=_LIKELY)
            answer = self._answer(reply)
        except _WrongAnswerError as error:
            return Checked("nothing close", False, _GIBBERISH, str(error))
        if answer.get("nothing_close") or not answer["hits"]:
            return Checked("nothing close", True, _GIBBERISH, "nothing is close enough")
        if answer.get("closest") is None:
            return Checked("nothing close", None, _GIBBERISH, "this index has no probabilities")
        likely = f"{answer['closest']:.0%} likely"
        return Checked("nothing close", False, _GIBBERISH, f"results were found: {_names(answer['hits'])}, {likely}")

    def _listed(self, modality: str) -> list[dict[str, Any]]:
        reply = self._client.get("/v1/items", modality=modality, limit=_LISTED)
        found = (reply.json or {}).get("items", []) if reply.status == 200 else []
        return [item for item in found if modality != "text" or _text(item)]

    def _search(self, query: str) -> Sequence[Mapping[str, Any]]:
        hits: Sequence[Mapping[str, Any]] = self._answer(self._client.get("/v1/search", q=query, k=_TOP))["hits"]
        return hits

    def _answer(self, reply: Reply) -> dict[str, Any]:
        answer = _good(reply).json
        if not isinstance(answer, dict) or "hits" not in answer:
            raise _WrongAnswerError(f"no answer to a search: {reply.text[:200]}")
        return answer

    def _word_to_misspell(self) -> str | None:
        """A frequent long word whose misspelling is no other word of the texts."""
        words: Counter[str] = Counter(
            word for item in self._texts for word in re.findall(r"[^\W\d_]+", _text(item).casefold())
        )
        for word in [word for word, _ in words.most_common()]:
            if len(word) >= _SHORTEST_MISSPELT and word[2] != word[3] and word[:2] + word[3:] not in words:
                return word
        return None


def _good(reply: Reply) -> Reply:
    if reply.status != 200:
        raise _WrongAnswerError(f"status {reply.status} instead of 200 ({reply.text[:200]})")
    return reply


def _text(item: Mapping[str, Any]) -> str:
    return str(item["metadata"].get("text") or "")


def _is(hit: Mapping[str, Any], item: Mapping[str, Any]) -> bool:
    """Whether two entries are of one item."""
    return bool(hit["metadata"].get("item", hit["id"]) == item["metadata"].get("item", item["id"]))


def _names(hits: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(_text(hit).partition("\n")[0][:30] or str(hit["id"]) for hit in hits[:3]) or "nothing"


def _shortened(text: str) -> str:
    """The first line of a text, or as many of its words as fit."""
    line = " ".join(text.strip().partition("\n")[0].split())
    return line if len(line) <= _LONGEST_QUERY else line[:_LONGEST_QUERY].rpartition(" ")[0] or line[:_LONGEST_QUERY]
