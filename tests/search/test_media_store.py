"""The pictures beside an index."""

import pytest

from diptych._core.errors import DataError
from diptych.search.media_store import FILE, MediaStore, StoredImage


@pytest.fixture
def store(tmp_path):
    made = MediaStore(tmp_path / "media", create=True)
    yield made
    made.close()


def test_pictures_are_kept_by_id_and_content(store, tmp_path) -> None:
    one = StoredImage("a", "h1", b"small", 0, "x.png")
    two = StoredImage("a", "h2", b"other", original=b"large")
    store.put([one, two])
    assert store.get("a", "h1") == one and store.get("a", "h2") == two and store.count() == 2
    assert store.thumbnail("a", "h2") == b"other" and store.thumbnail("b", "h2") is None
    reader = MediaStore(tmp_path / "media", writable=False)
    store.drop([("a", "h1"), ("nobody", "h1")])
    assert reader.get("a", "h1") is None and reader.thumbnail("a", "h2") == b"other"
    with pytest.raises(DataError, match="readonly"):
        reader.put([one])
    reader.close()


def test_all_are_put_or_none(store) -> None:
    with pytest.raises(DataError):
        store.put([StoredImage("a", "h", b"x"), StoredImage("b", "h", None)])
    assert store.count() == 0


def test_trouble_is_told_without_a_path(tmp_path) -> None:
    with pytest.raises(DataError) as told:
        MediaStore(tmp_path, writable=False)
    assert str(tmp_path) not in str(told.value)
    (tmp_path / FILE).write_bytes(b"no database at all" * 100)
    damaged = MediaStore(tmp_path, writable=False)
    with pytest.raises(DataError, match="cannot be read") as told:
        damaged.thumbnail("a", "h")
    assert str(tmp_path) not in str(told.value)
    damaged.close()
