"""Folders, tars and zips: found by name, read without unpacking, and never outside."""

import io
import tarfile
import zipfile

import pytest

from diptych._core.errors import DataError
from diptych.media import RefusedNameError, hash_places, open_source

CONTENT = {"a.jpg": b"first", "deep/b.jpg": b"second one", "deep/c.jpg": b""}


def write_folder(path):
    for name, data in CONTENT.items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return path


def add(archive, name, data=b"", **facts) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    for key, value in facts.items():
        setattr(member, key, value)
    archive.addfile(member, io.BytesIO(data))


def write_tar(path, mode="w"):
    with tarfile.open(path, mode) as archive:
        for name, data in CONTENT.items():
            add(archive, f"./{name}", data)
        add(archive, "../../x", b"escaped")
        add(archive, "/etc/passwd", b"escaped")
        add(archive, "link.jpg", type=tarfile.SYMTYPE, linkname="/etc/passwd")
    return path


def write_zip(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in CONTENT.items():
            archive.writestr(name, data)
        archive.writestr("../../x", b"escaped")
    return path


MAKERS = {
    "folder": lambda path: write_folder(path / "images"),
    "tar": lambda path: write_tar(path / "p.tar"),
    "tar.gz": lambda path: write_tar(path / "p.tar.gz", "w:gz"),
    "tar.bz2": lambda path: write_tar(path / "p.tbz", "w:bz2"),
    "tar.xz": lambda path: write_tar(path / "p.tar.xz", "w:xz"),
    "zip": lambda path: write_zip(path / "p.zip"),
}


@pytest.fixture(params=MAKERS)
def source(request, tmp_path):
    with open_source(MAKERS[request.param](tmp_path)) as opened:
        yield opened


def test_files_are_read_in_any_order(source) -> None:
    for name in (*reversed(CONTENT), *CONTENT):
        place = source.locate(name)
        assert (place.name, place.size) == (name, len(CONTENT[name]))
        assert source.read(place) == CONTENT[name]
    assert source.locate("./deep//b.jpg").name == "deep/b.jpg"
    assert source.locate("deep\\b.jpg").name == "deep/b.jpg"
    places = [source.locate(name) for name in reversed(CONTENT)]
    assert sorted(p.name for p in source.in_order(places)) == sorted(CONTENT)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../x", "leads out of"),
        ("../../x", "leads out of"),
        ("deep/../../x", "leads out of"),
        ("..\\..\\x", "leads out of"),
        ("/etc/passwd", "absolute path"),
        ("C:\\x.jpg", "absolute path"),
        ("C:x.jpg", "absolute path"),
        ("gone.jpg", "is not (there|in the archive)"),
        ("deep", "is not (a file|in the archive)"),
        (".", "no name of a file"),
        ("a\0b", "no name of a file"),
        ("x" * 5000, "cannot be read|not in the archive"),
    ],
)
def test_no_name_leads_out(source, name, reason) -> None:
    with pytest.raises(RefusedNameError, match=reason):
        source.locate(name)


def test_entries_that_lead_out_are_told(tmp_path) -> None:
    with open_source(write_tar(tmp_path / "p.tar")) as source:
        assert dict(source.refused()) == {
            "../../x": "leads out of the images' root",
            "/etc/passwd": "is an absolute path; only paths below the images' root are read",
            "link.jpg": "is a link or a special file in the archive",
        }
        with pytest.raises(RefusedNameError, match="is a link or a special file"):
            source.locate("link.jpg")


def test_links_may_stay_inside_and_not_leave(tmp_path) -> None:
    root = write_folder(tmp_path / "images")
    (tmp_path / "secret.jpg").write_bytes(b"secret")
    (root / "inside.jpg").symlink_to(root / "a.jpg")
    (root / "outside.jpg").symlink_to(tmp_path / "secret.jpg")
    (root / "up").symlink_to(tmp_path)
    (root / "loop.jpg").symlink_to(root / "loop.jpg")
    with open_source(root) as source:
        assert source.read(source.locate("inside.jpg")) == b"first"
        for name in ("outside.jpg", "up/secret.jpg"):
            with pytest.raises(RefusedNameError, match="a link that leads out"):
                source.locate(name)
        with pytest.raises(RefusedNameError, match="cannot be read"):
            source.locate("loop.jpg")
        place = source.locate("a.jpg")
        (root / "a.jpg").unlink()
        (root / "a.jpg").symlink_to(tmp_path / "secret.jpg")
        with pytest.raises(OSError, match="leads out"):
            source.read(place)


def test_the_last_of_two_members_counts_as_when_unpacking(tmp_path) -> None:
    with tarfile.open(tmp_path / "p.tar", "w") as archive:
        add(archive, "a.jpg", b"old")
        add(archive, "a.jpg", b"newer")
    with open_source(tmp_path / "p.tar") as source:
        assert source.read(source.locate("a.jpg")) == b"newer"


def test_a_cut_tar_gives_what_it_has(tmp_path) -> None:
    with tarfile.open(tmp_path / "p.tar", "w") as archive:
        add(archive, "a.jpg", b"x" * 1000)
        add(archive, "b.jpg", b"y" * 5000)
    data = (tmp_path / "p.tar").read_bytes()
    (tmp_path / "p.tar").write_bytes(data[:3000])
    with open_source(tmp_path / "p.tar") as source:
        assert source.read(source.locate("a.jpg")) == b"x" * 1000
        try:
            place = source.locate("b.jpg")
        except RefusedNameError:
            return
        with pytest.raises(OSError, match="ends before"):
            source.read(place)


def test_a_damaged_zip_member_is_an_error_of_its_own(tmp_path) -> None:
    with zipfile.ZipFile(tmp_path / "p.zip", "w") as archive:
        archive.writestr("a.jpg", b"x" * 100)
        archive.writestr("b.jpg", b"fine")
    data = bytearray((tmp_path / "p.zip").read_bytes())
    data[60] ^= 255
    (tmp_path / "p.zip").write_bytes(bytes(data))
    with open_source(tmp_path / "p.zip") as source:
        with pytest.raises(OSError, match="damaged"):
            source.read(source.locate("a.jpg"))
        assert source.read(source.locate("b.jpg")) == b"fine"


def test_changed_files_change_the_hash(tmp_path) -> None:
    root = write_folder(tmp_path / "images")
    with open_source(root) as source:
        before = hash_places([source.locate(name) for name in CONTENT])
        assert hash_places([source.locate(name) for name in CONTENT]) == before
        (root / "a.jpg").write_bytes(b"other content")
        assert hash_places([source.locate(name) for name in CONTENT]) != before


def test_what_is_no_source_is_refused(tmp_path) -> None:
    with pytest.raises(DataError, match="there is no"):
        open_source(tmp_path / "gone")
    (tmp_path / "x.rar").write_text("hello")
    with pytest.raises(DataError, match="neither a folder nor a tar nor a zip"):
        open_source(tmp_path / "x.rar")
