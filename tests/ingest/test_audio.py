"""Tables, folders and archives with sounds: recognised by name and content, ingested beside images and texts."""

import csv
import json
import zipfile

import numpy as np
import pytest

pytest.importorskip("soundfile", reason="reading sounds needs the extra 'audio'")

from diptych._core.errors import ConfigError, DataError
from diptych.data import Dataset, media_of
from diptych.features import pipeline_of, read_items
from diptych.ingest import IngestOptions, ingest, understand
from ingest.images import png
from media.sounds import noise, sound_file, tone, wav_header

FEATURES = {"image": "colour-histogram", "audio": "mfcc:13", "text": "bow:20"}


def sound(number: int, kind: str = "WAV") -> bytes:
    return sound_file(tone(200.0 + 40 * number, 0.2) + noise(0.2, level=0.01, seed=number), kind=kind)


@pytest.fixture
def table(tmp_path):
    """Twelve things with an image, a sound and a text; some lack one of them."""
    folder = tmp_path / "raw"
    (folder / "sounds").mkdir(parents=True)
    rows = []
    for number in range(12):
        row = {
            "photo": f"{number}.png",
            "noise": f"sounds/{number}.ogg",
            "description": f"thing number {number} of all",
        }
        (folder / row["photo"]).write_bytes(png(f"thing {number}"))
        (folder / row["noise"]).write_bytes(sound(number, "OGG"))
        rows.append(row | {"category": ["low", "high"][number // 6]})
    rows[3]["photo"], rows[4]["noise"], rows[5]["noise"] = "", "", ""
    with (folder / "things.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return folder / "things.csv"


def made(path, out, **options) -> Dataset:
    return ingest(IngestOptions(path, out, features=FEATURES, **options)).dataset


def test_a_table_with_three_modalities(table, tmp_path) -> None:
    understood = understand(table)
    parts = {use.column: use.part for use in understood.columns}
    assert parts == {"photo": "image", "noise": "audio", "description": "text", "category": "label"}
    assert (understood.images.found, understood.others["audio"].found) == (11, 10)
    assert not understood.warnings
    dataset = made(table, tmp_path / "d")
    items = {name: modality.items for name, modality in dataset.modalities.items()}
    assert items == {"image": 11, "audio": 10, "text": 12}
    part = dataset.everything.having("audio")
    names = dict(zip(dataset.ids, dataset.items.column("media_audio").to_pylist(), strict=True))
    with media_of(dataset) as source:
        files = [source.read(source.locate(names[id])) for id in part.ids]
    rows = pipeline_of(dataset)("audio", read_items("audio", files))
    np.testing.assert_array_equal(np.asarray(part.features("audio")), rows)


def test_workers_and_the_cache_change_nothing(table, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("DIPTYCH_ROW_CACHE_GB", "1")
    monkeypatch.setenv("DIPTYCH_CACHE", str(tmp_path / "cache"))
    first = made(table, tmp_path / "a")
    second = ingest(IngestOptions(table, tmp_path / "b", features=FEATURES))
    assert second.reused["audio"] == 10
    third = ingest(IngestOptions(table, tmp_path / "c", features=FEATURES, reuse=False), workers=2).dataset
    assert first.fingerprint == second.dataset.fingerprint == third.fingerprint


def test_a_column_may_be_named_or_waived(table, tmp_path) -> None:
    assert "audio" not in made(table, tmp_path / "none", columns={"audio": "-"}).modalities
    assert "audio" in made(table, tmp_path / "named", columns={"audio": "noise"}).modalities
    with pytest.raises(ConfigError, match="no column 'sound' for the audio"):
        made(table, tmp_path / "x", columns={"audio": "sound"})


def test_files_of_one_name_are_one_item(tmp_path) -> None:
    """A folder, and the same as an archive: `cat.png`, `cat.wav` and `cat.txt` are one; a sound alone is an item."""
    folder = tmp_path / "zoo"
    for kind in ("loud", "quiet"):
        (folder / kind).mkdir(parents=True)
        for number in range(4):
            (folder / kind / f"beast{number}.png").write_bytes(png(f"{kind}{number}"))
            (folder / kind / f"beast{number}.flac").write_bytes(sound(number, "FLAC"))
            (folder / kind / f"beast{number}.txt").write_text(f"a {kind} beast")
        (folder / kind / "lonely.mp3").write_bytes(sound(9, "MP3"))
        (folder / kind / "recording").write_bytes(sound(8))  # known by its content
        (folder / kind / "other.m4a").write_bytes(b"\0\0\0\x20ftypM4A ")
    understood = understand(folder)
    assert (understood.items, understood.images.found, understood.others["audio"].found) == (12, 8, 12)
    assert set(understood.classes) == {"loud", "quiet"}
    assert sum("is AAC, which is not decoded; convert it to WAV or FLAC" in str(p) for p in understood.problems) == 2
    dataset = made(folder, tmp_path / "d")
    assert {name: modality.items for name, modality in dataset.modalities.items()} == {
        "image": 8,
        "audio": 12,
        "text": 12,
    }
    with zipfile.ZipFile(tmp_path / "zoo.zip", "w") as archive:
        for path in sorted(folder.rglob("*.*")):
            archive.write(path, path.relative_to(folder))
    zipped = made(tmp_path / "zoo.zip", tmp_path / "z")
    assert zipped.modalities["audio"].items == 10


def test_a_folder_of_sounds_alone(tmp_path) -> None:
    folder = tmp_path / "sounds"
    folder.mkdir()
    for number, name in enumerate(("barking dog", "ringing bell", "falling rain", "slamming door")):
        (folder / f"{name.replace(' ', '_')}.wav").write_bytes(sound(number))
    understood = understand(folder)
    assert understood.with_text == 4 and "4 sounds have no text" in str(understood.columns)
    dataset = made(folder, tmp_path / "d", split_shares=None)
    assert set(dataset.modalities) == {"audio", "text"}
    with pytest.raises(DataError, match="is one sound; give the folder it lies in"):
        understand(folder / "barking_dog.wav")


def test_broken_sounds_are_listed_and_the_rest_goes_on(table, tmp_path) -> None:
    folder = table.parent / "sounds"
    (folder / "0.ogg").write_bytes(b"")
    (folder / "1.ogg").write_bytes(sound(1, "OGG")[:-500])
    (folder / "2.ogg").write_bytes(png("wrong"))
    (folder / "6.ogg").write_bytes(wav_header(channels=96, length=192) + b"\0" * 192)
    (folder / "7.ogg").write_bytes(sound_file(noise(3.0), kind="OGG"))
    (folder / "8.ogg").write_bytes(sound(8, "FLAC"))  # another format than its name says is no harm
    report = ingest(IngestOptions(table, tmp_path / "d", features=FEATURES, max_seconds=2)).report
    told = {problem.where: problem.reason for problem in report.problems}
    assert told["sounds/0.ogg"] == "the file is empty"
    assert "cut off" in told["sounds/1.ogg"]
    assert told["sounds/2.ogg"] == "not a sound: it holds an image"
    assert told["sounds/6.ogg"] == "the sound has 96 channels; at most 16 are read"
    assert told["sounds/7.ogg"] == "the sound claims to last 3 seconds; at most 2 seconds are read"
    assert report.with_modality["audio"] == 5 and report.items == 12
    with pytest.raises(DataError, match=r"sounds/0\.ogg: the file is empty; mend it"):
        ingest(IngestOptions(table, tmp_path / "e", features=FEATURES, on_broken="fatal"))


def test_missing_sounds_are_told(table, tmp_path) -> None:
    for path in (table.parent / "sounds").iterdir():
        path.unlink()
    with pytest.raises(DataError, match="none of the 10 sounds is in"):
        made(table, tmp_path / "d", columns={"audio": "noise"})


def test_columns_that_are_merely_called_like_sounds_stay_metadata(tmp_path) -> None:
    rows = [
        {"image": f"{number}.png", "text": f"song number {number}", "track": number, "voice": "alto"}
        for number in range(8)
    ]
    for row in rows:
        (tmp_path / row["image"]).write_bytes(png(row["text"]))
    (tmp_path / "songs.json").write_text(json.dumps(rows))
    parts = {use.column: use.part for use in understand(tmp_path / "songs.json").columns}
    assert parts["track"] == "metadata" and parts["voice"] != "audio"


def test_a_missing_package_is_told_before_the_work(table, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("diptych.features.registry.find_spec", lambda name: None if name == "soundfile" else object())
    with pytest.raises(ConfigError, match=r"diptych\[audio\].* leave sounds out with --audio-column -"):
        ingest(IngestOptions(table, tmp_path / "d", features=FEATURES | {"audio": "logmel+mfcc"}))
