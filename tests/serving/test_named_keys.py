"""Several keys by name and role, from a file that may change while the server runs; and what is written of changes."""

import json
import os
import stat
import time
from urllib.parse import quote

import pytest

from diptych._core.errors import ConfigError, DataError
from diptych.serving import ServingSettings, keys
from diptych.serving.keys import WatchedKeys, add_key, digest_of, read_keys, revoke_key, rotate_key
from serving.asgi_client import bearer

ADD = {"json": {"items": [{"id": "x", "text": "red"}]}}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "keys.json"


@pytest.fixture
def made(file):
    return {role: add_key(file, f"the-{role}", role) for role in keys.ROLES}


def code(answer) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def test_a_file_holds_names_roles_and_digests_and_no_key(file, made) -> None:
    written = file.read_text()
    for role, secret in made.items():
        assert secret not in written and digest_of(secret) in written and f"the-{role}" in written
        assert len(secret) > 40
    assert len(set(made.values())) == 3 and stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [(key.name, key.role) for key in read_keys(file)] == [(f"the-{role}", role) for role in keys.ROLES]


def test_roles_allow_what_those_before_them_do(serve, file, made, tmp_path) -> None:
    client = serve(keys_file=str(file), snapshots=str(tmp_path / "backups"))
    asked = [("GET", "/v1/info", {}), ("PUT", "/v1/items/x", {"json": {"text": "red"}}), ("POST", "/v1/snapshots", {})]
    allowed = {
        role: [client(method, path, headers=bearer(secret), **body).status_code for method, path, body in asked]
        for role, secret in made.items()
    }
    assert allowed == {"read": [200, 403, 403], "write": [200, 200, 403], "admin": [200, 200, 201]}
    assert code(client("GET", "/v1/info")) == (401, "key_needed")
    assert code(client("POST", "/v1/items", headers=bearer("wrong"), **ADD)) == (401, "key_wrong")
    assert code(client("POST", "/v1/snapshots", headers=bearer(made["read"]))) == (403, "key_not_allowed")
    assert "has the role read" in client("POST", "/v1/items", headers=bearer(made["read"]), **ADD).text


def test_anybody_may_read_where_that_is_said(serve, file, made) -> None:
    client = serve(keys_file=str(file), public_read=True)
    assert client("GET", "/v1/search?q=red").status_code == 200
    assert code(client("GET", "/v1/info", headers=bearer("wrong"))) == (401, "key_wrong")
    assert code(client("POST", "/v1/items", **ADD)) == (401, "key_needed")
    assert client("POST", "/v1/items", headers=bearer(made["write"]), **ADD).status_code == 201


def test_keys_given_to_the_server_go_on_beside_the_file(serve, file, made, tmp_path) -> None:
    client = serve(keys_file=str(file), read_key="r", write_key="w", snapshots=str(tmp_path / "backups"))
    assert client("GET", "/v1/info", headers=bearer("r")).status_code == 200
    assert client("POST", "/v1/snapshots", headers=bearer("w")).status_code == 201
    assert client("GET", "/v1/info", headers=bearer(made["read"])).status_code == 200


def test_keys_are_created_rotated_and_revoked_while_the_server_runs(serve, file, made, monkeypatch) -> None:
    monkeypatch.setattr(keys, "_LOOK_EVERY_S", 0.0)
    client = serve(keys_file=str(file))

    def status(secret: str) -> int:
        return client("GET", "/v1/info", headers=bearer(secret)).status_code

    new = add_key(file, "new", "read")
    assert status(new) == 200
    other = rotate_key(file, "new")
    assert (status(new), status(other)) == (401, 200) and read_keys(file)[-1].role == "read"
    revoke_key(file, "new")
    assert status(other) == 401 and status(made["read"]) == 200


