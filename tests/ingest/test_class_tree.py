"""A folder for each class."""

import pytest

from diptych.errors import DataError
from diptych.ingest.class_tree import read_class_tree


def write(root, *names) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {name}")


def test_folders_are_classes_and_texts_join_their_pictures(tmp_path) -> None:
    write(tmp_path, "cat/1.jpg", "cat/1.txt", "cat/deep/2.PNG", "dog/3.txt", "dog/3b.jpeg")
    gathered = read_class_tree(tmp_path)
    assert [(item.id, item.picture, item.texts, item.label) for item in gathered.items.values()] == [
        ("cat/1.jpg", "cat/1.jpg", ("text of cat/1.txt",), "cat"),
        ("cat/deep/2.PNG", "cat/deep/2.PNG", (), "cat"),
        ("dog/3.txt", None, ("text of dog/3.txt",), "dog"),
        ("dog/3b.jpeg", "dog/3b.jpeg", (), "dog"),
    ]
    assert not gathered.problems


def test_folders_named_like_splits_are_splits(tmp_path) -> None:
    write(tmp_path, "training/cat/1.jpg", "test/dog/2.jpg")
    items = read_class_tree(tmp_path).items.values()
    assert {(item.id, item.label, item.split) for item in items} == {
        ("training/cat/1.jpg", "cat", "training"),
        ("test/dog/2.jpg", "dog", "test"),
    }
    write(tmp_path, "other/3.jpg")
    assert {item.label for item in read_class_tree(tmp_path).items.values()} == {"training", "test", "other"}


def test_strangers_are_listed(tmp_path) -> None:
    write(tmp_path, "cat/1.jpg", "cat/notes.doc", "loose.jpg", ".hidden/x.jpg", "cat/.DS_Store")
    (tmp_path / "cat" / "2.txt").write_text("  ")
    (tmp_path / "cat" / "out.txt").symlink_to(__file__)
    gathered = read_class_tree(tmp_path / "")
    assert list(gathered.items) == ["cat/1.jpg"]
    assert {str(problem) for problem in gathered.problems} == {
        "cat/notes.doc: is neither a picture nor a text",
        "loose.jpg: lies outside the classes' folders",
        "cat/2.txt: is empty",
        "cat/out.txt: is a link that leads out of the folder",
    }


def test_no_folder_is_no_tree(tmp_path) -> None:
    with pytest.raises(DataError, match="holds no folder"):
        read_class_tree(tmp_path)
