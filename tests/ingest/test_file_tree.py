"""Folders and archives of images without a table: what files and folders are called says the rest."""

import json
import tarfile
import zipfile

import pytest

from diptych._core.errors import DataError
from diptych.ingest.file_tree import read_file_tree
from diptych.media import open_source


def write(root, *names, **contents) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {name}")


def read(root, **options):
    with open_source(root) as source:
        return read_file_tree(source, **options)


def facts(tree) -> list[tuple]:
    return [(item.id, item.image, item.texts, item.label) for item in tree.gathered.items.values()]


def test_folders_are_classes_and_texts_join_their_images(tmp_path) -> None:
    write(tmp_path, "cat/1.jpg", "cat/1.txt", "cat/deep/2.PNG", "dog/3.txt", "dog/3b.jpeg")
    tree = read(tmp_path)
    assert sorted(facts(tree), key=lambda fact: fact[0]) == [
        ("cat/1.jpg", "cat/1.jpg", ("text of cat/1.txt",), "cat"),
        ("cat/deep/2.PNG", "cat/deep/2.PNG", ("deep",), "cat"),
        ("dog/3.txt", None, ("text of dog/3.txt",), "dog"),
        ("dog/3b.jpeg", "dog/3b.jpeg", (), "dog"),
    ]
    assert not tree.gathered.problems
    assert [(use.column, use.part) for use in tree.uses] == [
        ("text files", "text"),
        ("folders", "label"),
        ("file names", "text"),
    ]


@pytest.mark.parametrize("kind", ["folder", "zip", "tar.gz"])
def test_archives_are_read_as_folders_are(tmp_path, kind) -> None:
    root = tmp_path / "raw"
    write(root, "cat/1.jpg", "cat/2.jpg", "dog/red-dog.jpg", "dog/2.jpg", "dog/2.jpg.caption", "__MACOSX/cat/1.jpg")
    path = root
    if kind == "zip":
        path = tmp_path / "a.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for file in sorted(root.rglob("*.*")):
                archive.write(file, file.relative_to(root))
    elif kind == "tar.gz":
        path = tmp_path / "a.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            archive.add(root, "wrapper")
    found = {
        (item.image.removeprefix("wrapper/"), item.texts, item.label) for item in read(path).gathered.items.values()
    }
    assert found == {
        ("cat/1.jpg", (), "cat"),
        ("cat/2.jpg", (), "cat"),
        ("dog/red-dog.jpg", ("red dog",), "dog"),
        ("dog/2.jpg", ("text of dog/2.jpg.caption",), "dog"),
    }


def test_folders_named_like_splits_are_splits(tmp_path) -> None:
    write(tmp_path, "data/training/cat/1.jpg", "data/training/dog/2.jpg", "data/test/dog/2.jpg", "data/test/cat/3.jpg")
    items = read(tmp_path).gathered.items.values()
    assert {(item.image.removeprefix("data/"), item.label, item.split) for item in items} == {
        ("training/cat/1.jpg", "cat", "training"),
        ("training/dog/2.jpg", "dog", "training"),
        ("test/cat/3.jpg", "cat", "test"),
        ("test/dog/2.jpg", "dog", "test"),
    }
    write(tmp_path, "data/training/4.jpg", "data/test/5.jpg", "data/other/3.jpg", "data/other/4.jpg")
    assert {item.label for item in read(tmp_path).gathered.items.values()} == {"training", "test", "other"}


def test_folders_of_one_image_each_are_no_classes_but_words(tmp_path) -> None:
    write(tmp_path, "shoes/running/red-01.jpg", "mugs/01.jpg", "lamps/desk/IMG_2.jpg", "2021-05/garden-party.jpg")
    tree = read(tmp_path)
    assert {(item.texts, item.label) for item in tree.gathered.items.values()} == {
        (("shoes running red",), None),
        (("mugs",), None),
        (("lamps desk",), None),
        (("garden party",), None),
    }


def test_months_are_no_classes(tmp_path) -> None:
    write(tmp_path, *(f"2021-0{month}/IMG_{n}.jpg" for month in (1, 2, 3) for n in range(4)))
    tree = read(tmp_path)
    assert {(item.texts, item.label) for item in tree.gathered.items.values()} == {((), None)}
    (use,) = tree.uses
    assert (use.column, use.part) == ("file names", "left out") and "of 12 images say nothing" in use.reason


