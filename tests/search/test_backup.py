"""An index in one file: what is restored answers as before, and what is damaged is refused."""

import io
import json
import shutil
import sqlite3
import tarfile
import threading
import time
from pathlib import Path

import pytest

from diptych._core.errors import ConfigError, DataError, DiptychError
from diptych.index import ItemLimits
from diptych.search import NewItem, QueryPart, Searcher, backup_index, restore_backup, verify_index
from search.gallery import png


def answers(folder) -> list:
    with Searcher.open(folder) as opened:
        asked = [QueryPart("text", "a blue wall")], [QueryPart("image", png("red", "mine"))]
        found = [opened.search(parts, k=5).hits for parts in asked]
        return [(hit.id, hit.score, hit.probability) for hits in found for hit in hits]


def members(file) -> dict[str, bytes]:
    with tarfile.open(file) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}


def rewritten(file, target, content: dict[str, bytes]):
    """The same archive with other content under the same head."""
    with tarfile.open(target, "w") as archive:
        for name, data in content.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return target


@pytest.fixture
def backup(own_index, tmp_path):
    return backup_index(own_index, tmp_path / "kept.tar")


def test_what_is_restored_answers_as_before(own_index, backup, tmp_path) -> None:
    restore_backup(backup, tmp_path / "again")
    assert answers(tmp_path / "again") == answers(own_index)
    assert verify_index(tmp_path / "again") == []
    with Searcher.open(own_index) as one, Searcher.open(tmp_path / "again") as two:
        assert one.info() == two.info()
        id = one.search([QueryPart("text", "red")], into="image", k=1).hits[0].id
        assert one.thumbnail(id) == two.thumbnail(id) is not None


def test_a_backup_holds_what_was_there_at_its_moment(own_index, tmp_path) -> None:
    with Searcher.open(own_index, writable=True) as opened:
        opened.add([NewItem("text:new", "text", "a blue wall of stone", {})])
        file = backup_index(own_index, tmp_path / "kept.tar")
        opened.remove(["text:new"])
    restore_backup(file, tmp_path / "again")
    with Searcher.open(tmp_path / "again", writable=True) as restored:
        assert restored.get("text:new") is not None
        restored.remove(["text:new"])
        assert restored.get("text:new") is None


def test_nothing_is_overwritten_unasked(own_index, backup, tmp_path) -> None:
    with pytest.raises(DataError, match=r"kept.tar already exists"):
        backup_index(own_index, backup)
    with pytest.raises(DataError, match="already exists; choose another folder or pass --overwrite"):
        restore_backup(backup, own_index)
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.txt").write_text("mine")
    with pytest.raises(DataError, match="is not an index, so it is not overwritten"):
        restore_backup(backup, tmp_path / "precious", overwrite=True)
    restore_backup(backup, own_index, overwrite=True)
    assert verify_index(own_index) == []


@pytest.mark.parametrize("name", ["engine/vectors", "engine/texts", "media/media.sqlite", "searcher.json"])
def test_a_damaged_member_is_refused_and_leaves_nothing(name, backup, tmp_path) -> None:
    content = members(backup)
    content[name] = content[name][:-1] + bytes([content[name][-1] ^ 1])
    with pytest.raises(DataError, match=rf"damaged: '{name}' is not what was written"):
        restore_backup(rewritten(backup, tmp_path / "bad.tar", content), tmp_path / "again")
    del content[name]
    with pytest.raises(DataError, match=rf"damaged: '{name}' is missing"):
        restore_backup(rewritten(backup, tmp_path / "short.tar", content), tmp_path / "again")
    assert not (tmp_path / "again").exists()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith((".again", "tmp"))]


@pytest.mark.parametrize("name", ["../outside.txt", "/tmp/outside.txt", "model/../../outside.txt"])
def test_a_member_that_leads_elsewhere_is_refused(name, backup, tmp_path) -> None:
    content = members(backup) | {name: b"x"}
    head = json.loads(content["backup.json"])
    head["files"][name] = [1, "00"]
    content["backup.json"] = json.dumps(head).encode()
    with pytest.raises(DataError, match="plain files only"):
        restore_backup(rewritten(backup, tmp_path / "evil.tar", content), tmp_path / "again")
    assert not (tmp_path.parent / "outside.txt").exists() and not Path("/tmp/outside.txt").exists()