def test_a_broken_file_changes_nothing_and_one_that_is_gone_lets_nobody_in(file, made, caplog) -> None:
    now = [0.0]
    watched = WatchedKeys(file, clock=lambda: now[0])
    file.write_text("{")
    assert len(watched()) == 3, "not looked at yet"
    now[0] += 2
    assert len(watched()) == 3 and "stay as they were" in caplog.text
    file.unlink()
    now[0] += 2
    assert watched() == ()
    add_key(file, "again", "admin")
    now[0] += 2
    assert [key.name for key in watched()] == ["again"]


def test_requests_with_a_key_can_be_limited(serve, file, made) -> None:
    slow = add_key(file, "slow", "read", rate=1)
    client = serve(keys_file=str(file))
    answers = [client("GET", "/v1/info", headers=bearer(slow)) for _ in range(8)]
    assert [answer.status_code for answer in answers[:5]] == [200] * 5 and answers[-1].status_code == 429
    assert "with this key" in answers[-1].text and answers[-1].headers["retry-after"]
    assert client("GET", "/v1/info", headers=bearer(made["read"])).status_code == 200


@pytest.mark.parametrize(
    ("name", "role", "rate", "told"),
    [
        ("", "read", None, "up to 64 letters"),
        ("a b", "read", None, "up to 64 letters"),
        ("x" * 65, "read", None, "up to 64 letters"),
        ("ann", "owner", None, "choose one of read, write, admin"),
        ("ann", "read", 0, "above 0"),
        ("the-read", "read", None, "already"),
    ],
)
def test_careless_keys_are_refused(file, made, name, role, rate, told) -> None:
    with pytest.raises(ConfigError, match=told):
        add_key(file, name, role, rate=rate)
    assert len(read_keys(file)) == 3


def test_unknown_names_and_files_are_told(file, made, tmp_path) -> None:
    with pytest.raises(ConfigError, match="there are: the-read, the-write, the-admin"):
        revoke_key(file, "nobody")
    with pytest.raises(ConfigError, match="there is no key"):
        rotate_key(file, "nobody")
    with pytest.raises(DataError, match="is missing"):
        read_keys(tmp_path / "none.json")


@pytest.mark.parametrize(
    "content",
    [
        "[]",
        "{}",
        '{"format": "x", "keys": []}',
        '{"format": "diptych-keys", "keys": [1]}',
        '{"format": "diptych-keys", "keys": [{"name": "a", "role": "owner", "digest": ""}]}',
        '{"format": "diptych-keys", "keys": [{"name": "a", "role": "read", "digest": "", "more": 1}]}',
    ],
)
def test_what_is_no_file_of_keys_is_told(file, content) -> None:
    file.write_text(content)
    with pytest.raises(DataError, match="write it with `diptych keys`"):
        read_keys(file)


