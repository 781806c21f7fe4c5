"""A folder of hostile files: each gets its reason, and nothing else is harmed."""

import io
import json
import re
import struct
import tarfile
import zlib

import numpy as np
import pytest
from PIL import Image

from diptych._core.errors import DataError
from diptych.ingest import IngestOptions, ingest
from ingest.images import encoded, noise, png


def bomb(width=60_000, height=60_000) -> bytes:
    """A whole, valid PNG of 3.6 thousand million pixels in a few kilobytes' claim."""

    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0))
    rows = zlib.compress(b"\0" * 1_000_000, 9)
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


HOSTILE = {
    "truncated.jpg": (encoded(noise("t", 64), "JPEG")[:1500], "cannot be decoded: .*truncated"),
    "bomb.png": (bomb(), "claims .*pixels"),
    "empty.jpg": (b"", "the file is empty"),
    "text.jpg": (b"I am not a picture, I am a text", "not an image: it holds text"),
    "postscript.jpg": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 1 1\n", "not an image"),
    "large.png": (encoded(noise("big", 96)), "bytes; at most"),
}
ESCAPES = {
    "../../x": "leads out of the images' root",
    "/etc/passwd": "is an absolute path",
    "link.png": "is a link that leads out|is a link or a special file",
    "missing.png": "is not (there|in the archive)",
}
GOOD = [f"good{number}.png" for number in range(8)]


@pytest.fixture
def hostile(tmp_path):
    """The folder, and a CSV that names all of it, with a broken quote and a line of another encoding."""
    root = tmp_path / "hostile"
    root.mkdir()
    (tmp_path / "secret.png").write_bytes(png("secret"))
    for name in GOOD:
        (root / name).write_bytes(png(name))
    for name, (data, _) in HOSTILE.items():
        (root / name).write_bytes(data)
    (root / "link.png").symlink_to(tmp_path / "secret.png")
    lines = ["image,text,split"]
    lines += [f"{name},a good {name[:5]} thing,{'train' if number < 6 else 'test'}" for number, name in enumerate(GOOD)]
    lines += [f"{name},words of a hostile one,train" for name in (*HOSTILE, *ESCAPES)]
    lines += ['broken.png,"never closed,train', "text.jpg,the same once more,train"]
    content = "\n".join(lines).encode() + b"\n" + "good0.png,un hôtel,train\n".encode("cp1252") + b"empty.jpg,,train\n"
    (root / "pairs.csv").write_bytes(content)
    return root


def options(hostile, **changes):
    features = {"image": "colour-moments", "text": "bow:10"}
    changes = {"images": None, "max_bytes": 20_000} | changes
    return IngestOptions(hostile / "pairs.csv", hostile.parent / "made", features=features, **changes)


def into_tar(hostile):
    path = hostile.parent / "hostile.tar"
    with tarfile.open(path, "w") as archive:
        for file in sorted(hostile.glob("*.[pj]*g")):
            archive.add(file, file.name)
        member = tarfile.TarInfo("../../x")
        member.size = len(png("x"))
        archive.addfile(member, io.BytesIO(png("x")))
    return path


@pytest.mark.parametrize("packed", [False, True], ids=["folder", "tar"])
def test_each_gets_its_reason_and_nothing_else_is_harmed(hostile, packed) -> None:
    made = ingest(options(hostile, images=into_tar(hostile) if packed else None))
    broken = {problem.where: problem.reason for problem in made.report.problems if problem.kind == "picture"}
    expected = {name: reason for name, (_, reason) in HOSTILE.items()} | ESCAPES
    assert broken.keys() == expected.keys()
    for name, reason in expected.items():
        assert re.search(reason, broken[name]), (name, broken[name])
    rows = [str(problem) for problem in made.report.problems if problem.kind == "row"]
    assert rows == ["pairs.csv, line 20: has a quote that is not closed"]
    (note,) = [p for p in made.report.problems if p.kind == "note" and p.where.startswith("pairs.csv")]
    assert note.where == "pairs.csv, line 22" and "Windows-1252" in note.reason

    dataset = made.dataset
    has_image = dict(zip(dataset.ids.tolist(), dataset.has("image").tolist(), strict=True))
    assert {name for name, has in has_image.items() if has} == set(GOOD)
    assert {name for name, has in has_image.items() if not has} == expected.keys()
    assert dataset.has("text").all()
    texts = dict(zip(dataset.ids.tolist(), dataset.items.column("text").to_pylist(), strict=True))
    assert texts["good0.png"] == "a good good0 thing\nun hôtel"
    assert texts["text.jpg"] == "words of a hostile one\nthe same once more"
    media = dict(zip(dataset.ids.tolist(), dataset.items.column("media").to_pylist(), strict=True))
    assert media["good3.png"] == "good3.png" and media["bomb.png"] is None

    written = json.loads((dataset.path / "ingest-report.json").read_text())
    assert written["broken_pictures"] == 10 and written["skipped_rows"] == 1
    assert {p["where"]: p["reason"] for p in written["problems"] if p["kind"] == "picture"} == broken


