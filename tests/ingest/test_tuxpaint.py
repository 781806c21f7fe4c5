"""The stamps of Tux Paint: an imitation of the folder, and the real one where it is installed."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("soundfile", reason="reading sounds needs the extra 'audio'")

from diptych._core.errors import ConfigError, DataError
from diptych.ingest.tuxpaint import OTHER, read_tuxpaint
from ingest.images import png
from media.sounds import noise, sound_file, tone

INSTALLED = Path("/usr/share/tuxpaint/stamps")
FEATURES = {"image": "colour-histogram", "audio": "logmel:16", "text": "bow:50"}
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"><rect width="20" height="20" fill="red"/></svg>'


def write_stamp(folder: Path, name: str, number: int, *, text: bool = True) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.png").write_bytes(png(f"{folder.name} {number}"))
    (folder / f"{name}.dat").write_text("\n")
    if text:
        lines = [f"A {name}.", f"fr.utf8=Un {name} français.", f"pt_BR.utf8=Um {name}.", "de.utf8="]
        (folder / f"{name}.txt").write_text("\n".join(lines), encoding="utf-8")


@pytest.fixture(scope="module")
def stamps(tmp_path_factory):
    """Two large folders, a small one and one stamp at the top; every third stamp has a sound."""
    root = tmp_path_factory.mktemp("share") / "stamps"
    for top in ("animals/mammals", "vehicles"):
        for number in range(24):
            name = f"{top.rpartition('/')[2].rstrip('s')}{number:02d}"
            write_stamp(root / top, name, number)
            if number % 3 == 0:
                (root / top / f"{name}.ogg").write_bytes(sound_file(tone(200 + 20 * number, 0.2), kind="OGG"))
            (root / top / f"{name}_desc_fr.ogg").write_bytes(sound_file(noise(0.2, seed=number), kind="OGG"))
    for number in range(3):
        write_stamp(root / "medical", f"bandage{number}", number, text=number > 0)
    (root / "medical" / "bandage1_desc.ogg").write_bytes(sound_file(noise(0.2), kind="OGG"))
    (root / "medical" / "bandage2.svg").write_text(SVG)
    (root / "medical" / "bandage2_desc_pt_BR.wav").write_bytes(sound_file(noise(0.2)))
    (root / "medical" / "bandage1_mirror.png").write_bytes(png("mirror"))
    (root / "medical" / "bandage2_ro.ogg").write_bytes(sound_file(noise(0.2), kind="OGG"))
    write_stamp(root, "lonely", 0)
    return root


def items(folder, out="never-written", **options):
    return read_tuxpaint(folder, out, features=FEATURES, **options).gathered.items


def test_every_stamp_is_an_item(stamps) -> None:
    found = items(stamps.parent)
    assert len(found) == 52 and "medical/bandage1_mirror" not in found
    mammal = found["animals/mammals/mammal00"]
    assert mammal.texts == ("A mammal00.",) and mammal.label == "animals"
    assert mammal.files == {"image": "animals/mammals/mammal00.png", "audio": "animals/mammals/mammal00.ogg"}
    assert mammal.metadata == {"stamp": "mammal00", "folder": "animals/mammals"}
    assert Counter(item.label for item in found.values()) == {"animals": 24, "vehicles": 24, OTHER: 4}
    assert found["medical/bandage2"].image == "medical/bandage2.svg"
    assert not found["medical/bandage0"].texts
    assert sum("audio" in item.files for item in found.values()) == 16


@pytest.mark.parametrize(
    ("language", "text", "spoken"),
    [
        ("en", "A bandage2.", None),
        ("fr", "Un bandage2 français.", None),
        ("fr_CA", "Un bandage2 français.", None),
        ("pt_BR", "Um bandage2.", "medical/bandage2_desc_pt_BR.wav"),
        ("de", None, None),
        ("xx", None, None),
    ],
)
def test_languages(stamps, language, text, spoken) -> None:
    found = items(stamps, language=language, sound="spoken")
    assert found["medical/bandage2"].texts == (() if text is None else (text,))
    assert found["medical/bandage2"].files.get("audio") == spoken
    heard = "medical/bandage1_desc.ogg" if language == "en" else None
    assert found["medical/bandage1"].files.get("audio") == heard
    in_french = "vehicles/vehicle05_desc_fr.ogg" if language.startswith("fr") else None
    assert found["vehicles/vehicle05"].files.get("audio") == in_french


def test_texts_and_voices_may_speak_different_languages(stamps) -> None:
    found = items(stamps, sound="spoken", sound_language="fr")
    assert sum("audio" in item.files for item in found.values()) == 48
    assert found["vehicles/vehicle05"].texts == ("A vehicle05.",)
    assert items(stamps, language="ro")["medical/bandage2"].files["audio"] == "medical/bandage2_ro.ogg"


def test_a_dataset_of_three_modalities_comes_out(stamps, tmp_path) -> None:
    first = read_tuxpaint(stamps, tmp_path / "a", features=FEATURES, seed=3).ingest().dataset
    having = {name: modality.items for name, modality in first.modalities.items()}
    assert having == {"image": 52, "audio": 16, "text": 51}
    assert len(first.everything.having("image", "audio", "text")) == 16
    assert first.pipeline_folder is not None and first.source["release"] == "tuxpaint-stamps"
    assert "GNU General Public License" in first.source["attribution"]
    again = read_tuxpaint(stamps, tmp_path / "b", features=FEATURES, seed=3).ingest().dataset
    other = read_tuxpaint(stamps, tmp_path / "c", features=FEATURES, seed=4).ingest().dataset
    assert again.fingerprint == first.fingerprint
    assert (other.splits != first.splits).any()
    counts = Counter(zip(first.items.column("label").to_pylist(), first.splits.tolist(), strict=True))
    assert counts["animals", "train"] == counts["vehicles", "train"] == 17
    assert np.isfinite(np.asarray(first.everything.having("audio").features("audio"))).all()


def test_what_is_wrong_is_told(stamps, tmp_path) -> None:
    with pytest.raises(DataError, match="holds no stamp; install Debian's package tuxpaint-stamps-default"):
        read_tuxpaint(tmp_path, tmp_path / "d")
    with pytest.raises(DataError, match="there is no folder"):
        read_tuxpaint(tmp_path / "none", tmp_path / "d")
    with pytest.raises(ConfigError, match=r"the language is '\.\./x'"):
        read_tuxpaint(stamps, tmp_path / "d", language="../x")
    with pytest.raises(ConfigError, match="the sound is 'loud'"):
        read_tuxpaint(stamps, tmp_path / "d", sound="loud")


@pytest.mark.real_data
@pytest.mark.skipif(not INSTALLED.is_dir(), reason="Debian's package tuxpaint-stamps-default is not installed")
def test_the_real_stamps() -> None:
    found = items(INSTALLED)
    assert len(found) > 900 and len({item.label for item in found.values()}) == 12
    dog = found["animals/mammals/dogs/dog"]
    assert dog.label == "animals" and dog.files["audio"].endswith("dog.ogg") and dog.texts == ("A dog.",)
    assert sum("audio" in item.files for item in found.values()) > 100
    spoken = items(INSTALLED, language="fr", sound="spoken")
    assert sum("audio" in item.files for item in spoken.values()) > 850
    assert sum(bool(item.texts) for item in spoken.values()) > 850
