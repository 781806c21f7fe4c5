"""Keys on the command line."""

from typing import get_args

import pytest

from diptych.cli import serve_commands
from diptych.serving import keys


def test_keys_are_created_listed_rotated_and_revoked(diptych, tmp_path) -> None:
    file = tmp_path / "keys.json"
    made = diptych("keys", "add", file, "ann", "--role", "write", "--rate", "5")
    assert made.status == 0 and made.out.startswith("dk_") and "ann may write" in made.err
    assert made.out.strip() not in file.read_text()
    listed = diptych("keys", "list", file)
    assert all(word in listed.out for word in ("ann", "write", "5")) and made.out.strip() not in listed.out
    rotated = diptych("keys", "rotate", file, "ann")
    assert rotated.status == 0 and rotated.out.startswith("dk_") and rotated.out != made.out
    assert diptych("keys", "revoke", file, "ann").status == 0 and keys.read_keys(file) == ()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("add", "{file}", "a b"), "use up to 64 letters"),
        (("revoke", "{file}", "nobody"), "there is no key named 'nobody'"),
        (("list", "{file}"), "is missing"),
    ],
)
def test_mistakes_are_told(diptych, tmp_path, words, told) -> None:
    ended = diptych("keys", *(word.format(file=tmp_path / "k.json") for word in words))
    assert ended.status == 2 and told in ended.err


def test_roles_are_those_of_the_server() -> None:
    assert get_args(serve_commands.Role) == keys.ROLES