def test_good_rows_are_as_if_nothing_had_been_broken(hostile) -> None:
    whole = ingest(options(hostile)).dataset.everything.having("image").features("image")
    lines = (hostile / "pairs.csv").read_bytes().splitlines()
    (hostile / "pairs.csv").write_bytes(b"\n".join(lines[: 1 + len(GOOD)]))
    alone = ingest(options(hostile, overwrite=True)).dataset
    np.testing.assert_array_equal(whole, alone.columns["image"].values)


def test_an_item_of_which_nothing_is_left_is_left_out(hostile) -> None:
    (hostile / "pairs.csv").write_text("image,text,label\ngood1.png,fine,a\nempty.jpg,,b\ngood2.png,too,a\n")
    made = ingest(options(hostile))
    assert made.dataset.ids.tolist() == ["good1.png", "good2.png"]
    assert made.dataset.classes == ("a",)
    assert [str(p) for p in made.report.problems if p.kind == "row"] == [
        "pairs.csv, line 3: has neither an image nor a text that can be used, and is left out"
    ]


@pytest.mark.parametrize("name", ["truncated.jpg", "../../x"])
def test_a_broken_image_can_be_fatal(hostile, name) -> None:
    (hostile / "pairs.csv").write_text(f"image,text\ngood1.png,fine\n{name},broken\ngood2.png,too\n")
    with pytest.raises(DataError, match=r"(truncated.jpg|\.\./\.\./x): .*; mend it, or pass --on-broken skip"):
        ingest(options(hostile, on_broken="fatal"))
    assert not (hostile.parent / "made").exists()
    assert ingest(options(hostile)).report.count("picture") == 1


def test_nothing_usable_at_all_is_an_error(hostile) -> None:
    (hostile / "pairs.csv").write_text("image\nempty.jpg\ntext.jpg\n")
    with pytest.raises(DataError, match=r"no item has a file .* the first problem: empty.jpg: the file is empty"):
        ingest(options(hostile, columns={"text": "-"}))


def test_a_strange_image_that_a_feature_cannot_bear_is_broken_too(hostile, monkeypatch) -> None:
    from diptych.features.image.colour import ColourMoments

    describe = ColourMoments.describe

    def touchy(self, image):
        if image.shape[0] == 7:
            raise ValueError("seven is too few")
        row = describe(self, image)
        return row * np.nan if image.shape[0] == 9 else row

    monkeypatch.setattr(ColourMoments, "describe", touchy)
    (hostile / "seven.png").write_bytes(encoded(Image.new("RGB", (9, 7))))
    (hostile / "nine.png").write_bytes(encoded(Image.new("RGB", (7, 9))))
    (hostile / "pairs.csv").write_text("image,text\ngood1.png,one\nseven.png,two\nnine.png,three\ngood2.png,four\n")
    made = ingest(options(hostile))
    assert [str(problem) for problem in made.report.problems] == [
        "seven.png: cannot be described (ValueError: seven is too few)",
        "nine.png: its features hold a value that is not finite",
    ]
    assert made.dataset.has("image").tolist() == [True, False, False, True]


def test_drawings_are_images_and_what_is_not_decoded_says_why(hostile) -> None:
    (hostile / "icon.svg").write_text(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9'><rect width='5' height='5'/></svg>"
    )
    (hostile / "bad.svg").write_text(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9'><image href='/etc/x.png'/></svg>"
    )
    (hostile / "phone.heic").write_bytes(b"\0\0\0\x18ftypheic\0\0\0\0")
    lines = [f"{name},some words" for name in ("icon.svg", "bad.svg", "phone.heic", *GOOD)]
    (hostile / "pairs.csv").write_text("\n".join(["image,text", *lines]))
    made = ingest(options(hostile))
    assert made.report.with_modality == {"image": 1 + len(GOOD), "text": 3 + len(GOOD)}
    reasons = {problem.where: problem.reason for problem in made.report.problems}
    assert "refers to something outside it" in reasons["bad.svg"]
    assert "is HEIC, which is not decoded; convert it to JPEG or PNG" in reasons["phone.heic"]