def test_classes_stand_for_texts_where_there_are_none(tmp_path) -> None:
    write(tmp_path, "hot_air_balloon/1.jpg", "hot_air_balloon/2.jpg", "cat/1.jpg", "cat/2.jpg")
    tree = read(tmp_path)
    assert {(item.texts, item.label) for item in tree.gathered.items.values()} == {
        (("hot air balloon",), "hot_air_balloon"),
        (("cat",), "cat"),
    }
    assert "stand for it" in tree.uses[-1].reason
    assert not any(item.texts for item in read(tmp_path, with_texts=False).gathered.items.values())


def test_json_beside_images_has_fields(tmp_path) -> None:
    write(tmp_path, "1.jpg", "2.jpg", "3.jpg")
    one = {"Title": "Salt &amp; pepper", "description": "<b>two</b> mills", "Kategorie": "kitchen", "price": 3, "id": 7}
    (tmp_path / "1.json").write_text(json.dumps(one))
    (tmp_path / "2.json").write_text(json.dumps({"captions": ["a mug", "a cup"], "price": 4.5, "empty": None}))
    (tmp_path / "3.json").write_text("{")
    tree = read(tmp_path)
    first, second, third = tree.gathered.items.values()
    assert (first.texts, first.label) == (("Salt & pepper", "two mills"), "kitchen")
    assert first.metadata == {"price": 3.0, "id_column": 7}
    assert second.texts == ("a mug", "a cup") and second.metadata["price"] == 4.5
    assert third.texts == ()
    assert [problem.where for problem in tree.gathered.problems] == ["3.json"]


def test_strangers_are_listed(tmp_path) -> None:
    write(tmp_path, "cat/1.jpg", "cat/notes.doc", "dog/1.jpg", "cat/3.jpg", "cat/3.txt", "dog/2.jpg", "loose.jpg")
    write(
        tmp_path,
        ".hidden/x.jpg",
        "cat/.DS_Store",
        "readme.txt",
        "dog/5.HEIC",
        "made/dataset.json",
        "made/items.parquet",
        "made/x.jpg",
    )
    (tmp_path / "cat" / "2.txt").write_text("  ")
    (tmp_path / "cat" / "out.txt").symlink_to(__file__)
    gathered = read(tmp_path).gathered
    assert sorted(gathered.items) == ["cat/1.jpg", "cat/3.jpg", "dog/1.jpg", "dog/2.jpg", "loose.jpg"]
    assert gathered.items["loose.jpg"].label is None
    assert {str(problem) for problem in gathered.problems} == {
        "cat/notes.doc: is neither an image nor a sound nor a text",
        "cat/2.txt: is empty",
        "cat/out.txt: is a link that leads out of the images' root",
        "readme.txt: is a text that belongs to no file",
        "dog/5.HEIC: is HEIC, which is not decoded; convert it to JPEG or PNG",
    }


def test_a_stray_text_is_no_item_where_no_image_has_one(tmp_path) -> None:
    write(tmp_path, "a-red-mug.jpg", "b-blue-cup.jpg", "shopping.txt")
    gathered = read(tmp_path).gathered
    assert [item.texts for item in gathered.items.values()] == [("red mug",), ("blue cup",)]
    assert "belongs to no file" in gathered.problems[0].reason


@pytest.mark.parametrize("names", [(), ("readme.txt",), ("notes.txt",), ("a.heic", "b.heic"), ("x.doc",)])
def test_a_folder_without_images_is_an_error(tmp_path, names) -> None:
    write(tmp_path, *names)
    with pytest.raises(DataError, match=r"holds no image or sound that can be used; it (is empty|holds)"):
        read(tmp_path)


def test_one_folder_is_no_class(tmp_path) -> None:
    write(tmp_path, "cats/one-ear.jpg", "cats/two-tails.jpg")
    gathered = read(tmp_path).gathered
    assert {item.label for item in gathered.items.values()} == {None}
    assert str(gathered.problems[0]) == "cats: all images lie in this one folder, so there are no classes"
