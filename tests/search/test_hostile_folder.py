"""Whatever is written into an index's files, opening and asking it ends in a sentence or works."""

import json
import shutil

import pytest

from diptych._core.errors import DiptychError
from diptych.search import QueryPart, Searcher

FILES = ("searcher.json", "calibration.json", "projection.json", "keys.json")
VALUES = (None, [], {}, "x", 7, -1.5, True, [[]], {"a": {}})


def variants(written):
    """The content in one place replaced, or without one of its parts."""
    yield from VALUES
    for key in list(written) if isinstance(written, dict) else ():
        yield {name: value for name, value in written.items() if name != key}
        yield from ({**written, key: value} for value in VALUES)
        if isinstance(written[key], dict):
            yield from ({**written, key: inner} for inner in _within(written[key]))
        elif isinstance(written[key], list) and written[key]:
            yield {**written, key: written[key][:1]}
            yield {**written, key: [{}]}
            if isinstance(written[key][0], dict):
                yield from ({**written, key: [inner]} for inner in _within(written[key][0]))


def _within(part: dict):
    for key in part:
        yield {name: value for name, value in part.items() if name != key}
        yield from ({**part, key: value} for value in VALUES)


@pytest.mark.parametrize("name", FILES)
def test_a_changed_file_is_told_in_a_sentence(own_index, name, monkeypatch) -> None:
    file = own_index / name
    if name == "keys.json":
        file.write_text('["mine"]')
    written = json.loads(file.read_text())
    model = Searcher.open(own_index).generations.current.model
    monkeypatch.setattr("diptych.search.generation.load_model", lambda folder: model)
    tried = failed = 0
    for content in variants(written):
        file.write_text(json.dumps(content))
        tried += 1
        try:
            with Searcher.open(own_index) as searcher:
                searcher.search([QueryPart("text", "red")], k=3)
                searcher.search([QueryPart("item", "image:red-00")], into="text", k=3)
                searcher.info()
                searcher.projection()
                searcher.suggest("r")
        except DiptychError as error:
            failed += 1
            assert str(error).endswith(".") and len(str(error)) < 600
    assert tried > 5 and failed >= (0 if name == "keys.json" else 5)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"format": 1}'])
@pytest.mark.parametrize("name", FILES)
def test_what_is_no_json_is_told(own_index, name, content) -> None:
    (own_index / name).write_bytes(content)
    try:
        with Searcher.open(own_index) as searcher:
            searcher.search([QueryPart("text", "red")], k=3)
            searcher.projection()
    except DiptychError as error:
        assert name in str(error)
    else:
        assert name == "keys.json" and content.startswith(b'{"')


def test_no_error_says_where_the_index_lies(own_index, monkeypatch, tmp_path) -> None:
    """Also where its path holds blanks, or was given relative to the folder one is in."""
    place = tmp_path / "my own" / "index of mine"
    place.parent.mkdir()
    shutil.copytree(own_index, place)
    monkeypatch.chdir(tmp_path)
    for given in (place, place.relative_to(tmp_path)):
        with Searcher.open(given) as searcher:
            (place / "projection.json").write_text("{}")
            with pytest.raises(DiptychError) as told:
                searcher.projection()
            assert "my own" not in str(told.value) and "the index/projection.json is damaged" in str(told.value)
