"""Images are found by whatever a table calls them, and never outside the source."""

import zipfile

import pytest

from diptych.ingest.file_finder import FileFinder, OnTheWebError
from diptych.media import RefusedNameError, open_source

FILES = ("a.jpg", "deep/b.PNG", "deep/c d.webp", "other/same.jpg", "deep/same.jpg", "deep/icon.svg", "notes.txt")


@pytest.fixture(params=["folder", "zip"])
def finder(request, tmp_path):
    root = tmp_path / "images"
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (tmp_path / "secret.jpg").write_text("secret")
    path = root
    if request.param == "zip":
        path = tmp_path / "p.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for name in FILES:
                archive.write(root / name, name)
    with open_source(path) as source:
        yield FileFinder(source)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("a.jpg", "a.jpg"),
        ("A.JPG", "a.jpg"),
        ("a", "a.jpg"),
        ("b.png", "deep/b.PNG"),
        ("DEEP\\b.png", "deep/b.PNG"),
        ("elsewhere/b", "deep/b.PNG"),
        ("deep/same.jpg", "deep/same.jpg"),
        ("Deep/Same", "deep/same.jpg"),
        ("x/y/deep/SAME.jpg", "deep/same.jpg"),
        ("https://x.org/deep/same", "deep/same.jpg"),
        ("x/same.jpg", None),
        ("icon", "deep/icon.svg"),
        ("https://x.org/img/c%20d.webp?size=2#top", "deep/c d.webp"),
        ("https://x.org/a", "a.jpg"),
        ("file:///home/me/a.jpg", "a.jpg"),
        ("/home/me/pictures/b.PNG", "deep/b.PNG"),
        ("C:\\Users\\me\\a.jpg", "a.jpg"),
    ],
)
def test_names_of_every_kind(finder, written, name) -> None:
    if name is None:
        with pytest.raises(RefusedNameError, match="could be any of 2 files"):
            finder.find(written)
    else:
        assert finder.find(written).name == name


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("gone.jpg", "is not (there|in the archive)"),
        ("notes", "is not (there|in the archive)"),
        ("same.jpg", "could be any of 2 files, such as deep/same.jpg and other/same.jpg"),
        ("../secret.jpg", "leads out of"),
        ("deep/../../secret", "leads out of"),
        ("/etc/passwd", "is an absolute path"),
        ("file:///etc/passwd", "is not (there|in the archive)"),
        ("https://x.org/../../secret.jpg", "is an address on the web; download it first"),
        ("https://x.org/same.jpg", "is an address on the web"),
        ("a\0b", "no name of a file"),
        ("", "no name of a file"),
    ],
)
def test_what_is_not_there_has_its_reason(finder, written, reason) -> None:
    with pytest.raises(RefusedNameError, match=reason):
        finder.find(written)


def test_addresses_are_told_apart(finder) -> None:
    with pytest.raises(OnTheWebError):
        finder.find("http://x.org/gone.jpg")
    assert finder.share_found([["a"], ["gone"], ["gone", "b"], []]) == 0.5


def test_paths_start_at_the_table(tmp_path) -> None:
    for name in ("data/images/1.jpg", "images/1.jpg"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    with open_source(tmp_path) as source:
        assert FileFinder(source, "data").find("images/1.jpg").name == "data/images/1.jpg"
        assert FileFinder(source).find("images/1.jpg").name == "images/1.jpg"
        assert FileFinder(source).find(f"{tmp_path}/data/images/1.jpg").name == "data/images/1.jpg"
