from pathlib import Path

import pytest

from diptych._core.errors import ConfigError, DataError
from diptych.up import SearchFolder, search_folder, source_name


@pytest.mark.parametrize(
    ("source", "expected"),
    [("things.csv", "things-search"), ("a/photos.tar.gz", "photos-search"), ("shop", "shop-search")],
)
def test_the_default_is_named_for_the_source_and_lies_in_the_working_directory(tmp_path, monkeypatch, source, expected):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop").mkdir()
    assert search_folder(Path(source), None).path == Path(expected)
    assert source_name(Path(source)) == expected.removesuffix("-search")


@pytest.mark.parametrize("written", [".", "../shop"])
def test_a_folder_never_holds_its_own_search(tmp_path, monkeypatch, written):
    (tmp_path / "shop").mkdir()
    monkeypatch.chdir(tmp_path / "shop")
    assert search_folder(Path(written), None).path == tmp_path / "shop-search"
    assert source_name(Path(written)) == "shop"
    with pytest.raises(ConfigError, match="is inside"):
        search_folder(Path(written), Path("made"))


def test_one_process_at_a_time_and_the_others_learn_the_address(tmp_path):
    folder = SearchFolder(tmp_path / "made")
    with folder.claimed() as mine, folder.announced("http://127.0.0.1:1"):
        assert mine
        with SearchFolder(tmp_path / "made").claimed() as other:  # a lock of another open file, as another process has
            assert not other
            assert SearchFolder(tmp_path / "made").address() == "http://127.0.0.1:1"
    with folder.claimed() as mine:
        assert mine and folder.address() is None


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear.txt").write_text("Dear Ann")
    with (
        pytest.raises(DataError, match="is not the folder of a search"),
        SearchFolder(tmp_path / "letters").claimed(),
    ):
        pass
    assert [path.name for path in (tmp_path / "letters").iterdir()] == ["dear.txt"]
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="is a file"), SearchFolder(tmp_path / "file").claimed():
        pass