def lines(path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_change_is_written_down(serve, file, made, tmp_path) -> None:
    log = tmp_path / "audit.jsonl"
    client = serve(keys_file=str(file), audit_log=str(log), snapshots=str(tmp_path / "backups"))
    writer, admin = bearer(made["write"]), bearer(made["admin"])
    assert client("POST", "/v1/items", headers=writer, **ADD).status_code == 201
    assert client("POST", "/v1/items", headers=writer, **ADD).status_code == 409
    assert client("PUT", "/v1/items/y", headers=writer, json={"text": "blue"}).status_code == 200
    assert client("DELETE", "/v1/items/x", headers=admin).status_code == 200
    gone = {"ids": ["y", "image:red-circle-train"]}
    assert client("POST", "/v1/items/delete", headers=writer, json=gone).status_code == 200
    assert client("POST", "/v1/items/delete", headers=writer, json=gone).status_code == 404
    snapshot = client("POST", "/v1/snapshots", headers=admin).json()["name"]
    assert client("GET", "/v1/search?q=red", headers=writer).status_code == 200
    written = lines(log)
    unmade = [one["request"] for one in written if "failed" in one]
    failed = [one for one in written if "action" in one and one["request"] in unmade]
    made_of = [(one["key"], one["action"], one["ids"]) for one in written if "action" in one]
    assert made_of == [
        ("the-write", "add", ["x"]),
        ("the-write", "add", ["x"]),
        ("the-write", "replace", ["y"]),
        ("the-admin", "remove", ["x"]),
        ("the-write", "remove", gone["ids"]),
        ("the-write", "remove", gone["ids"]),
        ("the-admin", "snapshot", [snapshot]),
    ]
    assert [one["action"] for one in failed] == ["add", "remove"]
    assert all(one["time"].endswith("+00:00") for one in written) and written[0]["client"] == "127.0.0.1"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_the_log_may_be_moved_away(serve, tmp_path) -> None:
    log = tmp_path / "audit.jsonl"
    client = serve(bearer("w"), write_key="w", audit_log=str(log))
    client("PUT", "/v1/items/a", json={"text": "blue"})
    log.rename(tmp_path / "old.jsonl")
    client("PUT", "/v1/items/b", json={"text": "blue"})
    assert [one["ids"] for one in lines(log)] == [["b"]] and lines(log)[0]["key"] == "--write-key"


@pytest.mark.skipif(os.name != "posix", reason="a folder in the place of the file")
def test_nothing_is_changed_that_cannot_be_written_down(serve, searcher, tmp_path) -> None:
    (tmp_path / "audit").mkdir()
    client = serve(bearer("w"), write_key="w", audit_log=str(tmp_path / "audit"))
    assert code(client("PUT", "/v1/items/a", json={"text": "blue"})) == (503, "no_audit")
    assert searcher.get("a") is None


def test_a_line_that_is_cut_off_by_a_full_disk_is_no_line(serve, searcher, tmp_path, monkeypatch) -> None:
    log, write = tmp_path / "audit.jsonl", os.write
    client = serve(bearer("w"), write_key="w", audit_log=str(log))
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:40] if b"replace" in data else data))
    assert code(client("PUT", "/v1/items/a", json={"text": "blue"})) == (503, "no_audit")
    assert searcher.get("a") is None
    monkeypatch.setattr(os, "write", write)
    assert client("PUT", "/v1/items/b", json={"text": "blue"}).status_code == 200
    torn, whole = log.read_text().splitlines()
    assert len(torn) == 40 and json.loads(whole)["ids"] == ["b"]


def test_no_id_ends_a_line_or_steers_a_terminal(serve, tmp_path) -> None:
    log = tmp_path / "audit.jsonl"
    client = serve(bearer("w"), write_key="w", audit_log=str(log))
    hostile = 'a\u2028{"key": "ann"}\x85\x1b[2J\x9b2J\u202e'
    client("DELETE", f"/v1/items/{quote(hostile, safe='')}")
    assert [one.get("ids") for one in lines(log)] == [[hostile]]
    assert log.read_text().replace("\n", "").isprintable()


def test_snapshots_are_listed_and_one_is_written_at_a_time(serve, searcher, tmp_path) -> None:
    off = serve(bearer("w"), write_key="w")
    assert code(off("POST", "/v1/snapshots")) == code(off("GET", "/v1/snapshots")) == (403, "snapshots_off")
    client = serve(bearer("w"), write_key="w", snapshots=str(tmp_path / "backups"))
    assert client("GET", "/v1/snapshots").json() == {"snapshots": []}
    made = client("POST", "/v1/snapshots").json()
    assert made["bytes"] == 10 and made["name"].endswith(".tar") and str(tmp_path) not in json.dumps(made)
    assert client("GET", "/v1/snapshots").json() == {"snapshots": [made]}
    backup = searcher.backup

    def slow(target):
        time.sleep(0.5)
        return backup(target)

    searcher.backup = slow
    statuses = sorted(answer.status_code for answer in client.together(*[("POST", "/v1/snapshots", {})] * 3))
    assert statuses == [201, 503, 503]


def test_https_needs_both_files() -> None:
    with pytest.raises(ConfigError, match="--tls-key"):
        ServingSettings(tls_cert="x.pem")
    assert ServingSettings(tls_cert="x.pem", tls_key="y.pem").tls_key == "y.pem"
