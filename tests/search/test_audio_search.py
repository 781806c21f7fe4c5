"""Three modalities in one index: sounds find words and images and are found by them; any side may be missing."""

import shutil
from io import BytesIO

import pytest
from PIL import Image

pytest.importorskip("soundfile", reason="reading sounds needs the extra 'audio'")

from diptych._core.errors import ConfigError, DataError
from diptych.search import NewItem, QueryPart, Searcher, build_index
from search.loud_things import CLASSES, make, picture, sound


@pytest.fixture(scope="module")
def things(tmp_path_factory):
    folder = tmp_path_factory.mktemp("things")
    build_index(folder / "model", make(folder), folder / "index")
    return folder


@pytest.fixture
def searcher(things):
    with Searcher.open(things / "index") as opened:
        yield opened


def labels(answer) -> list[str]:
    return [hit.metadata["label"] for hit in answer.hits]


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("into", ["image", "audio", "text"])
def test_every_side_finds_every_side(searcher, kind, into) -> None:
    for query in ({"text": CLASSES[kind][2]}, {"image": picture(kind, 77)}, {"audio": sound(kind, 77, "WAV")}):
        answer = searcher.search(**query, into=into, k=5)
        assert labels(answer).count(kind) >= 4, query.keys()
        assert all(hit.modality == into and hit.id == f"{into}:{hit.item}" for hit in answer.hits)


def test_whole_items_are_found_by_a_sound(searcher) -> None:
    answer = searcher.search(audio=sound("dog", 3), k=20)
    assert labels(answer).count("dog") >= 18
    best = next(hit for hit in answer.hits if hit.item == "dog-03")
    assert best.entries == {"image": "image:dog-03", "audio": "audio:dog-03", "text": "text:dog-03"}
    assert best.modality == "image" and best.why.side in ("image", "audio", "text")
    assert best.why.audio == pytest.approx(1, abs=1e-3)
    assert searcher.info()["takes"] == ["audio", "image", "text"]
    assert searcher.info()["media_types"] == {"image": "image", "audio": "audio", "text": "text"}


def test_items_without_a_side_are_found_by_the_others(searcher) -> None:
    found = {hit.item: hit for hit in searcher.search(text="a brown dog that barks", k=60).hits}
    assert set(found["dog-05"].entries) == {"image", "text"}  # it has no sound
    assert set(found["dog-07"].entries) == {"audio", "text"} and found["dog-07"].modality == "audio"  # and no image
    assert found["dog-07"].has_media


def test_parts_are_mixed(searcher) -> None:
    parts = [QueryPart("audio", sound("dog", 50)), QueryPart("text", CLASSES["bird"][2], 2.0)]
    assert labels(searcher.search(parts, into="image", k=4)).count("bird") >= 3
    parts = [QueryPart("audio", sound("dog", 50), 2.0), QueryPart("text", CLASSES["bird"][2], 0.5)]
    assert labels(searcher.search(parts, into="image", k=4)).count("dog") >= 3


def test_sounds_are_kept_and_drawn(searcher, things) -> None:
    data, kind = searcher.original("audio:cow-01")
    assert data == (things / "raw" / "cow-01.ogg").read_bytes() and kind == "audio/ogg"
    with Image.open(BytesIO(searcher.thumbnail("audio:cow-01"))) as image:
        assert image.format == "PNG" and image.size == (256, 96)
    assert "media_audio" not in searcher.get("audio:cow-01").metadata


def test_a_sound_is_added_found_and_removed(things, tmp_path) -> None:
    shutil.copytree(things / "index", tmp_path / "index")
    with Searcher.open(tmp_path / "index", writable=True) as own:
        data = sound("cow", 99, "FLAC")
        own.add([NewItem("audio:new", "audio", data, {"label": "cow"})])
        assert "audio:new" in {hit.id for hit in own.search(audio=data, into="audio", k=20).hits}
        assert own.original("audio:new") == (data, "audio/flac")
        assert own.thumbnail("audio:new").startswith(b"\x89PNG")
        with pytest.raises(DataError, match="the sound of item 'x': not a sound: it holds an image; give a sound"):
            own.add([NewItem("x", "audio", picture("dog", 1))])
        assert own.remove(["audio:new"]) == 1 and own.original("audio:new") is None


def test_what_is_no_sound_is_told(searcher, tmp_path) -> None:
    with pytest.raises(DataError, match="the given bytes: not a sound: it holds text; give a sound"):
        searcher.search(audio=b"hello there")
    with pytest.raises(DataError, match=r"none\.wav cannot be read"):
        searcher.search(audio=tmp_path / "none.wav")
    with pytest.raises(ConfigError, match="of kind 'smell'; choose one of text, image, audio, item"):
        searcher.search([QueryPart("smell", b"x")])
    with pytest.raises(ConfigError, match="no modality 'video'"):
        searcher.search(text="dog", into="video")