def test_a_link_is_refused(backup, tmp_path) -> None:
    shutil.copyfile(backup, tmp_path / "evil.tar")
    with tarfile.open(tmp_path / "evil.tar", "a") as archive:
        link = tarfile.TarInfo("model/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    with pytest.raises(DataError, match="plain files only"):
        restore_backup(tmp_path / "evil.tar", tmp_path / "again")


@pytest.mark.parametrize("content", [b"", b"not a tar at all" * 100])
def test_other_files_are_no_backups(content, tmp_path) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(DataError, match="is not a backup"):
        restore_backup(tmp_path / "file", tmp_path / "again")
    with pytest.raises(DataError, match="cannot be read"):
        restore_backup(tmp_path / "absent", tmp_path / "again")


def test_an_index_on_a_server_is_left_to_its_own_tools(own_index, tmp_path) -> None:
    file = own_index / "searcher.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"engine": "pgvector", "place": "fields", "url": "x"}))
    with pytest.raises(ConfigError, match=r"the vectors of .* are in pgvector; back it up with the tools"):
        backup_index(own_index, tmp_path / "kept.tar")


def test_damage_is_named_by_the_part_it_is_in(own_index) -> None:
    assert verify_index(own_index) == []
    weights = own_index / "model" / "weights.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    (own_index / "calibration.json").write_text("{")
    with sqlite3.connect(own_index / "index.sqlite") as database:
        database.execute("UPDATE items SET metadata = '{}' WHERE row = (SELECT min(row) FROM items)")
    database.close()
    problems = verify_index(own_index)
    assert {problem.partition(":")[0] for problem in problems} == {"the vectors", "the model", "the probabilities"}


def test_backups_under_continuous_writes_hold_all_that_was_acknowledged(own, own_index, tmp_path) -> None:
    stop, acknowledged = threading.Event(), []

    def write() -> None:
        number = 0
        while not stop.is_set():
            kind, value = ("text", "a red wall") if number % 2 else ("image", png("red", f"n{number}"))
            own.add([NewItem(f"new-{number:04d}", kind, value, {"number": number})])
            acknowledged.append(number)
            number += 1

    writing = threading.Thread(target=write)
    writing.start()
    try:
        moments = []
        for number in range(3):
            wanted = len(acknowledged) + 3
            while len(acknowledged) < wanted and writing.is_alive():
                time.sleep(0.01)
            before = len(acknowledged)
            moments.append((backup_index(own_index, tmp_path / f"{number}.tar"), before, len(acknowledged)))
    finally:
        stop.set()
        writing.join()
    assert moments[-1][1] > 0
    for number, (file, before, after) in enumerate(moments):
        restore_backup(file, tmp_path / f"restored-{number}")
        with Searcher.open(tmp_path / f"restored-{number}", writable=True) as restored:
            found = [hit.id for hit in restored.list(where="id like 'new-%'", limit=1_000)]
            assert found == [f"new-{place:04d}" for place in range(len(found))]
            assert before <= len(found) <= after + 1, "all that was acknowledged, and at most one that was on its way"
            images = [id for place, id in enumerate(found) if place % 2 == 0]
            assert all(restored.thumbnail(id) and restored.original(id)[1] == "image/png" for id in images)
            restored.add([NewItem("after", "text", "a red wall", {})])


def test_whoever_has_the_index_open_follows_what_is_restored(own, own_index, tmp_path) -> None:
    own.add([NewItem("kept", "text", "a red wall", {"fresh": 1})])
    backup_index(own_index, tmp_path / "backup.tar")
    own.add([NewItem("later", "text", "a red wall", {})])
    restore_backup(tmp_path / "backup.tar", own_index, overwrite=True)
    assert own.get("kept") is not None and own.get("later") is None
    own.add([NewItem("new", "text", "a red wall", {})])
    assert own.search([QueryPart("text", "red")], where="fresh = 1").hits[0].id == "kept"
    with Searcher.open(own_index) as again:
        assert again.get("new") is not None and again.get("later") is None


def test_an_operators_limits_hold(own_index) -> None:
    with Searcher.open(own_index) as searcher:
        count = searcher.count()
    with Searcher.open(own_index, writable=True, limits=ItemLimits(items=count + 1), time_limit_s=5) as searcher:
        assert searcher.add([NewItem("one", "text", "a red wall", {})]) == 1
        with pytest.raises(DiptychError, match=f"{count + 1:,}"):
            searcher.add([NewItem("two", "text", "a red wall", {})])
        assert searcher.get("two") is None and searcher.add([NewItem("one", "text", "red", {})], replace=True) == 1
