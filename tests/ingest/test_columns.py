"""Columns are guessed by the usual names, and as the user says."""

import pytest

from diptych.errors import ConfigError, DataError
from diptych.ingest.columns import Columns, choose_columns


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["image", "captions", "label", "split"], Columns("image", "captions", "label", "split")),
        (["Filename", "Caption", "Class"], Columns("Filename", "Caption", "Class")),
        (["id", "file path", "description"], Columns("file path", "description", id="id")),
        (["path", "image", "text", "caption"], Columns("image", "text")),
        (["width", "file-name", "sentence", "category", "set"], Columns("file-name", "sentence", "category", "set")),
    ],
)
def test_usual_names_are_known(columns, expected) -> None:
    assert choose_columns(columns, {}, "t.csv") == expected


def test_named_columns_win_and_are_not_guessed_again() -> None:
    chosen = choose_columns(["image", "caption", "title"], {"text": "title", "label": "caption"}, "t.csv")
    assert chosen == Columns("image", "title", "caption")
    assert choose_columns(["image", "label"], {"text": "-", "label": "-"}, "t.csv") == Columns("image")


def test_what_is_not_found_is_asked_for() -> None:
    with pytest.raises(DataError, match=r"no column looks like the text .*foto, label.*--text-column -"):
        choose_columns(["foto", "label"], {"image": "foto"}, "t.csv")
    with pytest.raises(DataError, match="no column looks like the image"):
        choose_columns(["text"], {}, "t.csv")
    with pytest.raises(ConfigError, match=r"t.csv has no column 'pic' for the image; it has image, text"):
        choose_columns(["image", "text"], {"image": "pic"}, "t.csv")
    with pytest.raises(ConfigError, match="items need a picture or a text"):
        choose_columns(["a"], {"image": "-", "text": "-"}, "t.csv")
